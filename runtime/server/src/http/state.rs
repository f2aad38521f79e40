//! `/v1/pipelines/{pipeline}/operators/{operator}/state`: keyed state, as of the
//! last commit.

use axum::{
    Json, Router,
    extract::{OriginalUri, State},
    routing::get,
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use serde::Deserialize;
use utoipa::IntoParams;
use weir_engine::service::StateQuery;

use super::{
    App,
    extract::{Path, Query, last_segment, name, page_size, query_bytes},
    limits,
    problem::Problem,
};
use crate::wire::state::{StateList, StateOfKey};

pub(super) fn routes() -> Router<App> {
    const STATE: &str = "/v1/pipelines/{pipeline}/operators/{operator}/state";
    limits::quick(
        Router::new()
            .route(STATE, get(list))
            .route(&format!("{STATE}/"), get(of_empty_key))
            .route(&format!("{STATE}/{{key}}"), get(of_key)),
    )
}

/// Which keys.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Keys {
    /// Only this cell.
    cell: Option<String>,
    /// Only keys that begin so.
    #[serde(rename = "prefix")]
    #[param(rename = "prefix")]
    _prefix: Option<String>,
    /// `next` of the page before.
    after: Option<String>,
    /// At most so many keys; default 100, at most 1,000. A page ends sooner where more
    /// would make it larger than 4 MiB.
    limit: Option<u32>,
}

/// Keys that have state.
#[utoipa::path(get, operation_id = "list_state", path = "/v1/pipelines/{pipeline}/operators/{operator}/state", tag = "state",
    params(("pipeline" = String, Path), ("operator" = String, Path), Keys),
    responses((status = 200, body = StateList), (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn list(
    State(app): State<App>,
    Path((pipeline, operator)): Path<(String, String)>,
    Query(query): Query<Keys>,
    OriginalUri(uri): OriginalUri,
) -> Result<Json<StateList>, Problem> {
    let limit = page_size(query.limit, 100)?;
    let after = match &query.after {
        Some(cursor) => {
            let key =
                BASE64_URL_SAFE_NO_PAD.decode(cursor).map_err(|_| Problem::bad_cursor(cursor))?;
            Some(Bytes::from(key))
        }
        None => None,
    };
    let prefix = query_bytes(&uri, "prefix").unwrap_or_default();
    let query =
        StateQuery { cell: query.cell.filter(|cell| !cell.is_empty()), prefix, after, limit };
    let page = app.engine.state(&name(&pipeline)?, &operator, query).await?;
    let last = page.keys.last().filter(|_| page.more);
    let next = last.map(|last| BASE64_URL_SAFE_NO_PAD.encode(&last.key));
    Ok(Json(StateList { keys: page.keys.into_iter().map(StateOfKey::from).collect(), next }))
}

/// The state of one key; without cells if it has none.
#[utoipa::path(get, operation_id = "get_state", path = "/v1/pipelines/{pipeline}/operators/{operator}/state/{key}", tag = "state",
    params(("pipeline" = String, Path), ("operator" = String, Path), ("key" = String, Path, description = "Percent-encoded; any bytes.")),
    responses((status = 200, body = StateOfKey), (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn of_key(
    State(app): State<App>,
    // The key may be no text: all is taken from the address itself.
    OriginalUri(uri): OriginalUri,
) -> Result<Json<StateOfKey>, Problem> {
    let mut parts = uri.path().rsplit('/');
    let _ = parts.next();
    let _ = parts.next();
    let operator = parts.next().unwrap_or_default();
    let _ = parts.next();
    let pipeline = parts.next().unwrap_or_default();
    Ok(Json(app.engine.state_of_key(&name(pipeline)?, operator, last_segment(&uri)).await?.into()))
}

async fn of_empty_key(
    State(app): State<App>,
    Path((pipeline, operator)): Path<(String, String)>,
) -> Result<Json<StateOfKey>, Problem> {
    Ok(Json(app.engine.state_of_key(&name(&pipeline)?, &operator, Bytes::new()).await?.into()))
}
