//! Whatever is wrong with a request gets its own clear answer, and the server goes on.

use anyhow::Result;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use weir_tests::{
    client::{Answer, Client},
    guests,
    process::Weir,
};

/// An answer is clear if it has a code and a sentence.
fn assert_problem(answer: &Answer, status: u16, code: &str) {
    let text = answer.body.to_string();
    assert_eq!(answer.status, status, "{text}");
    let codes: Vec<&str> = std::iter::once(&answer.body["code"])
        .chain(answer.body["errors"].as_array().into_iter().flatten().map(|e| &e["code"]))
        .filter_map(Value::as_str)
        .collect();
    assert!(codes.contains(&code), "no code {code} in {text}");
    assert!(answer.body["detail"].as_str().is_some_and(|d| d.len() > 10), "no sentence in {text}");
}

#[tokio::test]
async fn each_kind_of_bad_module_is_refused_by_name() -> Result<()> {
    let (_scratch, mut weir, client) = crate::server().await?;
    let counter = guests::bytes("counter")?;
    // A core module: magic, version, nothing else.
    let core = b"\0asm\x01\0\0\0".to_vec();
    // A component with nothing in it.
    let component = b"\0asm\x0d\0\x01\0".to_vec();
    let cases: [(&str, Vec<u8>, u16, &str); 5] = [
        ("an empty body", Vec::new(), 422, "empty"),
        ("text", b"hello, this is not WebAssembly".to_vec(), 422, "not-wasm"),
        ("a core module without metadata", core, 422, "no-wit-metadata"),
        ("a component of another world", component, 422, "wrong-world"),
        ("200 MB", vec![0; 200_000_000], 413, "too-large"),
    ];
    for (what, bytes, status, code) in cases {
        let request = client.request("POST", "/v1/modules?name=bad&version=1.0.0").body(bytes);
        let answer = client.answer(request).await?;
        eprintln!("{what}: {}", answer.body["detail"]);
        assert_problem(&answer, status, code);
    }
    let truncated = counter[..counter.len() / 2].to_vec();
    let request = client.request("POST", "/v1/modules?name=bad&version=1.0.0").body(truncated);
    let answer = client.answer(request).await?;
    assert_eq!(answer.status, 422, "{}", answer.body);

    client.upload("counter", "1.0.0", counter.clone()).await?;
    let again = client.request("POST", "/v1/modules?name=counter&version=1.0.0").body(counter);
    assert_eq!(client.answer(again).await?.status, 200, "the same bytes again are fine");
    let other = guests::bytes("bidcount")?;
    let request = client.request("POST", "/v1/modules?name=counter&version=1.0.0").body(other);
    let answer = client.answer(request).await?;
    assert_eq!(answer.status, 409, "{}", answer.body);
    assert!(!weir.ended()?);
    Ok(())
}

#[tokio::test]
async fn every_problem_of_a_pipeline_file_is_told_at_once_with_its_line() -> Result<()> {
    let (_scratch, _weir, client) = crate::server().await?;
    client.upload("counter", "1.0.0", guests::bytes("counter")?).await?;
    let file = "pipeline: bad
sources:
  in: { topic: in }
operators:
  a: { module: counter@1.0.0, input: b.out, key: /key }
  b: { module: counter@1.0.0, input: a.out, key: /key }
  c: { module: counter@1.0.0, input: nowhere, key: /key }
  d: { module: counter@1.0.0, input: a.wrong, key: /key }
  e: { module: missing@1.0.0, input: in, key: key }
sinks:
  out: { topic: out, input: d.out, colour: red }
";
    let request = client.request("PUT", "/v1/pipelines/bad");
    let answer =
        client.answer(request.header("content-type", "application/yaml").body(file)).await?;
    assert_eq!(answer.status, 422, "{}", answer.body);
    let errors = answer.body["errors"].as_array().cloned().unwrap_or_default();
    let lines: std::collections::BTreeSet<u64> =
        errors.iter().filter_map(|e| e["line"].as_u64()).collect();
    assert!(errors.len() >= 3, "{}", answer.body);
    for error in &errors {
        assert!(error["path"].is_string() && error["message"].is_string(), "{error}");
    }
    assert!(lines.len() >= 2, "{}", answer.body);

    for file in
        ["", "pipeline: [", "just text", "{\"pipeline\": 5}", "pipeline: bad\nsources: []\n"]
    {
        let request = client.request("PUT", "/v1/pipelines/bad");
        let answer =
            client.answer(request.header("content-type", "application/yaml").body(file)).await?;
        assert_eq!(answer.status, 422, "{file:?}: {}", answer.body);
    }
    Ok(())
}

