use serde_json::json;

use super::*;

const CALLS: &str = "
pipeline: calls
sources:
  in: { topic: in }
operators:
  echo: { module: echo@1.0.0, input: in, key: /id, retry: { attempts: 2, first: 1ms } }
  other: { module: echo@1.0.0 }
sinks:
  out: { topic: out, input: echo.out }
";

async fn server() -> Server {
    let server = Server::new().await;
    server.module("echo", "echo").await;
    server.deploy("calls", CALLS).await;
    server
}

async fn call(server: &Server, path: &str, body: &str) -> Answer {
    server.post(&format!("/v1/{path}"), "application/json", body.to_owned()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_gets_the_reply_of_the_handler() {
    let server = server().await;
    let answer = call(&server, "call/calls/echo/echo", r#"{"id": "a", "n": 1.0}"#).await;
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (StatusCode::OK, r#"{"id": "a", "n": 1.0}"#)
    );
    assert_eq!(answer.headers["content-type"], "application/json");
    let id = answer.headers["x-weir-invocation"].to_str().unwrap().to_owned();
    let state = server.get("/v1/pipelines/calls/operators/echo/state/a").await.json();
    assert_eq!(state["cells"]["last"], json!({"id": "a", "n": 1.0}));
    // Without an idempotency key nobody will ask for it again.
    assert_eq!(
        server.get(&format!("/v1/invocations/{id}")).await.problem(),
        problem(404, "unknown-invocation")
    );
    let raw = call(&server, "call/calls/echo/echo?key=b", "not json").await;
    assert_eq!(
        (raw.text().as_str(), &raw.headers["content-type"]),
        ("not json", &"application/octet-stream".parse().unwrap())
    );
    assert_eq!(
        server.get("/v1/pipelines/calls/operators/echo/state/b").await.json()["cells"]["last"],
        json!({"base64": "bm90IGpzb24="})
    );
    let audit = server.get("/v1/pipelines/calls/audit").await.json();
    assert_eq!(audit["balanced"], true, "{audit}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_one_handler_to_another_shows_as_an_edge() {
    let server = server().await;
    let answer = call(&server, "call/calls/echo/ask?key=x", "[1]").await;
    assert_eq!((answer.status, answer.text().as_str()), (StatusCode::OK, "[1]"));
    let pipeline = server.get("/v1/pipelines/calls").await.json();
    let edges = pipeline["graph"]["edges"].as_array().unwrap();
    let edge = edges.iter().find(|edge| edge["kind"] == "call").unwrap();
    let nodes = pipeline["graph"]["nodes"].as_array().unwrap();
    let echo = nodes.iter().find(|node| node["id"] == "echo").unwrap();
    assert_eq!((&echo["handler"], echo.get("input")), (&json!("echo"), None));
    assert_eq!(
        (&edge["from"], &edge["to"], &edge["records"]),
        (&json!("echo"), &json!("other"), &json!(1))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn why_a_call_gets_no_reply_is_said() {
    let server = server().await;
    let answer = call(&server, "call/calls/echo/refuse?key=a", "1").await;
    assert_eq!(answer.problem(), problem(422, "out-of-stock"));
    assert_eq!(answer.json()["failure"]["message"], "there is none left");
    let crashed = call(&server, "call/calls/echo/crash?key=a", "1").await;
    assert_eq!(crashed.status, 502, "{}", crashed.text());
    assert_eq!(call(&server, "call/calls/echo/echo", "1").await.problem(), problem(422, "no-key"));
    assert_eq!(
        call(&server, "call/calls/none/echo?key=a", "1").await.problem(),
        problem(404, "unknown-operator")
    );
    assert_eq!(
        call(&server, "call/calls/in/echo?key=a", "1").await.problem(),
        problem(404, "unknown-operator")
    );
    assert_eq!(
        call(&server, "call/calls/echo/none?key=a", "1").await.problem(),
        problem(404, "unknown-handler")
    );
    assert_eq!(
        call(&server, "call/none/echo/echo?key=a", "1").await.problem(),
        problem(404, "unknown-pipeline")
    );
    assert_eq!(
        call(&server, "call/calls/echo/echo?key=a&deadline=x", "1").await.problem(),
        problem(400, "bad-parameter")
    );
    server.post("/v1/pipelines/calls/pause", "", "").await;
    assert_eq!(
        call(&server, "call/calls/echo/echo?key=a", "1").await.problem(),
        problem(409, "wrong-status")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_refused_before_it_begins_is_no_error_of_the_operator() {
    let server = server().await;
    for refused in ["echo/none?key=a", "echo/echo", "echo/echo?key=a&deadline=x"] {
        let answer = call(&server, &format!("call/calls/{refused}"), "1").await;
        assert!(answer.status.is_client_error(), "{refused}: {}", answer.text());
    }
    call(&server, "call/calls/echo/refuse?key=a", "1").await;
    let errors = |pipeline: &Value| {
        let nodes = pipeline["graph"]["nodes"].as_array().unwrap();
        nodes.iter().map(|node| node["errors"].as_u64().unwrap()).sum::<u64>()
    };
    let pipeline = server.until("/v1/pipelines/calls", |pipeline| errors(pipeline) > 0).await;
    assert_eq!(errors(&pipeline), 1, "{pipeline}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_is_held_when_it_is_answered_and_then_done() {
    let server = server().await;
    let answer = call(&server, "send/calls/echo/echo?key=a", "7").await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let id = answer.json()["invocation"].as_str().unwrap().to_owned();
    server.until("/v1/topics/out", |topic| topic["records"] == 1).await;
    let status = server.get(&format!("/v1/invocations/{id}")).await;
    assert_eq!(status.json()["status"], "ended", "{}", status.text());
    let unknown = format!("/v1/invocations/inv_{}", "0".repeat(32));
    assert_eq!(server.get(&unknown).await.problem(), problem(404, "unknown-invocation"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_call_gets_the_first_answer_and_is_done_once() {
    let server = server().await;
    let with_key = |body: &'static str| {
        let request =
            Request::post("/v1/call/calls/echo/echo?key=a").header("idempotency-key", "once");
        server.ask(request.body(Body::from(body)).unwrap())
    };
    let first = with_key("1").await;
    let again = with_key("1").await;
    assert_eq!(
        (again.text(), &again.headers["x-weir-invocation"]),
        (first.text(), &first.headers["x-weir-invocation"])
    );
    let id = first.headers["x-weir-invocation"].to_str().unwrap();
    let status = server.get(&format!("/v1/invocations/{id}")).await.json();
    assert_eq!(status, json!({"id": id, "pipeline": "calls", "status": "replied", "result": 1}));
    assert_eq!(with_key("2").await.problem(), problem(422, "idempotency-conflict"));
    server.until("/v1/topics/out", |topic| topic["records"] == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_and_everything_goes_on_when_there_is_space() {
    let disk = Arc::new(weir_store::SimDisk::new(1));
    let server = Server::on(tempfile::tempdir().unwrap(), disk.clone()).await;
    server.module("echo", "echo").await;
    server.deploy("calls", CALLS).await;
    assert_eq!(call(&server, "call/calls/echo/echo?key=a", "1").await.text(), "1");
    disk.set_capacity(Some(disk.used()));
    let value = format!("[{{\"value\":\"{}\"}}]", "x".repeat(100_000));
    let refused = server.post("/v1/topics/in/records", "application/json", value.clone()).await;
    assert_eq!(refused.problem(), problem(507, "disk-full"));
    assert!(refused.headers.contains_key("retry-after"));
    let module = server.post("/v1/modules?name=m&version=1.0.0", "application/wasm", "count").await;
    assert_eq!(module.problem(), problem(507, "disk-full"));
    assert_eq!(server.get("/healthz").await.status, 200);
    disk.set_capacity(None);
    assert_eq!(server.post("/v1/topics/in/records", "application/json", value).await.status, 200);
    assert_eq!(call(&server, "call/calls/echo/echo?key=a", "2").await.text(), "2");
    let audit = server.get("/v1/pipelines/calls/audit").await.json();
    assert_eq!(audit["balanced"], true, "{audit}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_that_waits_can_be_cancelled() {
    let server = server().await;
    let answer = call(&server, "send/calls/echo/echo?key=a&delay=1h", "7").await;
    let id = answer.json()["invocation"].as_str().unwrap().to_owned();
    let path = format!("/v1/invocations/{id}");
    assert_eq!(server.get(&path).await.json()["status"], "delayed");
    for _ in 0..2 {
        let cancelled = server.post(&format!("{path}/cancel"), "", "").await;
        assert_eq!(cancelled.status, 200, "{}", cancelled.text());
        assert_eq!(cancelled.json()["status"], "cancelled");
    }
    assert_eq!(server.get(&path).await.json()["status"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_that_has_ended_says_so_and_cannot_be_cancelled() {
    let server = server().await;
    let answer = call(&server, "send/calls/echo/echo?key=a", "7").await;
    let path = format!("/v1/invocations/{}", answer.json()["invocation"].as_str().unwrap());
    server.until(&path, |invocation| invocation["status"] == "ended").await;
    let cancelled = server.post(&format!("{path}/cancel"), "", "").await;
    assert_eq!(cancelled.json()["status"], "ended", "{}", cancelled.text());
}

/// Values of large keys and large dead letters, page by page.
async fn pages(server: &Server, path: &str, list: &str) -> Vec<usize> {
    let (mut sizes, mut query) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("{path}?limit=1000{query}")).await;
        assert!(page.body.len() < 5 << 20, "{} bytes", page.body.len());
        let page = page.json();
        sizes.push(page[list].as_array().unwrap().len());
        let Some(next) = page.get("next") else { return sizes };
        query = format!("&after={}", next.as_str().unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_large_state_or_large_dead_letters_is_a_few_megabytes() {
    let server = server().await;
    let value = format!("\"{}\"", "x".repeat(900_000));
    for key in ["k1", "k2", "k3", "k4", "k5", "k6"] {
        let kept = call(&server, &format!("call/calls/echo/echo?key={key}"), &value).await;
        assert_eq!(kept.status, StatusCode::OK, "{}", kept.text());
        let refused = call(&server, &format!("send/calls/echo/refuse?key={key}"), &value).await;
        assert_eq!(refused.status, StatusCode::ACCEPTED, "{}", refused.text());
    }
    server
        .until("/v1/pipelines/calls", |pipeline| {
            let nodes = pipeline["graph"]["nodes"].as_array().unwrap();
            nodes.iter().any(|node| node["dead_letters"] == 6)
        })
        .await;
    let state = pages(&server, "/v1/pipelines/calls/operators/echo/state", "keys").await;
    assert_eq!(state, [4, 2]);
    let letters = pages(&server, "/v1/pipelines/calls/dead-letters", "dead_letters").await;
    assert_eq!(letters, [4, 2]);
}
