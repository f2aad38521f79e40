use serde_json::json;

use super::*;

async fn counting() -> Server {
    let server = Server::new().await;
    server.module("count", "count").await;
    server
}

fn node<'a>(graph: &'a Value, id: &str) -> &'a Value {
    graph["nodes"].as_array().unwrap().iter().find(|node| node["id"] == id).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn records_go_through_a_deployed_pipeline() {
    let server = counting().await;
    let answer = server.put("/v1/pipelines/counting", "application/yaml", COUNTING).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let applied = answer.json();
    assert_eq!((&applied["name"], &applied["revision"]), (&json!("counting"), &json!(1)));
    assert_eq!(applied["plan"]["graph"]["nodes"].as_array().unwrap().len(), 3);
    let records: Vec<_> =
        (0..100).map(|i| json!({"key": format!("k{}", i % 10), "value": i})).collect();
    server.append("in", json!(records)).await;
    server.until("/v1/topics/out", |topic| topic["records"] == 100).await;
    let out = server.get("/v1/topics/out/records?limit=1000").await.json();
    let tens =
        out["records"].as_array().unwrap().iter().filter(|r| r["value"]["count"] == 10).count();
    assert_eq!(tens, 10);

    let audit = server
        .until("/v1/pipelines/counting/audit", |audit| audit["operators"][0]["ended"] == 100)
        .await;
    assert_eq!(audit["balanced"], true, "{audit}");
    assert_eq!(audit["sources"][0]["taken"], 100);
    assert_eq!(audit["edges"].as_array().unwrap().len(), 2);

    let state = server.get("/v1/pipelines/counting/operators/count/state/k3").await.json();
    assert_eq!(state, json!({"key": "k3", "cells": {"count": 10}}));
    let none = server.get("/v1/pipelines/counting/operators/count/state/other").await.json();
    assert_eq!(none, json!({"key": "other", "cells": {}}));

    let pipeline = server.get("/v1/pipelines/counting").await.json();
    assert_eq!((&pipeline["status"], &pipeline["file"]), (&json!("running"), &json!(COUNTING)));
    let count = node(&pipeline["graph"], "count");
    assert_eq!(
        (&count["kind"], &count["module"], &count["parallelism"]),
        (&json!("operator"), &json!("count@1.0.0"), &json!(2))
    );
    assert_eq!((&count["input"], count.get("handler")), (&json!("events"), None));
    assert_eq!((&count["records_in"], &count["records_out"]), (&json!(100), &json!(100)));
    assert_eq!(node(&pipeline["graph"], "in")["records_out"], 100);
    assert_eq!(node(&pipeline["graph"], "out")["records_in"], 100);
    let edge = &pipeline["graph"]["edges"][0];
    assert_eq!(
        (&edge["from"], &edge["to"], &edge["kind"], &edge["records"]),
        (&json!("in"), &json!("count"), &json!("stream"), &json!(100))
    );
    let listed = server.get("/v1/pipelines").await.json();
    assert_eq!(listed["pipelines"][0]["records_out"], 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_listed_by_page_and_by_prefix() {
    let server = counting().await;
    server.deploy("counting", COUNTING).await;
    let records: Vec<_> = (0..30).map(|i| json!({"key": format!("k{i:02}"), "value": i})).collect();
    server.append("in", json!(records)).await;
    server.until("/v1/topics/out", |topic| topic["records"] == 30).await;
    const STATE: &str = "/v1/pipelines/counting/operators/count/state";
    let mut keys = Vec::new();
    let mut path = format!("{STATE}?limit=7");
    loop {
        let page = server.get(&path).await.json();
        keys.extend(
            page["keys"].as_array().unwrap().iter().map(|k| k["key"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page.get("next") else { break };
        path = format!("{STATE}?limit=7&after={}", next.as_str().unwrap());
    }
    keys.sort();
    assert_eq!(keys, (0..30).map(|i| format!("k{i:02}")).collect::<Vec<_>>());
    let tens = server.get(&format!("{STATE}?prefix=k1")).await.json();
    assert_eq!(tens["keys"].as_array().unwrap().len(), 10);
    assert_eq!(
        server.get(&format!("{STATE}?cell=count&limit=3")).await.json()["keys"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(
        server.get(&format!("{STATE}?cell=none")).await.problem(),
        problem(404, "unknown-cell")
    );
    let unknown = server.get("/v1/pipelines/counting/operators/in/state").await;
    assert_eq!(unknown.problem(), problem(404, "unknown-operator"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_file_is_refused_with_every_problem_and_its_place() {
    let server = counting().await;
    let file = "pipeline: counting\nsources:\n  in: { topic: IN }\noperators:\n  count: { module: none@1, input: in }\n";
    for query in ["", "?dry_run=true"] {
        let answer =
            server.put(&format!("/v1/pipelines/counting{query}"), "application/yaml", file).await;
        assert_eq!(answer.problem(), problem(422, "invalid-pipeline"));
        let errors = answer.json()["errors"].clone();
        assert!(errors.as_array().unwrap().len() >= 2, "{errors}");
        assert!(
            errors
                .as_array()
                .unwrap()
                .iter()
                .all(|e| e["line"].as_u64() > Some(0) && e["message"].is_string())
        );
    }
    let other = server.put("/v1/pipelines/other", "application/yaml", COUNTING).await;
    assert_eq!(other.json()["errors"][0]["code"], "name-differs");
    let bytes = server.put("/v1/pipelines/counting", "application/yaml", vec![b'\n', 0xff]).await;
    assert_eq!(
        (bytes.problem(), bytes.json()["errors"][0]["line"].clone()),
        (problem(422, "invalid-pipeline"), json!(2))
    );
    assert_eq!(server.get("/v1/pipelines").await.json()["pipelines"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_changes_nothing() {
    let server = counting().await;
    let answer =
        server.put("/v1/pipelines/counting?dry_run=true", "application/yaml", COUNTING).await;
    assert_eq!((answer.status, answer.json()["revision"].clone()), (StatusCode::OK, json!(1)));
    assert_eq!(
        server.get("/v1/pipelines/counting").await.problem(),
        problem(404, "unknown-pipeline")
    );
    assert_eq!(server.get("/v1/topics").await.json()["topics"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_file_again_is_no_revision() {
    let server = counting().await;
    server.deploy("counting", COUNTING).await;
    assert_eq!(server.deploy("counting", COUNTING).await["revision"], 1);
    let changed = COUNTING.replace("parallelism: 2", "parallelism: 3");
    assert_eq!(server.deploy("counting", &changed).await["revision"], 2);
    let revisions = server.get("/v1/pipelines/counting/revisions").await.json();
    let current: Vec<_> =
        revisions["revisions"].as_array().unwrap().iter().map(|r| r["current"].clone()).collect();
    assert_eq!(current, [json!(false), json!(true)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_revision_goes_on_from_the_last_commit() {
    let server = counting().await;
    server.deploy("counting", COUNTING).await;
    let batch = |n: usize| {
        json!(
            (0..n).map(|i| json!({"key": format!("k{}", i % 10), "value": i})).collect::<Vec<_>>()
        )
    };
    server.append("in", batch(50)).await;
    let changed = COUNTING.replace("parallelism: 2", "parallelism: 3");
    assert_eq!(server.deploy("counting", &changed).await["status"], "running");
    server.append("in", batch(50)).await;
    server.until("/v1/topics/out", |topic| topic["records"] == 100).await;
    let state = server.get("/v1/pipelines/counting/operators/count/state/k0").await.json();
    assert_eq!(state["cells"]["count"], 10);
    let audit = server
        .until("/v1/pipelines/counting/audit", |audit| audit["operators"][0]["ended"] == 100)
        .await;
    assert_eq!(audit["balanced"], true, "{audit}");
    let pipeline = server.get("/v1/pipelines/counting").await.json();
    assert_eq!(node(&pipeline["graph"], "count")["records_in"], 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_that_cannot_start_leaves_the_old_one_running() {
    let server = counting().await;
    server.deploy("counting", COUNTING).await;
    let broken = COUNTING.replace("parallelism: 2", "config: broken");
    let answer = server.put("/v1/pipelines/counting", "application/yaml", broken).await;
    assert_eq!(answer.problem(), problem(422, "start-failed"));
    assert!(
        answer.json()["detail"].as_str().unwrap().contains("its config is broken"),
        "{}",
        answer.text()
    );
    let pipeline = server.get("/v1/pipelines/counting").await.json();
    assert_eq!((&pipeline["status"], &pipeline["revision"]), (&json!("running"), &json!(1)));
    server.append("in", json!([{"key": "a", "value": 1}])).await;
    server.until("/v1/topics/out", |topic| topic["records"] == 1).await;
    let new = server
        .put(
            "/v1/pipelines/fresh",
            "application/yaml",
            COUNTING
                .replace("pipeline: counting", "pipeline: fresh")
                .replace("parallelism: 2", "config: broken"),
        )
        .await;
    assert_eq!(new.problem(), problem(422, "start-failed"));
    assert_eq!(server.get("/v1/pipelines/fresh").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_goes_on_after_a_restart() {
    let server = counting().await;
    server.deploy("counting", COUNTING).await;
    let paused = COUNTING
        .replace("pipeline: counting", "pipeline: resting")
        .replace("topic: out", "topic: out2");
    server.deploy("resting", &paused).await;
    assert_eq!(server.post("/v1/pipelines/resting/pause", "", "").await.json()["status"], "paused");
    server.append("in", json!([{"key": "a", "value": 1}])).await;
    server.until("/v1/topics/out", |topic| topic["records"] == 1).await;
    let server = server.restart().await;
    assert_eq!(server.get("/v1/pipelines/counting").await.json()["status"], "running");
    assert_eq!(server.get("/v1/pipelines/resting").await.json()["status"], "paused");
    let audit = server.get("/v1/pipelines/counting/audit").await.json();
    assert_eq!(
        (&audit["balanced"], &audit["operators"][0]["taken"]),
        (&json!(true), &json!(1)),
        "{audit}"
    );
    server.append("in", json!([{"key": "a", "value": 2}])).await;
    server.until("/v1/topics/out", |topic| topic["records"] == 2).await;
    let out = server.get("/v1/topics/out/records").await.json();
    assert_eq!(out["records"][1]["value"], json!({"count": 2}));
    assert_eq!(server.get("/v1/topics/out2").await.json()["records"], 0);
    assert_eq!(
        server.post("/v1/pipelines/resting/resume", "", "").await.json()["status"],
        "running"
    );
    server.until("/v1/topics/out2", |topic| topic["records"] == 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pause_stop_and_resume_lose_and_double_nothing() {
    let server = counting().await;
    server.deploy("counting", COUNTING).await;
    let one = json!([{"key": "a", "value": 1}]);
    let command = async |command: &str| {
        let answer = server.post(&format!("/v1/pipelines/counting/{command}"), "", "").await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["status"].as_str().unwrap().to_owned()
    };
    server.append("in", one.clone()).await;
    assert_eq!(command("pause").await, "paused");
    assert_eq!(command("stop").await, "stopped");
    assert_eq!(command("stop").await, "stopped");
    assert_eq!(
        server.post("/v1/pipelines/counting/pause", "", "").await.problem(),
        problem(409, "wrong-status")
    );
    server.append("in", one.clone()).await;
    assert_eq!(server.get("/v1/pipelines/counting").await.json()["status"], "stopped");
    assert_eq!(command("resume").await, "running");
    assert_eq!(command("resume").await, "running");
    server.until("/v1/topics/out", |topic| topic["records"] == 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delete_needs_a_stopped_pipeline_and_says_what_becomes_of_its_state() {
    let server = counting().await;
    let one = json!([{"key": "a", "value": 1}]);
    let count = async |n: u64| {
        server.append("in", one.clone()).await;
        server.until("/v1/topics/out", |topic| topic["records"] == n).await;
        server.get("/v1/pipelines/counting/operators/count/state/a").await.json()["cells"]["count"]
            .clone()
    };
    server.deploy("counting", COUNTING).await;
    assert_eq!(count(1).await, 1);
    assert_eq!(
        server.delete("/v1/pipelines/counting").await.problem(),
        problem(409, "wrong-status")
    );
    assert_eq!(
        server.delete("/v1/pipelines/counting?state=x").await.problem(),
        problem(400, "bad-parameter")
    );
    server.post("/v1/pipelines/counting/stop", "", "").await;
    assert_eq!(server.delete("/v1/topics/in").await.problem(), problem(409, "topic-in-use"));
    assert_eq!(server.delete("/v1/pipelines/counting?state=keep").await.status, 204);
    assert_eq!(server.get("/v1/pipelines/counting").await.status, 404);
    server.deploy("counting", COUNTING).await;
    assert_eq!(count(2).await, 2);
    server.post("/v1/pipelines/counting/stop", "", "").await;
    assert_eq!(server.delete("/v1/pipelines/counting?state=drop").await.status, 204);
    server.deploy("counting", COUNTING).await;
    server.until("/v1/topics/out", |topic| topic["records"] == 4).await;
    let state = server.get("/v1/pipelines/counting/operators/count/state/a").await.json();
    assert_eq!(state["cells"]["count"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn state_without_an_owner_refuses_the_deploy() {
    let server = counting().await;
    server.deploy("counting", COUNTING).await;
    server.append("in", json!([{"key": "a", "value": 1}])).await;
    server.until("/v1/topics/out", |topic| topic["records"] == 1).await;
    let renamed = COUNTING.replace("count:", "tally:").replace("count.out", "tally.out");
    let answer = server.put("/v1/pipelines/counting", "application/yaml", renamed.clone()).await;
    assert_eq!(answer.problem(), problem(409, "orphan-state"));
    assert!(answer.json()["errors"][0]["message"].as_str().unwrap().contains("`count`"));
    assert_eq!(server.get("/v1/pipelines/counting").await.json()["revision"], 1);
    let answer = server.put("/v1/pipelines/counting?state=drop", "application/yaml", renamed).await;
    assert_eq!(
        (answer.status, answer.json()["revision"].clone()),
        (StatusCode::OK, json!(2)),
        "{}",
        answer.text()
    );
    assert_eq!(
        server.put("/v1/pipelines/counting", "application/yaml", COUNTING).await.status,
        200
    );
    let state = server.get("/v1/pipelines/counting/operators/count/state").await.json();
    assert_eq!(state["keys"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_has_a_position_of_its_own_in_each_topic_that_it_is_given() {
    let server = counting().await;
    let other = COUNTING.replace("topic: in", "topic: other");
    assert_ne!(other, COUNTING);
    let mut all = 0;
    let mut feed = async |file: &str, topic: &str, n: u64| {
        let made = server
            .put(&format!("/v1/topics/{topic}"), "application/json", r#"{"partitions":4}"#)
            .await;
        assert!(made.status.is_success(), "{}", made.text());
        let record = json!({"key": "a", "value": 1});
        server.append(topic, json!(vec![record; n as usize])).await;
        let answer =
            server.put("/v1/pipelines/counting", "application/yaml", file.to_owned()).await;
        assert!(answer.status.is_success(), "{}", answer.text());
        all += n;
        server.until("/v1/topics/out", |topic| topic["records"] == all).await;
    };
    feed(COUNTING, "in", 20).await;
    feed(&other, "other", 10).await;
    feed(COUNTING, "in", 3).await;
    // Deleted and created again it is another topic.
    assert_eq!(server.delete("/v1/topics/other").await.status, 204);
    feed(&other, "other", 6).await;
    let audit = server
        .until("/v1/pipelines/counting/audit", |audit| audit["operators"][0]["ended"] == 39)
        .await;
    assert_eq!((&audit["balanced"], &audit["sources"][0]["taken"]), (&json!(true), &json!(39)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_says_what_would_have_no_owner() {
    let server = counting().await;
    server.deploy("counting", COUNTING).await;
    server.append("in", json!([{"key": "a", "value": 1}])).await;
    server.until("/v1/topics/out", |topic| topic["records"] == 1).await;
    let renamed = COUNTING.replace("count:", "tally:").replace("count.out", "tally.out");
    let try_out = |query: &str| {
        let path = format!("/v1/pipelines/counting?dry_run=true{query}");
        let (server, renamed) = (&server, renamed.clone());
        async move { server.put(&path, "application/yaml", renamed).await }
    };
    assert_eq!(try_out("").await.problem(), problem(409, "orphan-state"));
    let answer = try_out("&state=drop").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["dropped"], json!([{"operator": "count", "holds": ["state"]}]));
    let state = server.get("/v1/pipelines/counting/operators/count/state/a").await.json();
    assert_eq!(state["cells"]["count"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_that_was_dropped_and_comes_back_is_audited_from_zero() {
    let server = counting().await;
    let renamed = COUNTING.replace("count:", "tally:").replace("count.out", "tally.out");
    let mut sent = 0;
    for file in [COUNTING, &renamed, COUNTING, &renamed].map(str::to_owned) {
        let path = "/v1/pipelines/counting?state=drop";
        let answer = server.put(path, "application/yaml", file).await;
        assert!(answer.status.is_success(), "{}", answer.text());
        server.append("in", json!([{"key": "a", "value": 1}, {"key": "b", "value": 1}])).await;
        sent += 2;
        server.until("/v1/topics/out", |topic| topic["records"] == sent).await;
        let audit = server
            .until("/v1/pipelines/counting/audit", |audit| audit["operators"][0]["ended"] == 2)
            .await;
        assert_eq!(audit["balanced"], true, "{audit}");
        assert_eq!(
            (&audit["edges"][0]["sent"], &audit["edges"][1]["taken"]),
            (&json!(2), &json!(2))
        );
        let listed = server.get("/v1/pipelines").await.json();
        assert_eq!(listed["pipelines"][0]["balanced"], true);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_becomes_a_dead_letter_that_can_be_discarded() {
    let server = counting().await;
    let file = COUNTING.replace("parallelism: 2", "retry: { attempts: 2, first: 1ms }");
    server.deploy("counting", &file).await;
    server.append("in", json!([{"key": "a", "value": "refuse", "headers": {"h": "x"}}, {"key": "a", "value": 1}, {"key": "b", "value": "crash"}])).await;
    server.until("/v1/topics/out", |topic| topic["records"] == 1).await;
    const LETTERS: &str = "/v1/pipelines/counting/dead-letters";
    let listed =
        server.until(LETTERS, |page| page["dead_letters"].as_array().unwrap().len() == 2).await;
    let letters = listed["dead_letters"].as_array().unwrap();
    let refused = letters.iter().find(|letter| letter["key"] == "a").unwrap();
    assert_eq!(
        (&refused["code"], &refused["attempts"], &refused["value"]),
        (&json!("refused"), &json!(1), &json!("refuse"))
    );
    assert_eq!(
        (&refused["source"]["topic"], &refused["operator"]),
        (&json!("in"), &json!("count"))
    );
    assert_eq!(refused["module"], "count@1.0.0");
    let crashed = letters.iter().find(|letter| letter["key"] == "b").unwrap();
    assert_eq!(
        (&crashed["attempts"], &crashed["panic"], &crashed["backtrace"]),
        (&json!(2), &json!("it was told to"), &json!("crash\nhandle"))
    );
    let page = server.get(&format!("{LETTERS}?limit=1")).await.json();
    let next = page["next"].as_str().unwrap();
    assert_eq!(
        server.get(&format!("{LETTERS}?limit=1&after={next}")).await.json()["dead_letters"][0]["id"],
        letters[1]["id"]
    );
    assert_eq!(
        server.get(&format!("{LETTERS}?operator=none")).await.problem(),
        problem(404, "unknown-operator")
    );

    let audit = server
        .until("/v1/pipelines/counting/audit", |audit| audit["operators"][0]["dead_lettered"] == 2)
        .await;
    assert_eq!(audit["balanced"], true, "{audit}");
    let discard = format!("{LETTERS}/{}/discard", refused["id"].as_str().unwrap());
    assert_eq!(server.post(&discard, "", "").await.status, 204);
    assert_eq!(server.get(LETTERS).await.json()["dead_letters"].as_array().unwrap().len(), 1);
    assert_eq!(server.post(&discard, "", "").await.problem(), problem(404, "unknown-dead-letter"));
    server.post("/v1/pipelines/counting/stop", "", "").await;
    let discard = format!("{LETTERS}/{}/discard", crashed["id"].as_str().unwrap());
    assert_eq!(server.post(&discard, "", "").await.status, 204);
    assert_eq!(server.get(LETTERS).await.json()["dead_letters"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn live_figures_and_lifecycle_events_come_by_themselves() {
    use tokio_stream::StreamExt;
    let server = counting().await;
    let request =
        Request::get("/v1/live").header("last-event-id", "0").body(Body::empty()).unwrap();
    let mut body =
        server.router.clone().oneshot(request).await.unwrap().into_body().into_data_stream();
    server.deploy("counting", COUNTING).await;
    let mut text = String::new();
    let read = async {
        while !(text.contains("\"what\":\"deployed\"") && text.contains("\"name\":\"counting\"")) {
            text.push_str(&String::from_utf8_lossy(&body.next().await.unwrap().unwrap()));
        }
    };
    tokio::time::timeout(PATIENCE, read).await.unwrap();
    assert!(text.contains("event: figures\n") && text.contains("event: lifecycle\nid: "), "{text}");
}
