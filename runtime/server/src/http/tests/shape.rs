//! What holds for every route.

use expect_test::expect_file;

use super::*;

#[test]
fn the_description_of_the_api_is_what_the_docs_show() {
    let text = super::super::openapi::document().to_pretty_json().unwrap() + "\n";
    expect_file!["../../../../../docs/openapi.json"].assert_eq(&text);
}

#[test]
fn every_operation_has_a_name_of_its_own() {
    let api: Value = serde_json::to_value(super::super::openapi::document()).unwrap();
    let paths = api["paths"].as_object().unwrap().values();
    let mut names: Vec<_> = paths
        .flat_map(|path| path.as_object().unwrap().values())
        .map(|operation| operation["operationId"].as_str().unwrap().to_owned())
        .collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_goes_wrong_is_a_problem() {
    let server = Server::new().await;
    assert_eq!(server.get("/v1/nothing").await.problem(), problem(404, "unknown-route"));
    assert_eq!(server.get("/v1").await.problem(), problem(404, "unknown-route"));
    assert_eq!(server.post("/nothing", "", "").await.problem(), problem(404, "unknown-route"));
    assert_eq!(server.delete("/v1/topics").await.problem(), problem(405, "method-not-allowed"));
    assert_eq!(server.post("/healthz", "", "").await.problem(), problem(405, "method-not-allowed"));
    assert_eq!(server.get("/v1/pipelines/Upper").await.problem(), problem(400, "bad-name"));
    assert_eq!(server.get("/v1/pipelines/%ff").await.problem(), problem(400, "bad-path"));
    assert_eq!(server.get("/v1/pipelines?limit=0").await.problem(), problem(400, "bad-parameter"));
    assert_eq!(server.get("/v1/pipelines?limit=x").await.problem(), problem(400, "bad-parameter"));
    assert_eq!(server.get("/v1/pipelines?limt=1").await.problem(), problem(400, "bad-parameter"));
    assert_eq!(server.get("/v1/pipelines/none").await.problem(), problem(404, "unknown-pipeline"));
    assert_eq!(
        server.get("/v1/pipelines/none/audit").await.problem(),
        problem(404, "unknown-pipeline")
    );
    assert_eq!(server.get("/v1/invocations/x").await.problem(), problem(400, "bad-name"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_site_changes_nothing() {
    let server = Server::new().await;
    let put = Request::put("/v1/topics/t")
        .header("sec-fetch-site", "cross-site")
        .body(Body::empty())
        .unwrap();
    assert_eq!(server.ask(put).await.problem(), problem(403, "other-site"));
    let get = Request::get("/v1/topics")
        .header("sec-fetch-site", "cross-site")
        .body(Body::empty())
        .unwrap();
    assert_eq!(server.ask(get).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_app_is_served_at_every_address_that_is_no_file() {
    let server = Server::new().await;
    for path in ["/", "/pipelines/order-fulfilment", "/deploy"] {
        let page = server.get(path).await;
        assert_eq!(
            (page.status, page.headers["content-type"].to_str().unwrap()),
            (StatusCode::OK, "text/html; charset=utf-8")
        );
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';")
                && !policy.contains("unsafe-eval"),
            "{policy}"
        );
        let etag = page.headers["etag"].clone();
        let again = Request::get(path).header("if-none-match", etag).body(Body::empty()).unwrap();
        assert_eq!(server.ask(again).await.status, 304);
    }
    assert_eq!(server.get("/assets/none.js").await.problem(), problem(404, "unknown-file"));
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_metrics_are_served() {
    let server = Server::new().await;
    server.put("/v1/topics/t", "application/json", "").await;
    assert_eq!(server.get("/healthz").await.json()["status"], "ok");
    let metrics = server.get("/metrics").await;
    assert!(metrics.headers["content-type"].to_str().unwrap().starts_with("text/plain"));
    assert!(metrics.text().contains("weir_topic_records{topic=\"t\"} 0\n"), "{}", metrics.text());
    assert_eq!(server.get("/openapi.json").await.json()["openapi"], "3.1.0");
}
