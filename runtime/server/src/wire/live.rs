//! Live figures and lifecycle events.

use serde::Serialize;
use utoipa::ToSchema;
use weir_engine::service::{Figures as Sample, Lifecycle as Happened, Overview};

use super::pipeline::{Graph, Status};

/// Event `figures`: all pipelines, once a second.
#[derive(Debug, Serialize, ToSchema)]
pub struct Figures {
    /// Milliseconds since the Unix epoch.
    pub at: i64,
    /// Every pipeline.
    pub pipelines: Vec<LivePipeline>,
}

/// A pipeline at that moment.
#[derive(Debug, Serialize, ToSchema)]
pub struct LivePipeline {
    /// Its name.
    pub name: String,
    /// What it is doing.
    pub status: Status,
    /// Why, if there is something to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_reason: Option<String>,
    /// Its revision.
    pub revision: u32,
    /// Its nodes and edges.
    #[serde(flatten)]
    pub graph: Graph,
}

/// Event `lifecycle`: something happened to a pipeline.
#[derive(Debug, Serialize, ToSchema)]
pub struct Lifecycle {
    /// Ascending; begins anew when the server does.
    pub id: u64,
    /// Milliseconds since the Unix epoch.
    pub at: i64,
    /// To which.
    pub pipeline: String,
    /// What: `deployed`, `started`, `paused`, `resumed`, `stopped`, `failed`,
    /// `deleted`, `discarded`, ..
    pub what: &'static str,
    /// For people.
    pub message: String,
}

impl From<&Sample> for Figures {
    fn from(sample: &Sample) -> Self {
        Self {
            at: sample.at.0,
            pipelines: sample.pipelines.iter().map(LivePipeline::from).collect(),
        }
    }
}

impl From<&Overview> for LivePipeline {
    fn from(overview: &Overview) -> Self {
        Self {
            name: overview.summary.name.to_string(),
            status: overview.summary.status.into(),
            status_reason: overview.summary.reason.clone(),
            revision: overview.summary.revision,
            graph: (&overview.graph).into(),
        }
    }
}

impl From<&Happened> for Lifecycle {
    fn from(event: &Happened) -> Self {
        Self {
            id: event.id,
            at: event.at.0,
            pipeline: event.pipeline.to_string(),
            what: event.what,
            message: event.message.clone(),
        }
    }
}
