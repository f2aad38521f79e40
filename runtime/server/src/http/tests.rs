//! The API over a real engine in a temporary directory, with scripted guests.

mod calls;
mod fake;
mod modules;
mod pipelines;
mod shape;
mod topics;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request, StatusCode},
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::watch;
use tower::ServiceExt;
use weir_engine::{
    service::{Config, Engine},
    tuning::Tuning,
};
use weir_store::{Disk, Options, RealDisk, ViewKind};

use crate::clock::SystemClock;

/// How long a condition may take to come true.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server without a socket.
struct Server {
    dir: TempDir,
    engine: Arc<Engine>,
    router: Router,
    _close: watch::Sender<bool>,
}

/// An answer.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Server {
    async fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap()).await
    }

    async fn at(dir: TempDir) -> Self {
        Self::on(dir, Arc::new(RealDisk)).await
    }

    async fn on(dir: TempDir, disk: Arc<dyn Disk>) -> Self {
        let engine = Engine::open(Config {
            dir: dir.path().into(),
            disk,
            view: ViewKind::Memory,
            store: Options::default(),
            tuning: Tuning { drain: Duration::from_millis(200), ..Tuning::default() },
            clock: Arc::new(SystemClock::new()),
            modules: Arc::new(fake::Scripts),
            drain: Duration::from_secs(10),
            workers: Some(2),
        })
        .await
        .unwrap();
        let (close, closing) = watch::channel(false);
        let router = super::router(engine.clone(), closing);
        let server = Self { dir, engine, router, _close: close };
        server.until("/readyz", |_| true).await;
        server
    }

    /// Closes it and opens the same directory again.
    async fn restart(self) -> Self {
        self.engine.close().await;
        let Self { dir, engine, router, .. } = self;
        drop((engine, router));
        Self::at(dir).await
    }

    async fn ask(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap().to_vec();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask(Request::get(path).body(Body::empty()).unwrap()).await
    }

    async fn delete(&self, path: &str) -> Answer {
        self.ask(Request::delete(path).body(Body::empty()).unwrap()).await
    }

    /// A POST with a content type.
    async fn post(&self, path: &str, kind: &str, body: impl Into<Body>) -> Answer {
        self.ask(Request::post(path).header("content-type", kind).body(body.into()).unwrap()).await
    }

    async fn put(&self, path: &str, kind: &str, body: impl Into<Body>) -> Answer {
        self.ask(Request::put(path).header("content-type", kind).body(body.into()).unwrap()).await
    }

    /// Asks until the answer is a success that fits.
    async fn until(&self, path: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let mut last = String::new();
        let there = async {
            loop {
                let answer = self.get(path).await;
                if answer.status.is_success() && fits(&answer.json()) {
                    return answer.json();
                }
                last = answer.text();
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        match tokio::time::timeout(PATIENCE, there).await {
            Ok(json) => json,
            Err(_) => panic!("{path} does not get there: {last}"),
        }
    }

    /// Uploads a script as a module, version 1.0.0.
    async fn module(&self, name: &str, script: &str) {
        let path = format!("/v1/modules?name={name}&version=1.0.0");
        let answer = self.post(&path, "application/wasm", script.to_owned()).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
    }

    /// Deploys a file that is sound.
    async fn deploy(&self, name: &str, file: &str) -> Value {
        let answer =
            self.put(&format!("/v1/pipelines/{name}"), "application/yaml", file.to_owned()).await;
        assert!(answer.status.is_success(), "{}", answer.text());
        answer.json()
    }

    /// Appends bare values, one per line, under one key each.
    async fn append(&self, topic: &str, records: Value) -> Value {
        let answer = self
            .post(&format!("/v1/topics/{topic}/records"), "application/json", records.to_string())
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }
}

impl Answer {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    /// The code of a problem, which must be one in every respect.
    fn problem(&self) -> (u16, String) {
        assert_eq!(self.headers["content-type"], "application/problem+json", "{}", self.text());
        let json = self.json();
        assert_eq!(json["status"], self.status.as_u16());
        assert_eq!(json["type"], format!("urn:weir:problem:{}", json["code"].as_str().unwrap()));
        let detail = json["detail"].as_str().unwrap();
        assert!(detail.ends_with(['.', '?']) && detail.len() > 10, "{detail}");
        (self.status.as_u16(), json["code"].as_str().unwrap().into())
    }
}

fn problem(status: u16, code: &str) -> (u16, String) {
    (status, code.into())
}

/// Counts what comes in by key: topic `in`, topic `out`.
const COUNTING: &str = "
pipeline: counting
sources:
  in: { topic: in }
operators:
  count: { module: count@1.0.0, input: in, parallelism: 2 }
sinks:
  out: { topic: out, input: count.out }
";
