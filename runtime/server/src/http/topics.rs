//! `/v1/topics`.

use axum::{
    Json, Router,
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::get,
};

use super::{
    App,
    extract::{Path, Query, json, name, page_size},
    limits,
    modules::ListQuery,
    problem::Problem,
};
use crate::wire::topic::{NewTopic, Topic, TopicDetail, TopicList};

pub(super) fn routes() -> Router<App> {
    limits::quick(
        Router::new()
            .route("/v1/topics", get(list))
            .route("/v1/topics/{topic}", get(detail).put(create).delete(remove)),
    )
}

/// Creates a topic.
#[utoipa::path(put, operation_id = "create_topic", path = "/v1/topics/{topic}", tag = "topics", params(("topic" = String, Path)), request_body(content = Option<NewTopic>),
    responses((status = 201, body = TopicDetail), (status = 200, description = "It exists with these settings.", body = TopicDetail),
        (status = 409, description = "It exists with other settings.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn create(
    State(app): State<App>,
    Path(topic): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let topic = name(&topic)?;
    let settings: NewTopic = json(&limits::body(request, limits::SETTINGS).await?)?;
    let (info, new) = app.engine.create_topic(&topic, settings.partitions).await?;
    let status = if new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(TopicDetail::new(&info, users(&app, &topic)))).into_response())
}

/// Lists topics.
#[utoipa::path(get, operation_id = "list_topics", path = "/v1/topics", tag = "topics", params(ListQuery), responses((status = 200, body = TopicList)))]
pub(super) async fn list(
    State(app): State<App>,
    Query(query): Query<ListQuery>,
) -> Result<Json<TopicList>, Problem> {
    let limit = page_size(query.limit, 100)?;
    let after = query.after.as_deref().map(name).transpose()?;
    let found = app.engine.list_topics(after.as_ref(), limit);
    let next =
        (found.len() == limit).then(|| found.last().map(|topic| topic.name.to_string())).flatten();
    Ok(Json(TopicList { topics: found.iter().map(Topic::from).collect(), next }))
}

/// One topic.
#[utoipa::path(get, operation_id = "get_topic", path = "/v1/topics/{topic}", tag = "topics", params(("topic" = String, Path)),
    responses((status = 200, body = TopicDetail), (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn detail(
    State(app): State<App>,
    Path(topic): Path<String>,
) -> Result<Json<TopicDetail>, Problem> {
    let topic = name(&topic)?;
    Ok(Json(TopicDetail::new(&app.engine.topic(&topic)?, users(&app, &topic))))
}

/// Deletes a topic with its records.
#[utoipa::path(delete, operation_id = "delete_topic", path = "/v1/topics/{topic}", tag = "topics", params(("topic" = String, Path)),
    responses((status = 204), (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "Pipelines use it.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn remove(
    State(app): State<App>,
    Path(topic): Path<String>,
) -> Result<StatusCode, Problem> {
    app.engine.delete_topic(&name(&topic)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn users(app: &App, topic: &weir_core::ids::TopicName) -> Vec<String> {
    app.engine.users_of_topic(topic).iter().map(ToString::to_string).collect()
}
