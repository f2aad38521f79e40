//! A handler may fail, panic, spin, hoard or lie: it ends as a dead letter or as its
//! caller's failure, and everything beside it goes on.

use anyhow::Result;
use serde_json::{Value, json};
use weir_tests::{client::Client, guests, wait::until};

const FILE: &str = "
pipeline: odd
sources:
  in: { topic: in, partitions: 1 }
operators:
  HANDLER:
    module: echo@1.0.0
    input: in
    handler: HANDLER
    key: /key
    retry: { attempts: 2, first: 1ms }
    limits: { memory: 16MiB, cpu: 200ms }
  good: { module: counter@1.0.0, input: in, key: /key }
sinks:
  seen: { topic: seen, input: HANDLER.out, partitions: 1 }
  counted: { topic: counted, input: good.out, partitions: 1 }
";

async fn deploy(client: &Client, handler: &str) -> Result<()> {
    client.upload("echo", "1.0.0", guests::bytes("echo")?).await?;
    client.upload("counter", "1.0.0", guests::bytes("counter")?).await?;
    client.deploy("odd", &FILE.replace("HANDLER", handler)).await?;
    Ok(())
}

/// A value that need not be JSON.
async fn send_raw(client: &Client, value: &'static str) -> Result<()> {
    let request = client.request("POST", "/v1/topics/in/records");
    let request = request.header("content-type", "application/octet-stream");
    client.ok(request.header("x-weir-key", "a").body(value)).await?;
    Ok(())
}

async fn letters(client: &Client, count: usize) -> Result<Vec<Value>> {
    until(&format!("{count} dead letters"), || async {
        let page = client.get("/v1/pipelines/odd/dead-letters?limit=100").await?;
        let letters = page["dead_letters"].as_array().cloned().unwrap_or_default();
        Ok((letters.len() >= count).then_some(letters))
    })
    .await
}

async fn ends_as_a_dead_letter(handler: &str, code: &str) -> Result<Value> {
    let (_scratch, mut weir, client) = crate::server().await?;
    deploy(&client, handler).await?;
    client.ingest("in", "{\"key\":\"a\"}\n{\"key\":\"b\"}\n".into()).await?;
    let letters = letters(&client, 2).await?;
    let letter = letters[0].clone();
    assert_eq!(letter["operator"], handler, "{letter}");
    assert_eq!(letter["code"], code, "{letter}");
    assert_eq!(letter["value"], json!({ "key": letter["key"] }), "{letter}");
    // The rest of the pipeline did not notice.
    assert_eq!(client.records_at_least("counted", 2).await?.len(), 2);
    // What failed left nothing of its own.
    assert_eq!(client.records("seen").await?.len(), 0);
    let state = client.get(&format!("/v1/pipelines/odd/operators/{handler}/state")).await?;
    assert_eq!(state["keys"].as_array().map(Vec::len), Some(0), "{state}");
    client.audit_where("odd", |audit| audit["balanced"] == true).await?;
    let id = letter["id"].as_str().unwrap_or_default();
    client.post(&format!("/v1/pipelines/odd/dead-letters/{id}/discard"), &Value::Null).await?;
    until("the letter is gone", || async {
        let page = client.get("/v1/pipelines/odd/dead-letters").await?;
        Ok((page["dead_letters"].as_array().map(Vec::len) == Some(1)).then_some(()))
    })
    .await?;
    assert!(!weir.ended()?);
    Ok(letter)
}

#[tokio::test]
async fn a_terminal_failure_is_a_dead_letter_at_once() -> Result<()> {
    let letter = ends_as_a_dead_letter("fail_terminal", "asked-for").await?;
    assert_eq!(letter["attempts"], 1);
    Ok(())
}

#[tokio::test]
async fn a_panic_is_a_dead_letter_with_the_guests_own_words_and_frames() -> Result<()> {
    let letter = ends_as_a_dead_letter("panic", "trap").await?;
    assert_eq!(letter["attempts"], 2);
    assert!(letter["panic"].as_str().is_some_and(|p| p.contains("asked to panic")), "{letter}");
    assert!(letter["backtrace"].as_str().is_some_and(|b| b.contains("function")), "{letter}");
    Ok(())
}

#[tokio::test]
async fn an_endless_loop_meets_its_cpu_limit() -> Result<()> {
    ends_as_a_dead_letter("spin", "cpu-limit").await.map(drop)
}

