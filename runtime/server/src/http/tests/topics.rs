use serde_json::json;
use tokio_stream::StreamExt;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_is_created_once_with_its_partitions() {
    let server = Server::new().await;
    let put = |body: &'static str| server.put("/v1/topics/t", "application/json", body);
    let made = put(r#"{"partitions":3}"#).await;
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!((&made.json()["name"], &made.json()["partitions"]), (&json!("t"), &json!(3)));
    assert_eq!(put("").await.status, 200);
    assert_eq!(put(r#"{"partitions":4}"#).await.problem(), problem(409, "topic-exists"));
    assert_eq!(put(r#"{"partitions":0}"#).await.problem(), problem(400, "bad-request"));
    assert_eq!(put(r#"{"partition":4}"#).await.problem(), problem(400, "bad-shape"));
    assert_eq!(put("{").await.problem(), problem(400, "bad-json"));
    let listed = server.get("/v1/topics").await.json();
    assert_eq!(listed["topics"][0]["name"], "t");
    assert_eq!(listed["topics"][0]["records"], 0);
    assert_eq!(server.delete("/v1/topics/t").await.status, 204);
    assert_eq!(server.get("/v1/topics/t").await.problem(), problem(404, "unknown-topic"));
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_out_are_bytes_in() {
    let server = Server::new().await;
    server.put("/v1/topics/t", "application/json", r#"{"partitions":1}"#).await;
    let values = [
        r#"{"b": 1.50,"a":123456789012345678901234567890}"#,
        r#"{"base64":"aGk="}"#,
        "null",
        r#""x""#,
    ];
    for value in values {
        let request = Request::post("/v1/topics/t/records")
            .header("x-weir-key", "k")
            .body(Body::from(value))
            .unwrap();
        assert_eq!(server.ask(request).await.status, 200);
    }
    let raw = server.post("/v1/topics/t/records", "application/octet-stream", vec![0xff, 0]).await;
    assert_eq!(raw.json(), json!({"records": [{"partition": 0, "offset": 4}]}));
    let text = server.get("/v1/topics/t/records").await.text();
    assert!(text.contains(r#""value":{"b": 1.50,"a":123456789012345678901234567890}"#), "{text}");
    let page: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(page["records"][0]["key"], "k");
    assert_eq!(page["records"][1]["value"], json!({"base64": "eyJiYXNlNjQiOiJhR2s9In0="}));
    assert_eq!(page["records"][4]["value"], json!({"base64": "/wA="}));
    assert_eq!(page["records"][4]["key"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_decide_the_partition_and_pages_lead_through_all() {
    let server = Server::new().await;
    server.put("/v1/topics/t", "application/json", r#"{"partitions":3}"#).await;
    let records: Vec<_> = (0..25)
        .map(|i| json!({"key": format!("k{}", i % 5), "value": i, "timestamp": i}))
        .collect();
    let places = server.append("t", json!(records)).await;
    for i in 5..25 {
        assert_eq!(places["records"][i]["partition"], places["records"][i % 5]["partition"]);
    }
    let mut seen = Vec::new();
    let mut path = "/v1/topics/t/records?limit=7".to_owned();
    loop {
        let page = server.get(&path).await.json();
        seen.extend(
            page["records"].as_array().unwrap().iter().map(|r| r["value"].as_i64().unwrap()),
        );
        let Some(next) = page.get("next") else { break };
        path = format!("/v1/topics/t/records?limit=7&after={}", next.as_str().unwrap());
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..25).collect::<Vec<_>>());
    let of_one = server.get("/v1/topics/t/records?partition=0&from=1").await.json();
    assert!(
        of_one["records"]
            .as_array()
            .unwrap()
            .iter()
            .all(|r| r["partition"] == 0 && r["offset"] != 0)
    );
    assert_eq!(server.get("/v1/topics/t/records?from=latest").await.json()["records"], json!([]));
    assert_eq!(
        server.get("/v1/topics/t/records?partition=9").await.problem(),
        problem(404, "unknown-partition")
    );
    assert_eq!(
        server.get("/v1/topics/t/records?from=x").await.problem(),
        problem(400, "bad-request")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_gets_the_first_answer() {
    let server = Server::new().await;
    server.put("/v1/topics/t", "application/json", r#"{"partitions":1}"#).await;
    let post = |key: &'static str, body: &'static str| {
        let request = Request::post("/v1/topics/t/records").header("idempotency-key", key);
        server.ask(
            request.header("content-type", "application/x-ndjson").body(Body::from(body)).unwrap(),
        )
    };
    let first = post("a", "1\n2").await.json();
    assert_eq!(post("a", "1\n2").await.json(), first);
    assert_eq!(post("a", "1\n3").await.problem(), problem(422, "idempotency-conflict"));
    assert_eq!(post("b", "1\n2").await.json()["records"][0]["offset"], 2);
    let server = server.restart().await;
    let request = Request::post("/v1/topics/t/records").header("idempotency-key", "a");
    let again = server
        .ask(
            request
                .header("content-type", "application/x-ndjson")
                .body(Body::from("1\n2"))
                .unwrap(),
        )
        .await;
    assert_eq!(again.json(), first);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_taken_is_refused_whole() {
    let server = Server::new().await;
    server.put("/v1/topics/t", "application/json", "").await;
    let post = |kind: &'static str, body: String| server.post("/v1/topics/t/records", kind, body);
    assert_eq!(
        post("application/json", "[{\"value\":1},{]".into()).await.problem(),
        problem(400, "bad-json")
    );
    assert_eq!(
        post("application/x-ndjson", "1\nx\n".into()).await.problem(),
        problem(400, "bad-json")
    );
    assert_eq!(
        post("text/csv", "1".into()).await.problem(),
        problem(415, "unsupported-media-type")
    );
    let compressed = Request::post("/v1/topics/t/records")
        .header("content-type", "application/x-ndjson")
        .header("content-encoding", "gzip")
        .body(Body::from("1"));
    assert_eq!(
        server.ask(compressed.unwrap()).await.problem(),
        problem(415, "unsupported-encoding")
    );
    let large = format!("[{{\"value\":\"{}\"}}]", "x".repeat(5 << 20));
    assert_eq!(post("application/json", large).await.problem(), problem(413, "too-large"));
    let missing = server.post("/v1/topics/none/records", "application/json", "[]").await;
    assert_eq!(missing.problem(), problem(404, "unknown-topic"));
    assert_eq!(server.get("/v1/topics/t").await.json()["records"], 0);
    let empty = post("application/json", "[]".into()).await;
    assert_eq!((empty.status, empty.json()), (StatusCode::OK, json!({"records": []})));
    let many: Vec<_> = (0..10_000).map(|i| json!({ "value": i })).collect();
    assert_eq!(server.append("t", json!(many)).await["records"].as_array().unwrap().len(), 10_000);
}

/// Reads events of a stream until there are so many.
async fn events(body: Body, n: usize) -> Vec<(String, Value)> {
    let mut stream = body.into_data_stream();
    let mut text = String::new();
    let read = async {
        loop {
            let found: Vec<_> = text
                .split("\n\n")
                .filter(|event| event.contains("data: "))
                .map(String::from)
                .collect();
            if found.len() >= n && text.ends_with("\n\n") {
                return found;
            }
            text.push_str(&String::from_utf8_lossy(&stream.next().await.unwrap().unwrap()));
        }
    };
    let found = tokio::time::timeout(PATIENCE, read).await.unwrap();
    let field = |event: &str, name: &str| {
        event.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned()
    };
    found
        .iter()
        .map(|e| (field(e, "id: "), serde_json::from_str(&field(e, "data: ")).unwrap()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tail_goes_on_where_it_was_in_every_partition() {
    let server = Server::new().await;
    server.put("/v1/topics/t", "application/json", r#"{"partitions":2}"#).await;
    server.append("t", json!([{"value": 0, "partition": 0}, {"value": 1, "partition": 1}])).await;
    let follow = async |last: &str| {
        let request = Request::get("/v1/topics/t/records").header("accept", "text/event-stream");
        let request = request.header("last-event-id", last).body(Body::empty()).unwrap();
        let response = server.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        response.into_body()
    };
    let first = events(follow("").await, 2).await;
    assert_eq!(first.iter().map(|(_, r)| r["value"].as_i64().unwrap()).collect::<Vec<_>>(), [0, 1]);
    assert_eq!((first[0].0.as_str(), first[1].0.as_str()), ("0-1.1-0", "0-1.1-1"));
    let open = follow(&first[0].0).await;
    server.append("t", json!([{"value": 2, "partition": 0}])).await;
    let mut values: Vec<_> =
        events(open, 2).await.iter().map(|(_, r)| r["value"].as_i64().unwrap()).collect();
    values.sort_unstable();
    assert_eq!(values, [1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_end_when_the_server_goes_down() {
    let server = Server::new().await;
    server.put("/v1/topics/t", "application/json", "").await;
    let request = Request::get("/v1/topics/t/records")
        .header("accept", "text/event-stream")
        .body(Body::empty())
        .unwrap();
    let response = server.router.clone().oneshot(request).await.unwrap();
    server._close.send(true).unwrap();
    let whole = axum::body::to_bytes(response.into_body(), usize::MAX);
    tokio::time::timeout(PATIENCE, whole).await.unwrap().unwrap();
}
