//! `/v1/pipelines`.

use axum::{
    Json, Router,
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::Deserialize;
use utoipa::IntoParams;
use weir_engine::service::{OnOrphans, StateAtDelete};

use super::{
    App,
    extract::{Path, Query, name, page_size},
    limits,
    modules::ListQuery,
    problem::{Detail, Problem},
};
use crate::wire::pipeline::{
    Applied, Pipeline, PipelineList, PipelineSummary, Revision, RevisionList,
};

pub(super) fn routes() -> Router<App> {
    let slow = Router::new()
        .route("/v1/pipelines/{pipeline}", axum::routing::put(apply).delete(remove))
        .route("/v1/pipelines/{pipeline}/pause", post(pause))
        .route("/v1/pipelines/{pipeline}/resume", post(resume))
        .route("/v1/pipelines/{pipeline}/stop", post(stop));
    let quick = Router::new()
        .route("/v1/pipelines", get(list))
        .route("/v1/pipelines/{pipeline}", get(detail))
        .route("/v1/pipelines/{pipeline}/revisions", get(revisions));
    limits::slow(slow).merge(limits::quick(quick))
}

/// How a file is applied.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Apply {
    /// Check the file and change nothing.
    dry_run: Option<bool>,
    /// `drop`: what operators hold that are not in the file any more is removed, with
    /// their dead letters. Without it such a file is refused.
    state: Option<String>,
}

/// What becomes of the state.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Delete {
    /// `keep` (default): for a pipeline of the same name. `drop`: it is removed.
    state: Option<String>,
}

/// Deploys a pipeline file, or checks it.
#[utoipa::path(put, operation_id = "apply_pipeline", path = "/v1/pipelines/{pipeline}", tag = "pipelines", params(("pipeline" = String, Path), Apply),
    request_body(description = "The pipeline file, in YAML or JSON.", content((String = "application/yaml"), (serde_json::Value = "application/json"))),
    responses((status = 201, description = "The pipeline is new.", body = Applied), (status = 200, description = "A new revision, the same as before, or a dry run.", body = Applied),
        (status = 409, description = "Operators that are gone from the file hold state.", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "Every problem of the file, in `errors`; or it could not be started.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn apply(
    State(app): State<App>,
    Path(pipeline): Path<String>,
    Query(query): Query<Apply>,
    request: Request,
) -> Result<Response, Problem> {
    let pipeline = name(&pipeline)?;
    let orphans = match query.state.as_deref() {
        None | Some("keep") => OnOrphans::Refuse,
        Some("drop") => OnOrphans::Drop,
        Some(other) => return Err(bad_state(other)),
    };
    let body = limits::body(request, limits::PIPELINE).await?;
    let file = std::str::from_utf8(&body).map_err(|error| not_utf8(&body, &error))?;
    if query.dry_run == Some(true) {
        let planned = app.engine.plan(&pipeline, file, orphans).await?;
        return Ok(Json(Applied::from(planned)).into_response());
    }
    let deployed = app.engine.deploy(&pipeline, file, orphans).await?;
    let status = if deployed.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(Applied::from(deployed))).into_response())
}

/// Lists pipelines.
#[utoipa::path(get, operation_id = "list_pipelines", path = "/v1/pipelines", tag = "pipelines", params(ListQuery), responses((status = 200, body = PipelineList)))]
pub(super) async fn list(
    State(app): State<App>,
    Query(query): Query<ListQuery>,
) -> Result<Json<PipelineList>, Problem> {
    let limit = page_size(query.limit, 100)?;
    let after = query.after.as_deref().map(name).transpose()?;
    let found = app.engine.list_pipelines(after.as_ref(), limit);
    let next = (found.len() == limit).then(|| found.last().map(|p| p.name.to_string())).flatten();
    Ok(Json(PipelineList {
        pipelines: found.into_iter().map(PipelineSummary::from).collect(),
        next,
    }))
}

