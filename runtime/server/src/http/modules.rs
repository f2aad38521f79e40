//! `/v1/modules`.

use axum::{
    Json, Router,
    extract::{FromRequest, Multipart, Request, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    App,
    extract::{Path, Query, media_type, name, page_size},
    limits,
    problem::Problem,
};
use crate::wire::module::{ModuleDetail, ModuleList, ModuleSummary, Report, Stored};

pub(super) fn routes() -> Router<App> {
    let slow =
        Router::new().route("/v1/modules/check", post(check)).route("/v1/modules", post(upload));
    let quick = Router::new()
        .route("/v1/modules", get(list))
        .route("/v1/modules/{name}/{version}", get(detail).delete(remove))
        .route("/v1/modules/{name}/{version}/wasm", get(wasm));
    limits::slow(slow).merge(limits::quick(quick))
}

/// Which name and version the bytes get.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Upload {
    /// The module's name.
    name: Option<String>,
    /// Its version, by semver.
    version: Option<String>,
}

/// A page of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// `next` of the page before.
    pub(super) after: Option<String>,
    /// At most so many; default 100, at most 1,000.
    pub(super) limit: Option<u32>,
}

/// Checks and stores a module.
#[utoipa::path(post, operation_id = "upload_module", path = "/v1/modules", tag = "modules", params(Upload),
    request_body(description = "Bytes of a component, or of a core module with WIT metadata; or a form with the field `module`.", content((Vec<u8> = "application/wasm"), (Vec<u8> = "multipart/form-data"))),
    responses((status = 201, body = Stored), (status = 200, description = "These bytes were stored before under this name and version.", body = Stored),
        (status = 409, description = "The name and version stand for other bytes.", body = Problem, content_type = "application/problem+json"),
        (status = 413, body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "Not accepted: `errors` says why.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn upload(
    State(app): State<App>,
    Query(query): Query<Upload>,
    request: Request,
) -> Result<Response, Problem> {
    let missing = |what: &str| {
        Problem::bad_request(
            "bad-parameter",
            format!("The query needs `{what}`: POST /v1/modules?name=order&version=1.0.0."),
        )
    };
    let module = name(&query.name.ok_or_else(|| missing("name"))?)?;
    let version = version(&query.version.ok_or_else(|| missing("version"))?)?;
    let bytes = module_bytes(request).await?;
    let uploaded = app.engine.upload_module(module, version, bytes).await?;
    let status = if uploaded.new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(Stored::from(uploaded))).into_response())
}

/// Checks a module without storing it.
#[utoipa::path(post, operation_id = "check_module", path = "/v1/modules/check", tag = "modules",
    request_body(description = "As for an upload.", content((Vec<u8> = "application/wasm"), (Vec<u8> = "multipart/form-data"))),
    responses((status = 200, description = "The report; `ok` says whether it would be accepted.", body = Report),
        (status = 413, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn check(
    State(app): State<App>,
    request: Request,
) -> Result<Json<serde_json::Value>, Problem> {
    let bytes = module_bytes(request).await?;
    Ok(Json(app.engine.check_module(bytes).await?))
}

/// Lists modules.
#[utoipa::path(get, operation_id = "list_modules", path = "/v1/modules", tag = "modules", params(ListQuery), responses((status = 200, body = ModuleList)))]
pub(super) async fn list(
    State(app): State<App>,
    Query(query): Query<ListQuery>,
) -> Result<Json<ModuleList>, Problem> {
    let limit = page_size(query.limit, 100)?;
    let after = match &query.after {
        Some(cursor) => {
            let (module, v) = cursor.split_once('@').ok_or_else(|| Problem::bad_cursor(cursor))?;
            Some((name(module)?, version(v)?))
        }
        None => None,
    };
    let modules = app.engine.list_modules(after, limit)?;
    let next = (modules.len() == limit)
        .then(|| modules.last().map(|m| format!("{}@{}", m.name, m.version)))
        .flatten();
    Ok(Json(ModuleList { modules: modules.iter().map(ModuleSummary::from).collect(), next }))
}

/// One module with its report.
#[utoipa::path(get, operation_id = "get_module", path = "/v1/modules/{name}/{version}", tag = "modules", params(("name" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = ModuleDetail), (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn detail(
    State(app): State<App>,
    Path((module, v)): Path<(String, String)>,
) -> Result<Json<ModuleDetail>, Problem> {
    Ok(Json(app.engine.module(&name(&module)?, &version(&v)?)?.into()))
}

/// The bytes as they were uploaded.
#[utoipa::path(get, operation_id = "get_module_bytes", path = "/v1/modules/{name}/{version}/wasm", tag = "modules", params(("name" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = Vec<u8>, content_type = "application/wasm"), (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn wasm(
    State(app): State<App>,
    Path((module, v)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let (digest, bytes) = app.engine.module_bytes(&name(&module)?, &version(&v)?).await?;
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/wasm"));
    if let Ok(etag) = HeaderValue::from_str(&format!("\"{digest}\"")) {
        headers.insert(header::ETAG, etag);
    }
    if let Ok(file) = HeaderValue::from_str(&format!("attachment; filename=\"{module}-{v}.wasm\""))
    {
        headers.insert(header::CONTENT_DISPOSITION, file);
    }
    Ok(response)
}

/// Deletes a module that no pipeline uses.
#[utoipa::path(delete, operation_id = "delete_module", path = "/v1/modules/{name}/{version}", tag = "modules", params(("name" = String, Path), ("version" = String, Path)),
    responses((status = 204), (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "Pipelines use it.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn remove(
    State(app): State<App>,
    Path((module, v)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    app.engine.delete_module(&name(&module)?, &version(&v)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn version(text: &str) -> Result<semver::Version, Problem> {
    text.parse().map_err(|error| {
        Problem::bad_request(
            "bad-version",
            format!("`{text}` is not a version such as `1.0.0`: {error}."),
        )
    })
}

/// The body, or the field `module` of a form.
async fn module_bytes(request: Request) -> Result<Bytes, Problem> {
    if media_type(request.headers()).as_deref() != Some("multipart/form-data") {
        return limits::body(request, limits::MODULE).await;
    }
    let (parts, body) = request.into_parts();
    let type_header = parts.headers.get(header::CONTENT_TYPE).cloned();
    // Boundaries and part headers need some room beside the module.
    let form = limits::Limit { bytes: limits::MODULE.bytes + (64 << 10), ..limits::MODULE };
    let whole = limits::body(Request::from_parts(parts, body), form).await?;
    let mut request = Request::new(axum::body::Body::from(whole));
    request.headers_mut().extend(type_header.map(|value| (header::CONTENT_TYPE, value)));
    request.extensions_mut().insert(axum::extract::DefaultBodyLimit::disable());
    let bad = |error: String| {
        Problem::bad_request("bad-form", format!("The form cannot be read: {error}."))
    };
    let mut form = Multipart::from_request(request, &()).await.map_err(|e| bad(e.body_text()))?;
    while let Some(field) = form.next_field().await.map_err(|e| bad(e.body_text()))? {
        if field.name() == Some("module") {
            let bytes = field.bytes().await.map_err(|e| bad(e.body_text()))?;
            if bytes.len() as u64 > limits::MODULE.bytes {
                return Err(Problem::too_large(limits::MODULE.what, limits::MODULE.bytes));
            }
            return Ok(bytes);
        }
    }
    Err(Problem::bad_request("bad-form", "The form has no field `module`."))
}
