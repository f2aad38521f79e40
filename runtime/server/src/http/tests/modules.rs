use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_module_is_immutable() {
    let server = Server::new().await;
    let upload = |script: &'static str| {
        server.post("/v1/modules?name=m&version=1.0.0", "application/wasm", script)
    };
    let first = upload("count").await;
    assert_eq!(first.status, 201);
    assert_eq!(first.json()["name"], "m");
    assert!(first.json()["digest"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(first.json()["report"]["ok"], true);
    assert_eq!(upload("count").await.status, 200);
    assert_eq!(upload("count other").await.problem(), problem(409, "module-exists"));
    assert_eq!(server.get("/v1/modules/m/1.0.0/wasm").await.body, b"count");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_brings_the_same_bytes() {
    let server = Server::new().await;
    let form = "--x\r\ncontent-disposition: form-data; name=\"other\"\r\n\r\nno\r\n--x\r\n\
        content-disposition: form-data; name=\"module\"; filename=\"m.wasm\"\r\n\r\ncount\r\n--x--\r\n";
    let answer = server
        .post("/v1/modules?name=m&version=1.0.0", "multipart/form-data; boundary=x", form)
        .await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(server.get("/v1/modules/m/1.0.0/wasm").await.body, b"count");
    let answer =
        server.post("/v1/modules/check", "multipart/form-data; boundary=x", "--x--\r\n").await;
    assert_eq!(answer.problem(), problem(400, "bad-form"));
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_module_are_refused_with_every_problem() {
    let server = Server::new().await;
    for body in ["", "hello"] {
        let answer =
            server.post("/v1/modules?name=m&version=1.0.0", "application/wasm", body).await;
        assert_eq!(answer.problem(), problem(422, "invalid-module"));
        assert_eq!(answer.json()["errors"][0]["code"], "no-wasm");
        let report = server.post("/v1/modules/check", "application/wasm", body).await;
        assert_eq!(
            (report.status, report.json()["ok"].clone()),
            (StatusCode::OK, Value::Bool(false))
        );
    }
    assert_eq!(server.get("/v1/modules").await.json()["modules"], serde_json::json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_the_request_is_said() {
    let server = Server::new().await;
    let post = |path: &'static str| server.post(path, "application/wasm", "count");
    assert_eq!(post("/v1/modules?version=1.0.0").await.problem(), problem(400, "bad-parameter"));
    assert_eq!(post("/v1/modules?name=A&version=1.0.0").await.problem(), problem(400, "bad-name"));
    assert_eq!(post("/v1/modules?name=a&version=1").await.problem(), problem(400, "bad-version"));
    assert_eq!(
        post("/v1/modules?name=a&version=1.0.0&x=1").await.problem(),
        problem(400, "bad-parameter")
    );
    assert_eq!(server.get("/v1/modules/a/1.0.0").await.problem(), problem(404, "unknown-module"));
    assert_eq!(
        server.delete("/v1/modules/a/1.0.0").await.problem(),
        problem(404, "unknown-module")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_over_the_limit_is_refused_and_the_limit_named() {
    let server = Server::new().await;
    let parts =
        futures::stream::iter((0..70).map(|_| Ok::<_, std::io::Error>(vec![0_u8; 1 << 20])));
    let answer =
        server.post("/v1/modules/check", "application/wasm", Body::from_stream(parts)).await;
    assert_eq!(answer.problem(), problem(413, "too-large"));
    assert!(answer.json()["detail"].as_str().unwrap().contains("64 MiB"));
}

#[tokio::test(flavor = "multi_thread")]
async fn modules_are_listed_page_by_page_in_order_of_version() {
    let server = Server::new().await;
    for (name, version) in [("b", "1.0.0"), ("a", "10.0.0"), ("a", "9.0.0")] {
        let path = format!("/v1/modules?name={name}&version={version}");
        assert_eq!(server.post(&path, "application/wasm", "count").await.status, 201);
    }
    let page = server.get("/v1/modules?limit=2").await.json();
    let names = |page: &Value| -> Vec<String> {
        let modules = page["modules"].as_array().unwrap();
        modules
            .iter()
            .map(|m| format!("{}@{}", m["name"].as_str().unwrap(), m["version"].as_str().unwrap()))
            .collect()
    };
    assert_eq!(names(&page), ["a@9.0.0", "a@10.0.0"]);
    assert_eq!(page["modules"][0]["language"], "script");
    assert_eq!(page["modules"][0]["faces"], serde_json::json!(["transform"]));
    let next = page["next"].as_str().unwrap();
    let page = server.get(&format!("/v1/modules?limit=2&after={next}")).await.json();
    assert_eq!(names(&page), ["b@1.0.0"]);
    assert!(page.get("next").is_none());
    assert_eq!(server.get("/v1/modules?after=x").await.problem(), problem(400, "bad-cursor"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_in_use_is_not_deleted() {
    let server = Server::new().await;
    server.module("count", "count").await;
    server.deploy("counting", COUNTING).await;
    let answer = server.delete("/v1/modules/count/1.0.0").await;
    assert_eq!(answer.problem(), problem(409, "module-in-use"));
    assert!(answer.json()["detail"].as_str().unwrap().contains("counting"));
    assert_eq!(server.post("/v1/pipelines/counting/stop", "", "").await.status, 200);
    assert_eq!(server.delete("/v1/pipelines/counting?state=drop").await.status, 204);
    assert_eq!(server.delete("/v1/modules/count/1.0.0").await.status, 204);
    assert_eq!(server.get("/v1/modules/count/1.0.0/wasm").await.status, 404);
}