/// One pipeline with its graph and live figures.
#[utoipa::path(get, operation_id = "get_pipeline", path = "/v1/pipelines/{pipeline}", tag = "pipelines", params(("pipeline" = String, Path)),
    responses((status = 200, body = Pipeline), (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn detail(
    State(app): State<App>,
    Path(pipeline): Path<String>,
) -> Result<Json<Pipeline>, Problem> {
    Ok(Json(app.engine.overview(&name(&pipeline)?)?.into()))
}

/// Its revisions, the oldest first.
#[utoipa::path(get, operation_id = "list_revisions", path = "/v1/pipelines/{pipeline}/revisions", tag = "pipelines", params(("pipeline" = String, Path)),
    responses((status = 200, body = RevisionList), (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn revisions(
    State(app): State<App>,
    Path(pipeline): Path<String>,
) -> Result<Json<RevisionList>, Problem> {
    let revisions = app.engine.revisions(&name(&pipeline)?).await?;
    Ok(Json(RevisionList { revisions: revisions.into_iter().map(Revision::from).collect() }))
}

/// Takes nothing more in and keeps everything.
#[utoipa::path(post, operation_id = "pause_pipeline", path = "/v1/pipelines/{pipeline}/pause", tag = "pipelines", params(("pipeline" = String, Path)),
    responses((status = 200, body = PipelineSummary), (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn pause(
    State(app): State<App>,
    Path(pipeline): Path<String>,
) -> Result<Json<PipelineSummary>, Problem> {
    Ok(Json(app.engine.pause(&name(&pipeline)?).await?.into()))
}

/// Goes on after a pause; loads it after a stop or a failure.
#[utoipa::path(post, operation_id = "resume_pipeline", path = "/v1/pipelines/{pipeline}/resume", tag = "pipelines", params(("pipeline" = String, Path)),
    responses((status = 200, body = PipelineSummary), (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "It could not be started.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn resume(
    State(app): State<App>,
    Path(pipeline): Path<String>,
) -> Result<Json<PipelineSummary>, Problem> {
    Ok(Json(app.engine.resume(&name(&pipeline)?).await?.into()))
}

/// Makes a last commit and unloads it.
#[utoipa::path(post, operation_id = "stop_pipeline", path = "/v1/pipelines/{pipeline}/stop", tag = "pipelines", params(("pipeline" = String, Path)),
    responses((status = 200, body = PipelineSummary), (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn stop(
    State(app): State<App>,
    Path(pipeline): Path<String>,
) -> Result<Json<PipelineSummary>, Problem> {
    Ok(Json(app.engine.stop(&name(&pipeline)?).await?.into()))
}

/// Deletes a stopped pipeline with its revisions.
#[utoipa::path(delete, operation_id = "delete_pipeline", path = "/v1/pipelines/{pipeline}", tag = "pipelines", params(("pipeline" = String, Path), Delete),
    responses((status = 204), (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It is not stopped.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn remove(
    State(app): State<App>,
    Path(pipeline): Path<String>,
    Query(query): Query<Delete>,
) -> Result<StatusCode, Problem> {
    let state = match query.state.as_deref() {
        None | Some("keep") => StateAtDelete::Keep,
        Some("drop") => StateAtDelete::Drop,
        Some(other) => return Err(bad_state(other)),
    };
    app.engine.delete_pipeline(&name(&pipeline)?, state).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn bad_state(text: &str) -> Problem {
    Problem::bad_request("bad-parameter", format!("`state` is `keep` or `drop`, not `{text}`."))
}

fn not_utf8(body: &[u8], error: &std::str::Utf8Error) -> Problem {
    let before = body.get(..error.valid_up_to()).unwrap_or_default();
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count() as u32;
    let message = "The file is not UTF-8 here.".to_owned();
    Problem::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "invalid-pipeline",
        "The pipeline file is not valid",
        format!("Line {line} is not UTF-8."),
    )
    .with_errors(vec![Detail {
        line: Some(line),
        column: Some(1),
        code: "not-utf8".into(),
        message,
        help: Some("save it as UTF-8".into()),
        ..Detail::default()
    }])
}
