//! A plan as the API shows it.

use serde::Serialize;

use super::{
    Exhausted, KeyRule, MissingKey, NodeKind, Partitioning, Plan, Runs, Sink, Start, TaskPlan,
    Watermark,
};
use crate::{
    ids::{ModuleDigest, NodeId, PipelineName, TopicName},
    spec::units::format_duration,
};

/// Nodes, edges and tasks of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanSummary {
    /// The pipeline.
    pub pipeline: PipelineName,
    /// In topological order.
    pub nodes: Vec<NodeSummary>,
    /// Streams.
    pub edges: Vec<EdgeSummary>,
    /// What runs together.
    pub tasks: Vec<TaskPlan>,
}

/// A node of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeSummary {
    /// Its name in the file.
    pub id: NodeId,
    /// How many shards it has.
    pub shards: u16,
    /// The task that it runs in.
    pub task: u16,
    /// What it is.
    #[serde(flatten)]
    pub kind: KindSummary,
}

/// What a node of a plan is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum KindSummary {
    /// Reads a topic.
    Source {
        /// Which.
        topic: TopicName,
        /// Of a topic that is created for it.
        partitions: u32,
        /// Where it begins.
        from: Start,
        /// Where the event time is.
        #[serde(skip_serializing_if = "Option::is_none")]
        timestamp: Option<String>,
        /// When no earlier event is to be expected.
        watermark: Watermark,
    },
    /// Runs a module.
    Operator {
        /// Name and exact version.
        module: String,
        /// Its bytes.
        digest: ModuleDigest,
        /// What runs of it.
        runs: Runs,
        /// Where the key is.
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// What becomes of an event that has no key there.
        missing_key: MissingKey,
        /// How many invocations may be resident.
        concurrency: u32,
        /// All attempts.
        attempts: u32,
        /// After the last one.
        then: Exhausted,
        /// Of an instance.
        memory: String,
        /// Of a stretch without a pause.
        cpu: String,
    },
    /// Takes what is left over.
    Sink {
        /// Where to; absent: it counts and drops.
        #[serde(skip_serializing_if = "Option::is_none")]
        topic: Option<TopicName>,
        /// Of a topic that is created for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        partitions: Option<u32>,
    },
}

/// A stream of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EdgeSummary {
    /// The producer.
    pub from: NodeId,
    /// Its output.
    pub port: String,
    /// The consumer.
    pub to: NodeId,
    /// The handler or input port that takes it; absent for a sink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// Where the consumer's key is; absent: events keep theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// How an event finds its shard.
    pub partitioning: Partitioning,
}

impl Plan {
    /// The plan as the API shows it.
    #[must_use]
    pub fn summary(&self) -> PlanSummary {
        let id = |index: u16| self.nodes[usize::from(index)].id.clone();
        PlanSummary {
            pipeline: self.pipeline.clone(),
            nodes: self
                .nodes
                .iter()
                .map(|node| NodeSummary {
                    id: node.id.clone(),
                    shards: node.shards,
                    task: node.task,
                    kind: KindSummary::from(&node.kind),
                })
                .collect(),
            edges: self
                .edges
                .iter()
                .map(|edge| EdgeSummary {
                    from: id(edge.from),
                    port: edge.port_name.to_string(),
                    to: id(edge.to),
                    entry: self.entry_name(edge.to, edge.entry).map(str::to_owned),
                    key: match &edge.key {
                        KeyRule::Keep => None,
                        KeyRule::Pointer(pointer) => Some(pointer.to_string()),
                    },
                    partitioning: edge.partitioning,
                })
                .collect(),
            tasks: self.tasks.clone(),
        }
    }

    /// The name of a handler or input port of a node.
    fn entry_name(&self, node: u16, entry: u32) -> Option<&str> {
        let NodeKind::Operator(operator) = &self.nodes.get(usize::from(node))?.kind else {
            return None;
        };
        let entry = entry as usize;
        match operator.runs {
            Runs::Handlers => {
                operator.description.handlers.get(entry).map(|handler| handler.name.as_str())
            }
            Runs::Transform => {
                operator.description.inputs.get(entry).map(|port| port.name.as_str())
            }
        }
    }
}

impl From<&NodeKind> for KindSummary {
    fn from(kind: &NodeKind) -> Self {
        match kind {
            NodeKind::Source(source) => Self::Source {
                topic: source.topic.clone(),
                partitions: source.partitions,
                from: source.from,
                timestamp: source.timestamp.as_ref().map(ToString::to_string),
                watermark: source.watermark,
            },
            NodeKind::Operator(operator) => Self::Operator {
                module: operator.module.to_string(),
                digest: operator.module.digest,
                runs: operator.runs,
                key: operator.key.as_ref().map(ToString::to_string),
                missing_key: operator.missing_key,
                concurrency: operator.concurrency,
                attempts: operator.retry.attempts,
                then: operator.retry.then,
                memory: operator.limits.memory.to_string(),
                cpu: format_duration(operator.limits.cpu),
            },
            NodeKind::Sink(Sink::Topic { topic, partitions }) => {
                Self::Sink { topic: Some(topic.clone()), partitions: Some(*partitions) }
            }
            NodeKind::Sink(Sink::Discard) => Self::Sink { topic: None, partitions: None },
        }
    }
}
