//! `/healthz`, `/readyz`, `/metrics`: outside of every bound, so that they answer
//! when nothing else does.

use std::fmt::Write;

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::json;
use weir_engine::service::{NodeView, Overview, Readiness};

use super::{
    App,
    problem::{Detail, Problem},
};

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
}

/// The process answers.
#[utoipa::path(get, operation_id = "get_health", path = "/healthz", tag = "health", responses((status = 200)))]
pub(super) async fn healthz() -> Json<serde_json::Value> {
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

/// Everything that is deployed has recovered.
#[utoipa::path(get, operation_id = "get_readiness", path = "/readyz", tag = "health",
    responses((status = 200), (status = 503, description = "`errors` says what has not.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn readyz(State(app): State<App>) -> Response {
    match app.engine.readiness() {
        Readiness::Ready => Json(json!({ "status": "ready" })).into_response(),
        Readiness::Waiting(pipelines) => {
            let errors = pipelines
                .into_iter()
                .map(|message| Detail {
                    code: "not-recovered".into(),
                    message,
                    ..Detail::default()
                })
                .collect();
            let detail =
                "Not everything that is deployed has recovered. `errors` says what has not.";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not-ready", "Not ready", detail)
                .retry_after(std::time::Duration::from_secs(1))
                .with_errors(errors)
                .into_response()
        }
    }
}

/// Figures in the text format of Prometheus.
#[utoipa::path(get, operation_id = "get_metrics", path = "/metrics", tag = "health", responses((status = 200, body = String, content_type = "text/plain")))]
pub(super) async fn metrics(State(app): State<App>) -> Response {
    let mut response = text(&app).into_response();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn text(app: &App) -> String {
    let overviews: Vec<Overview> = app.engine.overviews();
    let mut out = String::new();
    head(&mut out, "weir_pipeline_up", "gauge", "1 if the pipeline runs.");
    for overview in &overviews {
        let status = overview.summary.status.as_str();
        let up = u8::from(status == "running");
        let _ = writeln!(
            out,
            "weir_pipeline_up{{pipeline=\"{}\",status=\"{status}\"}} {up}",
            overview.summary.name
        );
    }
    let help = "1 if the last audit was balanced; absent before the first.";
    head(&mut out, "weir_pipeline_balanced", "gauge", help);
    for Overview { summary, .. } in &overviews {
        if let Some(balanced) = summary.balanced {
            let name = &summary.name;
            let _ = writeln!(
                out,
                "weir_pipeline_balanced{{pipeline=\"{name}\"}} {}",
                u8::from(balanced)
            );
        }
    }
    type Figure = (&'static str, &'static str, &'static str, fn(&NodeView) -> f64);
    let figures: [Figure; 10] = [
        ("weir_node_records_in_total", "counter", "Records taken in.", |n| n.records_in as f64),
        ("weir_node_records_out_total", "counter", "Records given away.", |n| n.records_out as f64),
        ("weir_node_errors_total", "counter", "Failed attempts.", |n| n.errors as f64),
        ("weir_node_retries_total", "counter", "Attempts after the first.", |n| n.retries as f64),
        ("weir_node_dead_letters_total", "counter", "Events given up.", |n| n.dead_letters as f64),
        ("weir_node_waiting", "gauge", "Events taken in and not begun.", |n| n.waiting as f64),
        ("weir_node_running", "gauge", "Invocations begun and not ended.", |n| n.running as f64),
        ("weir_node_busy_ratio", "gauge", "Share of time at work.", |n| n.busy),
        ("weir_node_blocked", "gauge", "1 if an output has no credit.", |n| {
            f64::from(u8::from(n.blocked))
        }),
        ("weir_source_behind", "gauge", "Records that a source has not read.", |n| n.behind as f64),
    ];
    for (metric, kind, help, of) in figures {
        head(&mut out, metric, kind, help);
        for overview in &overviews {
            let nodes = overview.graph.nodes.iter();
            for node in nodes.filter(|node| metric != "weir_source_behind" || node.kind == "source")
            {
                let pipeline = &overview.summary.name;
                let _ = writeln!(
                    out,
                    "{metric}{{pipeline=\"{pipeline}\",node=\"{}\"}} {}",
                    node.id,
                    of(node)
                );
            }
        }
    }
    head(
        &mut out,
        "weir_edge_records_total",
        "counter",
        "Events sent over a stream, or calls seen.",
    );
    for overview in &overviews {
        for edge in &overview.graph.edges {
            let kind = if edge.calls { "call" } else { "stream" };
            let _ = writeln!(
                out,
                "weir_edge_records_total{{pipeline=\"{}\",from=\"{}\",to=\"{}\",port=\"{}\",kind=\"{kind}\"}} {}",
                overview.summary.name,
                edge.from,
                edge.to,
                edge.port.as_deref().unwrap_or_default(),
                edge.records
            );
        }
    }
    head(&mut out, "weir_topic_records", "gauge", "Records that a topic keeps.");
    let topics = app.engine.list_topics(None, usize::MAX);
    for topic in &topics {
        let records: u64 =
            topic.partitions.iter().map(|p| p.next.0.saturating_sub(p.first.0)).sum();
        let _ = writeln!(out, "weir_topic_records{{topic=\"{}\"}} {records}", topic.name);
    }
    head(&mut out, "weir_topic_bytes", "gauge", "Bytes of a topic on disk.");
    for topic in &topics {
        let bytes: u64 = topic.partitions.iter().map(|p| p.bytes).sum();
        let _ = writeln!(out, "weir_topic_bytes{{topic=\"{}\"}} {bytes}", topic.name);
    }
    out
}

fn head(out: &mut String, metric: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {metric} {help}\n# TYPE {metric} {kind}");
}
