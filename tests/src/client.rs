//! The HTTP API as the tests use it: thin, so that a test reads like requests.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::wait::until;

/// A client of one server.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    url: String,
}

/// An answer whose status is not a surprise to the test.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Body as JSON; null if there is none.
    pub body: Value,
}

impl Client {
    /// A client of the server at `url`.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self { http: reqwest::Client::new(), url: url.to_owned() }
    }

    /// The plain HTTP client and a full URL, for what has no method here.
    #[must_use]
    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = method.parse().unwrap_or(reqwest::Method::GET);
        self.http.request(method, format!("{}{path}", self.url))
    }

    /// Sends a request and takes any status.
    ///
    /// # Errors
    /// If there is no answer, or one that is not JSON.
    pub async fn answer(&self, request: reqwest::RequestBuilder) -> Result<Answer> {
        let response = request.send().await?;
        let status = response.status().as_u16();
        let bytes = response.bytes().await?;
        let body = if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes)
                .with_context(|| format!("not JSON: {}", String::from_utf8_lossy(&bytes)))?
        };
        Ok(Answer { status, body })
    }

    /// Sends a request that must succeed.
    ///
    /// # Errors
    /// If the status is not 2xx, with the body in the text.
    pub async fn ok(&self, request: reqwest::RequestBuilder) -> Result<Value> {
        let answer = self.answer(request).await?;
        if !(200..300).contains(&answer.status) {
            bail!("status {}: {}", answer.status, answer.body);
        }
        Ok(answer.body)
    }

    /// `GET path`, which must succeed.
    ///
    /// # Errors
    /// If it does not.
    pub async fn get(&self, path: &str) -> Result<Value> {
        self.ok(self.request("GET", path)).await
    }

    /// `POST path` with a JSON body, which must succeed.
    ///
    /// # Errors
    /// If it does not.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        self.ok(self.request("POST", path).json(body)).await
    }

    /// Waits until everything deployed has recovered.
    ///
    /// # Errors
    /// If it never has.
    pub async fn ready(&self) -> Result<()> {
        until("the server is ready", || async {
            let ready = self.request("GET", "/readyz").send().await;
            Ok(ready.is_ok_and(|r| r.status().is_success()).then_some(()))
        })
        .await
    }

    /// Uploads a module.
    ///
    /// # Errors
    /// If it is refused.
    pub async fn upload(&self, name: &str, version: &str, bytes: Vec<u8>) -> Result<Value> {
        let path = format!("/v1/modules?name={name}&version={version}");
        self.ok(self.request("POST", &path).body(bytes)).await
    }

    /// Deploys a pipeline file.
    ///
    /// # Errors
    /// If it is refused.
    pub async fn deploy(&self, name: &str, file: &str) -> Result<Value> {
        let request = self.request("PUT", &format!("/v1/pipelines/{name}"));
        self.ok(request.header("content-type", "application/yaml").body(file.to_owned())).await
    }

    /// Appends bare values, one a line.
    ///
    /// # Errors
    /// If they are not taken.
    pub async fn ingest(&self, topic: &str, lines: String) -> Result<Value> {
        let request = self.request("POST", &format!("/v1/topics/{topic}/records"));
        self.ok(request.header("content-type", "application/x-ndjson").body(lines)).await
    }

    /// All records of a topic, in pages, in order per partition.
    ///
    /// # Errors
    /// If a page cannot be had.
    pub async fn records(&self, topic: &str) -> Result<Vec<Value>> {
        let info = self.get(&format!("/v1/topics/{topic}")).await?;
        let mut all = Vec::new();
        for partition in 0..info["partitions"].as_u64().context("no partitions")? {
            let mut from = 0;
            loop {
                let path = format!(
                    "/v1/topics/{topic}/records?partition={partition}&from={from}&limit=1000"
                );
                let page = self.get(&path).await?;
                let records = page["records"].as_array().context("no records")?;
                let Some(last) = records.last() else { break };
                from = last["offset"].as_u64().context("no offset")? + 1;
                all.extend(records.iter().cloned());
            }
        }
        Ok(all)
    }

    /// Waits until a topic holds at least `count` records, and gives them all.
    ///
    /// # Errors
    /// If it never does.
    pub async fn records_at_least(&self, topic: &str, count: usize) -> Result<Vec<Value>> {
        until(&format!("{topic} holds {count} records"), || async {
            let records = self.records(topic).await?;
            Ok((records.len() >= count).then_some(records))
        })
        .await
    }

    /// Waits until the pipeline's audit is as the test wants it.
    ///
    /// # Errors
    /// If it never is.
    pub async fn audit_where(
        &self,
        pipeline: &str,
        good: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        until(&format!("the audit of {pipeline} is as wanted"), || async {
            let audit = self.get(&format!("/v1/pipelines/{pipeline}/audit")).await?;
            Ok(good(&audit).then_some(audit))
        })
        .await
    }
}