#[tokio::test]
async fn endless_allocation_meets_its_memory_limit() -> Result<()> {
    ends_as_a_dead_letter("hoard", "memory-limit").await.map(drop)
}

#[tokio::test]
async fn garbage_from_a_transform_is_a_dead_letter_and_the_host_goes_on() -> Result<()> {
    let (_scratch, mut weir, client) = crate::server().await?;
    client.upload("garbage", "1.0.0", guests::bytes("garbage")?).await?;
    client.upload("counter", "1.0.0", guests::bytes("counter")?).await?;
    let file = "
pipeline: odd
sources: { in: { topic: in, partitions: 1 } }
operators:
  bad: { module: garbage@1.0.0, input: in, retry: { attempts: 2, first: 1ms } }
  good: { module: counter@1.0.0, input: in }
sinks:
  seen: { topic: seen, input: bad.out, partitions: 1 }
  counted: { topic: counted, input: good.out, partitions: 1 }
";
    client.deploy("odd", file).await?;
    send_raw(&client, "ends-beyond").await?;
    let letters = letters(&client, 1).await?;
    assert_eq!(letters[0]["code"], "garbage", "{}", letters[0]);
    assert_eq!(client.records_at_least("counted", 1).await?.len(), 1);
    assert_eq!(client.records("seen").await?.len(), 0);
    assert!(!weir.ended()?);
    Ok(())
}

#[tokio::test]
async fn a_transient_failure_is_tried_again_and_leaves_one_effect() -> Result<()> {
    let (_scratch, _weir, client) = crate::server().await?;
    deploy(&client, "fail_transient").await?;
    client.ingest("in", "{\"key\":\"a\",\"times\":1}\n".into()).await?;
    let seen = client.records_at_least("seen", 1).await?;
    assert_eq!(seen[0]["value"], 2, "the second attempt's output, and it alone");
    // Records and state are of one commit, but are read by two requests.
    until("the state is that of one attempt", || async {
        let state = client.get("/v1/pipelines/odd/operators/fail_transient/state/a").await?;
        Ok((state["cells"]["count"] == 1).then_some(()))
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn an_event_without_its_key_is_a_dead_letter_that_says_so() -> Result<()> {
    let (_scratch, _weir, client) = crate::server().await?;
    deploy(&client, "count").await?;
    client.ingest("in", "{\"no\":\"key\"}\n{\"key\":null}\n{\"key\":7}\n".into()).await?;
    send_raw(&client, "not json").await?;
    // Three for each of the two operators.
    let letters = letters(&client, 6).await?;
    assert!(letters.iter().all(|letter| letter["code"] == "no-key"), "{letters:?}");
    let state = client.get("/v1/pipelines/odd/operators/count/state/7").await?;
    assert_eq!(state["cells"]["count"], 1, "{state}");
    Ok(())
}

#[tokio::test]
async fn calls_over_http_get_the_reply_or_the_handlers_failure() -> Result<()> {
    let (_scratch, _weir, client) = crate::server().await?;
    deploy(&client, "count").await?;
    let call = |handler: &str, key: &str, value: Value| {
        client.request("POST", &format!("/v1/call/odd/count/{handler}?key={key}")).json(&value)
    };
    assert_eq!(client.ok(call("swap", "k", json!({ "a": 1 }))).await?, Value::Null);
    assert_eq!(client.ok(call("swap", "k", json!(2))).await?, json!({ "a": 1 }));
    let answer = client.answer(call("fail_terminal", "k", Value::Null)).await?;
    assert!(answer.status >= 400 && answer.status < 500, "{} {}", answer.status, answer.body);
    assert!(answer.body.to_string().contains("asked-for"), "{}", answer.body);
    let answer = client.answer(call("panic", "k", Value::Null)).await?;
    assert!(
        answer.status >= 400 && answer.body.to_string().contains("exhausted"),
        "{}",
        answer.body
    );
    assert_eq!(client.answer(call("nothing", "k", Value::Null)).await?.status, 404);
    let request = client.request("POST", "/v1/call/odd/count/swap").json(&json!({ "no": "key" }));
    let answer = client.answer(request).await?;
    assert_eq!((answer.status, &answer.body["code"]), (422, &json!("no-key")));
    Ok(())
}
