//! `/v1/pipelines/{pipeline}/dead-letters`.

use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    routing::{get, post},
};
use serde::Deserialize;
use utoipa::IntoParams;
use weir_engine::service::DeadLetterQuery;

use super::{
    App,
    extract::{Path, Query, name, page_size},
    limits,
    problem::Problem,
};
use crate::wire::dead_letter::{DeadLetter, DeadLetterList};

pub(super) fn routes() -> Router<App> {
    limits::quick(
        Router::new()
            .route("/v1/pipelines/{pipeline}/dead-letters", get(list))
            .route("/v1/pipelines/{pipeline}/dead-letters/{id}/discard", post(discard)),
    )
}

/// Which dead letters.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Letters {
    /// Only of this operator.
    operator: Option<String>,
    /// `next` of the page before.
    after: Option<String>,
    /// At most so many; default 100, at most 1,000. A page ends sooner where more would
    /// make it larger than 4 MiB.
    limit: Option<u32>,
}

/// Lists dead letters.
#[utoipa::path(get, operation_id = "list_dead_letters", path = "/v1/pipelines/{pipeline}/dead-letters", tag = "dead letters", params(("pipeline" = String, Path), Letters),
    responses((status = 200, body = DeadLetterList), (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn list(
    State(app): State<App>,
    Path(pipeline): Path<String>,
    Query(query): Query<Letters>,
) -> Result<Json<DeadLetterList>, Problem> {
    let limit = page_size(query.limit, 100)?;
    let after = match &query.after {
        Some(cursor) => {
            let (operator, id) =
                cursor.split_once('.').ok_or_else(|| Problem::bad_cursor(cursor))?;
            Some((operator.to_owned(), name(id)?))
        }
        None => None,
    };
    let operator = query.operator.filter(|operator| !operator.is_empty());
    let page = app
        .engine
        .dead_letters(&name(&pipeline)?, DeadLetterQuery { operator, after, limit })
        .await?;
    let last = page.letters.last().filter(|_| page.more);
    let next = last.map(|letter| format!("{}.{}", letter.operator, letter.id));
    Ok(Json(DeadLetterList {
        dead_letters: page.letters.into_iter().map(DeadLetter::from).collect(),
        next,
    }))
}

/// Discards a dead letter: it is gone for good, and a key that it blocks goes on.
#[utoipa::path(post, operation_id = "discard_dead_letter", path = "/v1/pipelines/{pipeline}/dead-letters/{id}/discard", tag = "dead letters",
    params(("pipeline" = String, Path), ("id" = String, Path)),
    responses((status = 204, description = "It is durably gone."), (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn discard(
    State(app): State<App>,
    Path((pipeline, id)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    app.engine.discard(&name(&pipeline)?, name(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}
