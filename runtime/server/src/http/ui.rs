//! The web UI, embedded at build time from `web-ui/dist`.
//!
//! Every path that is no file is the app itself, which finds out by the address
//! what to show.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use rust_embed::RustEmbed;

use super::problem::Problem;

#[derive(RustEmbed)]
#[folder = "../../web-ui/dist"]
struct Files;

/// Nothing but what comes from here; no inline code, no frames. The component library
/// of the UI sets some styles inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; \
    connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Files, the app, or a 404 below `/v1`.
pub(super) async fn fallback(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let is_page = method == Method::GET || method == Method::HEAD;
    if !is_page || path == "v1" || path.starts_with("v1/") {
        let path: String = uri.path().chars().take(200).collect();
        return Problem::new(
            StatusCode::NOT_FOUND,
            "unknown-route",
            "There is no such address",
            format!("There is nothing at `{method} {path}`. `/openapi.json` lists what there is."),
        )
        .into_response();
    }
    match Files::get(path) {
        Some(file) if !path.is_empty() => answer(path, file, &headers),
        // What looks like a file and is none must not get the app.
        _ if path.starts_with("assets/") => Problem::not_found("file", path).into_response(),
        _ => match Files::get("index.html") {
            Some(page) => answer("index.html", page, &headers),
            None => Problem::not_found("file", "index.html").into_response(),
        },
    }
}

fn answer(path: &str, file: rust_embed::EmbeddedFile, request: &HeaderMap) -> Response {
    let hash: String =
        file.metadata.sha256_hash().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let etag = format!("\"{hash}\"");
    let known =
        request.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == etag.as_bytes());
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        Body::from(file.data.into_owned()).into_response()
    };
    let kind = file.metadata.mimetype();
    // Names below `assets/` hold a hash of what they name.
    let cache = if path.starts_with("assets/") {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let headers = response.headers_mut();
    let mut set = |name: header::HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set(
        header::CONTENT_TYPE,
        &if kind == "text/html" { "text/html; charset=utf-8".to_owned() } else { kind.to_owned() },
    );
    set(header::CACHE_CONTROL, cache);
    set(header::ETAG, &etag);
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::REFERRER_POLICY, "no-referrer");
    response
}
