//! Pipelines and their graphs.

use serde::Serialize;
use utoipa::ToSchema;
use weir_engine::service::{
    Deployed, EdgeView, GraphView, NodeView, Overview, PipelineStatus, Summary,
};

use crate::http::problem::Detail;

/// One line of the list of pipelines.
#[derive(Debug, Serialize, ToSchema)]
pub struct PipelineSummary {
    /// Its name.
    pub name: String,
    /// Its revision, from 1.
    pub revision: u32,
    /// What it is doing.
    pub status: Status,
    /// Why, if there is something to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_reason: Option<String>,
    /// Records that its sources have read.
    pub records_in: u64,
    /// Records that its sinks have taken.
    pub records_out: u64,
    /// Failed attempts since it was loaded.
    pub errors: u64,
    /// Events given up.
    pub dead_letters: u64,
    /// Did everything add up when it was last audited? Absent before that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balanced: Option<bool>,
}

/// A page of pipelines.
#[derive(Debug, Serialize, ToSchema)]
pub struct PipelineList {
    /// By name.
    pub pipelines: Vec<PipelineSummary>,
    /// Give it as `after` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What a pipeline is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It takes in what comes.
    Running,
    /// It takes nothing in and keeps everything.
    Paused,
    /// It is not loaded.
    Stopped,
    /// Its sources have ended and everything is worked off.
    Finished,
    /// It cannot go on by itself.
    Failed,
}

/// A pipeline.
#[derive(Debug, Serialize, ToSchema)]
pub struct Pipeline {
    /// Its name.
    pub name: String,
    /// Its revision, from 1.
    pub revision: u32,
    /// What it is doing.
    pub status: Status,
    /// Why, if there is something to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_reason: Option<String>,
    /// Did everything add up when it was last audited? Absent before that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balanced: Option<bool>,
    /// The text of the pipeline file of this revision.
    pub file: String,
    /// Its graph with live figures.
    pub graph: Graph,
}

/// Nodes and edges.
#[derive(Debug, Serialize, ToSchema)]
pub struct Graph {
    /// In the order of the streams.
    pub nodes: Vec<Node>,
    /// Streams, then calls that were seen.
    pub edges: Vec<Edge>,
}

