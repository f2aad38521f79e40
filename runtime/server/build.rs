//! Makes sure that there is something to embed: without a built web UI, a page that
//! says how to build it.

use std::{fs, path::Path};

const PAGE: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<title>Weir</title>
<h1>Weir</h1>
<p>This server was built without its web UI. To have it, run <code>npm ci &amp;&amp; npm run build</code> in
<code>web-ui</code> and build again. The API is described at <a href=\"/openapi.json\">/openapi.json</a>.</p>
</html>
";

fn main() {
    let manifest = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| ".".into());
    let dist = Path::new(&manifest).join("../../web-ui/dist");
    println!("cargo:rerun-if-changed={}", dist.display());
    println!("cargo:rerun-if-changed=build.rs");
    if !dist.join("index.html").exists() {
        let made =
            fs::create_dir_all(&dist).and_then(|()| fs::write(dist.join("index.html"), PAGE));
        if let Err(error) = made {
            println!("cargo:warning=the web UI cannot be embedded: {error}");
        }
    }
}