#[tokio::test]
async fn odd_records_are_stored_as_they_are_or_refused_with_a_reason() -> Result<()> {
    let (_scratch, _weir, client) = crate::server().await?;
    client.ok(client.request("PUT", "/v1/topics/odd").json(&json!({ "partitions": 1 }))).await?;
    let path = "/v1/topics/odd/records";

    // A key that is not UTF-8, an empty value.
    let key = json!({ "base64": "/w==" });
    client.post(path, &json!([{ "key": key, "value": { "base64": "" } }])).await?;
    let records = client.records("odd").await?;
    assert_eq!(records[0]["key"], key);
    assert_eq!(records[0]["value"], json!({ "base64": "" }));

    // 5 MB in one value: taken whole or refused with the limit named.
    let big = client.request("POST", path).header("content-type", "application/octet-stream");
    let answer = client.answer(big.body(vec![b'x'; 5_000_000])).await?;
    if answer.status != 200 {
        assert_eq!(answer.status, 413, "{}", answer.body);
    }

    // 10,000 in one request.
    let lines: String = (0..10_000).map(|i| format!("{{\"n\":{i}}}\n")).collect();
    let answer = client.ingest("odd", lines).await?;
    assert_eq!(answer["records"].as_array().map(Vec::len), Some(10_000));

    // A line that is not JSON is refused with its place, and nothing of the request is
    // kept; as a raw body it is a value like any other: bytes in, bytes out.
    let lines = client.request("POST", path).header("content-type", "application/x-ndjson");
    let answer = client.answer(lines.body("{\"n\":1}\n{\"n\":\n")).await?;
    assert_eq!((answer.status, &answer.body["errors"][0]["line"]), (400, &json!(2)));
    let raw = client.request("POST", path).header("content-type", "application/octet-stream");
    client.ok(raw.body("{\"n\":")).await?;
    let records = client.records("odd").await?;
    let last = records.last().cloned().unwrap_or_default();
    assert_eq!(last["value"], json!({ "base64": "eyJuIjo=" }));

    // A JSON body that is not JSON.
    let request = client.request("POST", path).header("content-type", "application/json");
    let answer = client.answer(request.body("[{\"value\": 1},")).await?;
    assert_eq!(answer.status, 400, "{}", answer.body);
    let unknown = client.request("POST", "/v1/topics/nowhere/records").body("{}");
    let unknown = unknown.header("content-type", "application/x-ndjson");
    assert_eq!(client.answer(unknown).await?.status, 404);
    Ok(())
}

#[tokio::test]
async fn an_idempotency_key_makes_a_repeat_return_the_first_answer() -> Result<()> {
    let (_scratch, _weir, client) = crate::server().await?;
    client.ok(client.request("PUT", "/v1/topics/once").json(&json!({ "partitions": 3 }))).await?;
    let post = |body: &'static str| {
        let request = client.request("POST", "/v1/topics/once/records");
        let request = request.header("content-type", "application/x-ndjson");
        request.header("idempotency-key", "k1").body(body)
    };
    let first = client.ok(post("1\n2\n")).await?;
    let second = client.ok(post("1\n2\n")).await?;
    assert_eq!(first, second);
    assert_eq!(client.answer(post("3\n")).await?.status, 422);
    assert_eq!(client.records("once").await?.len(), 2);
    Ok(())
}

#[tokio::test]
async fn connections_leave_the_store_the_files_that_it_needs() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let data = scratch.path().join("data");
    let weir = Weir::start_with_files(&data, 128)?;
    let client = Client::new(weir.url());
    client.ready().await?;
    let address = weir.url().trim_start_matches("http://").to_owned();
    let mut idle = Vec::new();
    for _ in 0..120 {
        idle.push(tokio::net::TcpStream::connect(&address).await?);
    }
    // The client's own connection is open already.
    for topic in 0..40 {
        let topic = format!("/v1/topics/t{topic}");
        client.ok(client.request("PUT", &topic).json(&json!({"partitions": 4}))).await?;
        let records = client.request("POST", &format!("{topic}/records"));
        client.ok(records.json(&json!([{"value": 1}, {"value": 2}]))).await?;
    }
    drop(idle);
    Ok(())
}

#[tokio::test]
async fn a_file_that_wants_other_partitions_of_a_topic_is_refused() -> Result<()> {
    let (_scratch, _weir, client) = crate::server().await?;
    client.upload("counter", "1.0.0", guests::bytes("counter")?).await?;
    client.ok(client.request("PUT", "/v1/topics/in").json(&json!({"partitions": 3}))).await?;
    let put = |partitions: &str| {
        let file = format!(
            "pipeline: counts\n\
             sources:\n  in: {{ topic: in{partitions} }}\n\
             operators:\n  count: {{ module: counter@1.0.0, input: in, key: /key }}\n\
             sinks:\n  out: {{ discard: true, input: count.out }}\n"
        );
        let request = client.request("PUT", "/v1/pipelines/counts");
        request.header("content-type", "application/yaml").body(file)
    };
    let refused = client.answer(put(", partitions: 5")).await?;
    assert_problem(&refused, 422, "conflict");
    let error = &refused.body["errors"][0];
    assert_eq!((&error["line"], &error["path"]), (&json!(3), &json!("sources.in.partitions")));
    client.ok(put(", partitions: 3")).await?;
    client.ok(put("")).await?;
    Ok(())
}

#[tokio::test]
async fn readers_that_do_not_read_hold_little() -> Result<()> {
    let (_scratch, weir, client) = crate::server().await?;
    client.ok(client.request("PUT", "/v1/topics/in").json(&json!({"partitions": 16}))).await?;
    let records: Vec<Value> = (0..1_000).map(|_| json!({ "value": "x".repeat(1_000) })).collect();
    for _ in 0..40 {
        client.ok(client.request("POST", "/v1/topics/in/records").json(&records)).await?;
    }
    let before = weir.usage()?.rss;
    let address = weir.url().trim_start_matches("http://").to_owned();
    let mut idle = Vec::new();
    for _ in 0..100 {
        let mut connection = tokio::net::TcpStream::connect(&address).await?;
        let request = "GET /v1/topics/in/records?from=earliest HTTP/1.1\r\nhost: weir\r\n\
                       accept: text/event-stream\r\n\r\n";
        connection.write_all(request.as_bytes()).await?;
        // It answers, and goes on until nothing more fits between it and the reader.
        connection.readable().await?;
        idle.push(connection);
    }
    // Other work goes on, and takes as long as the server takes for all of them.
    for _ in 0..40 {
        client.ok(client.request("POST", "/v1/topics/in/records").json(&records)).await?;
    }
    let grown = weir.usage()?.rss.saturating_sub(before) / 1_000_000;
    eprintln!("100 readers hold {grown} MB");
    assert!(grown < 400, "100 readers hold {grown} MB");
    drop(idle);
    Ok(())
}