/// A source, an operator or a sink.
#[derive(Debug, Serialize, ToSchema)]
pub struct Node {
    /// Its name in the file.
    pub id: String,
    /// `source`, `operator` or `sink`.
    pub kind: &'static str,
    /// Name and version, of an operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The handler that its streams go to, of an operator that runs handlers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handler: Option<String>,
    /// The input that its streams go to, of an operator that runs a transform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Of a source or sink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// Shards.
    pub parallelism: u16,
    /// Records taken in, over all revisions.
    pub records_in: u64,
    /// Records given away, over all revisions.
    pub records_out: u64,
    /// Failed attempts since it was loaded.
    pub errors: u64,
    /// Attempts after the first since it was loaded.
    pub retries: u64,
    /// Events given up, over all revisions.
    pub dead_letters: u64,
    /// Events taken in and not begun.
    pub waiting: u64,
    /// Invocations begun and not ended.
    pub running: u64,
    /// Share of the last second spent at work, 0 to 1.
    pub busy: f64,
    /// Is an output without credit, or too much waiting?
    pub blocked: bool,
    /// Of a source: records that it has not read yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind: Option<u64>,
    /// Of an operator: instances that live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instances: Option<u64>,
    /// Why it cannot work at present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A stream, or calls that were seen.
#[derive(Debug, Serialize, ToSchema)]
pub struct Edge {
    /// Unique in the graph and stable over revisions.
    pub id: String,
    /// The producer or caller.
    pub from: String,
    /// The consumer or callee.
    pub to: String,
    /// The producer's output, of a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// `stream`; or `call`, for calls and sends together.
    pub kind: &'static str,
    /// Events sent, or calls and sends seen.
    pub records: u64,
    /// How full its queues are, 0 to 1.
    pub queue_fill: f64,
}

/// A file that was deployed, or would be.
#[derive(Debug, Serialize, ToSchema)]
pub struct Applied {
    /// The pipeline.
    pub name: String,
    /// Its revision.
    pub revision: u32,
    /// What it is doing.
    pub status: Status,
    /// What runs.
    pub plan: PlanOut,
    /// What may not be as it was meant.
    pub warnings: Vec<Detail>,
    /// What is dropped with operators that are not in the file, or would be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<Dropped>,
}

/// What an operator held that is gone.
#[derive(Debug, Serialize, ToSchema)]
pub struct Dropped {
    /// The operator.
    pub operator: String,
    /// In words: `state`, `events that wait`, `sends that are not delivered`,
    /// `dead letters`.
    pub holds: Vec<&'static str>,
}

/// What a file means.
#[derive(Debug, Serialize, ToSchema)]
pub struct PlanOut {
    /// Its graph, without figures.
    pub graph: Graph,
}

impl From<PipelineStatus> for Status {
    fn from(status: PipelineStatus) -> Self {
        match status {
            PipelineStatus::Running => Self::Running,
            PipelineStatus::Paused => Self::Paused,
            PipelineStatus::Stopped => Self::Stopped,
            PipelineStatus::Finished => Self::Finished,
            PipelineStatus::Failed => Self::Failed,
        }
    }
}

impl From<Summary> for PipelineSummary {
    fn from(summary: Summary) -> Self {
        Self {
            name: summary.name.to_string(),
            revision: summary.revision,
            status: summary.status.into(),
            status_reason: summary.reason,
            records_in: summary.records_in,
            records_out: summary.records_out,
            errors: summary.errors,
            dead_letters: summary.dead_letters,
            balanced: summary.balanced,
        }
    }
}

impl From<Overview> for Pipeline {
    fn from(overview: Overview) -> Self {
        Self {
            name: overview.summary.name.to_string(),
            revision: overview.summary.revision,
            status: overview.summary.status.into(),
            status_reason: overview.summary.reason,
            balanced: overview.summary.balanced,
            file: overview.file.to_string(),
            graph: (&overview.graph).into(),
        }
    }
}

impl From<&GraphView> for Graph {
    fn from(graph: &GraphView) -> Self {
        Self {
            nodes: graph.nodes.iter().map(Node::from).collect(),
            edges: graph.edges.iter().map(Edge::from).collect(),
        }
    }
}

impl From<&NodeView> for Node {
    fn from(node: &NodeView) -> Self {
        Self {
            id: node.id.clone(),
            kind: node.kind,
            module: node.module.clone(),
            handler: node.handler.clone(),
            input: node.input.clone(),
            topic: node.topic.clone(),
            parallelism: node.parallelism,
            records_in: node.records_in,
            records_out: node.records_out,
            errors: node.errors,
            retries: node.retries,
            dead_letters: node.dead_letters,
            waiting: node.waiting,
            running: node.running,
            busy: (node.busy * 1_000.0).round() / 1_000.0,
            blocked: node.blocked,
            behind: (node.kind == "source").then_some(node.behind),
            instances: (node.kind == "operator").then_some(node.instances),
            error: node.error.clone(),
        }
    }
}

impl From<&EdgeView> for Edge {
    fn from(edge: &EdgeView) -> Self {
        Self {
            id: edge.id.clone(),
            from: edge.from.clone(),
            to: edge.to.clone(),
            port: edge.port.clone(),
            kind: if edge.calls { "call" } else { "stream" },
            records: edge.records,
            queue_fill: (edge.queue_fill * 1_000.0).round() / 1_000.0,
        }
    }
}

impl From<Deployed> for Applied {
    fn from(deployed: Deployed) -> Self {
        Self {
            name: deployed.name.to_string(),
            revision: deployed.revision,
            status: deployed.status.into(),
            plan: PlanOut { graph: (&deployed.graph).into() },
            warnings: deployed.warnings.into_iter().map(Detail::from).collect(),
            dropped: deployed
                .dropped
                .into_iter()
                .map(|orphan| Dropped {
                    operator: orphan.operator.to_string(),
                    holds: orphan.holds,
                })
                .collect(),
        }
    }
}

/// Revisions of a pipeline.
#[derive(Debug, Serialize, ToSchema)]
pub struct RevisionList {
    /// The oldest first.
    pub revisions: Vec<Revision>,
}

/// One of them.
#[derive(Debug, Serialize, ToSchema)]
pub struct Revision {
    /// Its number, from 1.
    pub revision: u32,
    /// Milliseconds since the Unix epoch.
    pub created_at: i64,
    /// Is it the one that is deployed?
    pub current: bool,
    /// Modules that it was applied with, as name and version.
    pub modules: Vec<String>,
    /// The text of its file.
    pub file: String,
}

impl From<weir_engine::service::RevisionView> for Revision {
    fn from(view: weir_engine::service::RevisionView) -> Self {
        Self {
            revision: view.revision,
            created_at: view.created_at.0,
            current: view.current,
            modules: view.modules.iter().map(ToString::to_string).collect(),
            file: view.file,
        }
    }
}
