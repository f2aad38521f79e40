//! The HTTP API as the command line uses it.
//!
//! Answers stay the JSON text that they are until somebody reads them, since what
//! users store may hold numbers that do not survive a parse.

use std::{collections::HashMap, fmt::Write as _};

use anyhow::{Context as _, Result, bail};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{problem::Refused, server::Address};

/// A client of one server.
#[derive(Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    server: Address,
}

/// A JSON answer.
pub(super) struct Answer {
    /// Its status, of those that say that it was done.
    pub(super) status: StatusCode,
    json: Box<RawValue>,
}

/// All pages of a listing, joined.
pub(super) struct Listing {
    field: &'static str,
    /// Each as the server wrote it.
    pub(super) rows: Vec<Box<RawValue>>,
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
    pub(super) fn new(server: Address) -> Result<Self> {
        let http = reqwest::Client::builder()
            .user_agent(concat!("weir/", env!("CARGO_PKG_VERSION")))
            .build()
            .context("no HTTP client can be made on this machine")?;
        Ok(Self { http, server })
    }

    /// A request to a path under `/v1`.
    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}/v1{path}", self.server))
    }

    /// Sends it.
    ///
    /// # Errors
    /// An answer that is not 2xx becomes [`Refused`].
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
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.bytes().await.unwrap_or_default();
        match Refused::of(&body) {
            Some(refused) => Err(refused.into()),
            None => bail!("the server answered {status}: {}", String::from_utf8_lossy(&body)),
        }
    }

    /// Sends it and takes the answer, which is JSON or empty.
    pub(super) async fn ask(&self, request: RequestBuilder) -> Result<Answer> {
        let response = self.send(request).await?;
        let status = response.status();
        let body = response.bytes().await.context("the server broke off")?;
        let text = if body.is_empty() { b"null".as_slice() } else { &body };
        let json = serde_json::from_slice(text).context("the server's answer is not JSON")?;
        Ok(Answer { status, json })
    }

    /// Asks for what is at a path.
    pub(super) async fn get(&self, path: &str) -> Result<Answer> {
        self.ask(self.request(Method::GET, path)).await
    }

    /// All pages of a listing.
    pub(super) async fn pages(&self, path: &str, field: &'static str) -> Result<Listing> {
        let mut rows = Vec::new();
        let mut after = None::<String>;
        loop {
            let page = self.page(path, field, after.as_deref()).await?;
            rows.extend(page.0.rows);
            match page.1 {
                Some(next) => after = Some(next),
                None => return Ok(Listing { field, rows }),
            }
        }
    }

    /// One page of a listing, as large as there are, and where the next one begins.
    pub(super) async fn page(
        &self,
        path: &str,
        field: &'static str,
        after: Option<&str>,
    ) -> Result<(Listing, Option<String>)> {
        let sign = if path.contains('?') { '&' } else { '?' };
        let mut page = format!("{path}{sign}limit=1000");
        if let Some(after) = after {
            let _ = write!(page, "&after={}", encode(after));
        }
        let mut members: HashMap<String, Box<RawValue>> = self.get(&page).await?.read()?;
        let rows = match members.remove(field) {
            Some(rows) => read(&rows)?,
            None => Vec::new(),
        };
        let next = match members.remove("next") {
            Some(next) => read(&next)?,
            None => None,
        };
        Ok((Listing { field, rows }, next))
    }
}

impl Answer {
    /// The JSON text.
    pub(super) fn json(&self) -> &str {
        self.json.get()
    }

    /// What it says.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T> {
        read(&self.json)
    }
}

impl Listing {
    /// The JSON text of the whole list, as if it were one page.
    pub(super) fn json(&self) -> String {
        let mut out = format!("{{\"{}\":[", self.field);
        for (i, row) in self.rows.iter().enumerate() {
            out.push_str(if i == 0 { "" } else { "," });
            out.push_str(row.get());
        }
        out.push_str("]}");
        out
    }
}

fn read<T: DeserializeOwned>(json: &RawValue) -> Result<T> {
    serde_json::from_str(json.get()).context("the server's answer cannot be read")
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::{Listing, encode};

    #[test]
    fn a_listing_is_one_document_with_every_digit() {
        let row = |text: &str| RawValue::from_string(text.into()).unwrap();
        let listing = |rows| Listing { field: "keys", rows };
        assert_eq!(listing(vec![]).json(), r#"{"keys":[]}"#);
        let rows = vec![row("12345678901234567890123"), row(r#"{"b":1e400,"a":0}"#)];
        assert_eq!(listing(rows).json(), r#"{"keys":[12345678901234567890123,{"b":1e400,"a":0}]}"#);
    }

    #[test]
    fn a_key_is_one_segment_of_a_path() {
        assert_eq!(encode("a/b c?ü"), "a%2Fb%20c%3F%C3%BC");
    }
}
