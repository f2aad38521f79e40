//! The HTTP API as the command line uses it.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;

/// A client of one server.
#[derive(Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    server: String,
}

/// A name or key as one segment of a path, or as a query's value.
pub(super) fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

impl Client {
    pub(super) fn new(server: &str) -> Result<Self> {
        let http = reqwest::Client::builder()
            .user_agent(concat!("weir/", env!("CARGO_PKG_VERSION")))
            .build()
            .context("no HTTP client can be made on this machine")?;
        Ok(Self { http, server: server.trim_end_matches('/').to_owned() })
    }

    /// A request to a path under `/v1`.
    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}/v1{path}", self.server))
    }

    /// Sends it; an answer that is not 2xx becomes an error that says what the
    /// server said.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Response> {
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) if error.is_connect() => bail!(
                "no server answers at {}: start one with `weir serve`, or name another with --server",
                self.server
            ),
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("the server at {} broke off", self.server));
            }
        };
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let body = response.bytes().await.unwrap_or_default();
        match serde_json::from_slice::<Value>(&body) {
            Ok(problem) => bail!(readable(&problem)),
            Err(_) => bail!("the server answered {status}: {}", String::from_utf8_lossy(&body)),
        }
    }

    /// Sends it and reads JSON.
    pub(super) async fn json(&self, request: RequestBuilder) -> Result<Value> {
        let body = self.send(request).await?.bytes().await?;
        if body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&body).context("the server's answer is not JSON")
    }

    /// All pages of a listing, joined.
    pub(super) async fn pages(&self, path: &str, field: &str) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        let mut after = None::<String>;
        loop {
            let sign = if path.contains('?') { '&' } else { '?' };
            let mut page = format!("{path}{sign}limit=1000");
            if let Some(after) = &after {
                let _ = write!(page, "&after={}", encode(after));
            }
            let mut answer = self.json(self.request(Method::GET, &page)).await?;
            if let Value::Array(rows) = answer[field].take() {
                all.extend(rows);
            }
            match answer["next"].as_str() {
                Some(next) => after = Some(next.to_owned()),
                None => return Ok(all),
            }
        }
    }
}

/// A problem document as text: the sentence, then every single problem with its place.
fn readable(problem: &Value) -> String {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut out = text(&problem["detail"])
        .or_else(|| text(&problem["title"]))
        .unwrap_or_else(|| problem.to_string());
    for error in problem["errors"].as_array().into_iter().flatten() {
        out.push_str("\n  ");
        if let Some(line) = error["line"].as_u64() {
            let _ = write!(out, "{line}:{} ", error["column"].as_u64().unwrap_or(1));
        }
        if let Some(path) = error["path"].as_str().filter(|path| !path.is_empty()) {
            let _ = write!(out, "{path}: ");
        }
        out.push_str(error["message"].as_str().unwrap_or("unknown problem"));
        if let Some(help) = error["help"].as_str().filter(|help| !help.is_empty()) {
            let _ = write!(out, "\n      {help}");
        }
    }
    out
}
