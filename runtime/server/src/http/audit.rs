//! `/v1/pipelines/{pipeline}/audit`.

use axum::{Json, Router, extract::State, routing::get};

use super::{
    App,
    extract::{Path, name},
    limits,
    problem::Problem,
};
use crate::wire::audit::Audit;

pub(super) fn routes() -> Router<App> {
    limits::quick(Router::new().route("/v1/pipelines/{pipeline}/audit", get(audit)))
}

/// What was taken and what became of it, as of the last commit.
#[utoipa::path(get, operation_id = "get_audit", path = "/v1/pipelines/{pipeline}/audit", tag = "pipelines", params(("pipeline" = String, Path)),
    responses((status = 200, body = Audit), (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn audit(
    State(app): State<App>,
    Path(pipeline): Path<String>,
) -> Result<Json<Audit>, Problem> {
    Ok(Json(app.engine.audit(&name(&pipeline)?).await?.into()))
}
