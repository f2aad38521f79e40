//! The API's description, by OpenAPI 3.1, at `/openapi.json`.

use axum::{Json, Router, routing::get};
use utoipa::{
    Modify, OpenApi,
    openapi::{ContentBuilder, Ref, Response, ResponseBuilder},
};

use super::{
    App, audit, calls, dead_letters, live, metrics, modules, pipelines, records, state, topics,
};
use crate::wire::live::Lifecycle;

#[derive(OpenApi)]
#[openapi(
    modifiers(&Problems),
    info(title = "Weir", description = "User functions over streams: modules, pipelines, topics.", license(name = "Apache-2.0")),
    paths(
        modules::upload, modules::check, modules::list, modules::detail, modules::wasm, modules::remove,
        pipelines::apply, pipelines::list, pipelines::detail, pipelines::revisions, pipelines::pause,
        pipelines::resume, pipelines::stop, pipelines::remove,
        topics::create, topics::list, topics::detail, topics::remove,
        records::append, records::read,
        calls::call, calls::send, calls::status, calls::cancel,
        state::list, state::of_key,
        dead_letters::list, dead_letters::discard,
        audit::audit, live::live, metrics::healthz, metrics::readyz, metrics::metrics,
    ),
    components(schemas(Lifecycle)),
    tags(
        (name = "modules", description = "Immutable WebAssembly components, by name and version."),
        (name = "pipelines", description = "Deploy, watch, pause, resume, stop, delete."),
        (name = "topics", description = "Durable logs of records."),
        (name = "calls", description = "Calls and sends to handlers."),
        (name = "state", description = "Keyed state, as of the last commit."),
        (name = "dead letters", description = "Events that exhausted their attempts."),
        (name = "live", description = "Figures and events as they come."),
        (name = "health", description = "For those who operate it."),
    )
)]
struct Api;

/// Whatever is not named with an operation is a problem document too: limits of
/// size (413) and rate (429), a server that stops (503), a full disk (507).
struct Problems;

impl Modify for Problems {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        for item in api.paths.paths.values_mut() {
            let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete];
            for operation in operations.into_iter().flatten() {
                operation.responses.responses.insert("default".into(), problem().into());
            }
        }
    }
}

fn problem() -> Response {
    let body = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    ResponseBuilder::new()
        .description(
            "Any other problem: too large (413), too many (429), stopping (503), no space (507).",
        )
        .content("application/problem+json", body)
        .build()
}

/// The document.
#[must_use]
pub fn document() -> utoipa::openapi::OpenApi {
    Api::openapi()
}

pub(super) fn routes() -> Router<App> {
    Router::new().route("/openapi.json", get(|| async { Json(document()) }))
}
