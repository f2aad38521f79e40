//! What the engine runs: nodes, edges and tasks with every setting resolved.
//!
//! A [`Plan`] is made from a checked [`Graph`](crate::graph::Graph) and nothing in
//! it is checked again. It is plain data; all indexes are positions in its own
//! lists.
//!
//! # Shards
//! An operator has as many shards as its `parallelism`. A source has one for each
//! of its partitions, but no more than its widest consumer; shard `s` of `n` reads
//! the partitions `p` with `p % n == s`. A sink has those of its producers.
//!
//! # Fusion
//! Nodes of one task run one after another without a queue between them. Shard `s`
//! of each node of a task runs in shard `s` of the task. A consumer joins the task
//! of its producer by the first row that fits:
//!
//! | consumer | its inputs | and | joins |
//! |---|---|---|---|
//! | sink | all from nodes of one task | | yes: it needs no key |
//! | operator | one edge from an operator | both have one shard | yes |
//! | operator | one edge from a source | it has one shard and no `key` of its own | yes |
//! | anything else | | | no |
//!
//! An operator with several shards joins nobody: its producer may give events any
//! key, and an event must run in the shard that owns its key's group, where its
//! retries and dead letters are stored. An operator that re-keys the events of a
//! source stays apart so that reading keys and running code use two cores.

mod build;
mod summary;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

pub use self::summary::{EdgeSummary, KindSummary, NodeSummary, PlanSummary};
pub use crate::spec::settings::{Exhausted, Limits, MissingKey, RetryPolicy, Start, Watermark};
use crate::{
    description::Description,
    ids::{ModuleDigest, ModuleName, NodeId, PipelineName, TopicName},
    pointer::JsonPointer,
};

/// All that the engine needs to run a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The pipeline.
    pub pipeline: PipelineName,
    /// In topological order of the streams: an edge leads from a lower index to a
    /// higher one.
    pub nodes: Vec<Node>,
    /// Ascending by producer, then port, then consumer.
    pub edges: Vec<Edge>,
    /// Every node is in exactly one.
    pub tasks: Vec<TaskPlan>,
}

/// A source, an operator or a sink.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its position in [`Plan::nodes`].
    pub index: u16,
    /// Its name in the file.
    pub id: NodeId,
    /// How many shards it has; at least 1.
    pub shards: u16,
    /// The number of its shard 0 when all shards of all nodes are counted through:
    /// `first_unit + shard` is unique in the plan.
    pub first_unit: u16,
    /// The task that it runs in.
    pub task: u16,
    /// What it is.
    pub kind: NodeKind,
}

/// What a node is, with its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// Reads a topic.
    Source(Source),
    /// Runs a module.
    Operator(Box<Operator>),
    /// Takes what is left over.
    Sink(Sink),
}

/// Reads a topic.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The topic; created at apply if it is missing.
    pub topic: TopicName,
    /// How many partitions the topic is created with. One that exists keeps its
    /// own number.
    pub partitions: u32,
    /// Where to begin without a committed position.
    pub from: Start,
    /// Where in the value the event time is; `None`: the record's timestamp.
    pub timestamp: Option<JsonPointer>,
    /// When no earlier event is to be expected.
    pub watermark: Watermark,
}

/// Runs a module.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// The module, pinned.
    pub module: ModulePin,
    /// What the module says of itself.
    pub description: Arc<Description>,
    /// Which face takes the events: decides what [`Edge::entry`] means.
    pub runs: Runs,
    /// Where the key is in the value of an event, and of a call that names none.
    pub key: Option<JsonPointer>,
    /// What becomes of an event that has no key there.
    pub missing_key: MissingKey,
    /// How many invocations may be resident in all shards together; at least 1.
    pub concurrency: u32,
    /// How long an unfinished event holds the output watermark.
    pub hold: Duration,
    /// The configuration as JSON text; `None` is none, which a guest reads as
    /// `null`.
    pub config: Option<Arc<str>>,
    /// Retries.
    pub retry: RetryPolicy,
    /// Limits of each instance.
    pub limits: Limits,
}

/// A module version and the bytes that it stood for when the file was applied.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ModulePin {
    /// Its name.
    pub name: ModuleName,
    /// Its exact version.
    pub version: semver::Version,
    /// Its bytes.
    pub digest: ModuleDigest,
}

impl std::fmt::Display for ModulePin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

/// The face of a module that an operator runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Runs {
    /// Batches of events; takes no calls.
    Transform,
    /// Invocations.
    Handlers,
}

/// Takes what is left over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sink {
    /// Appends to a topic.
    Topic {
        /// The topic; created at apply if it is missing.
        topic: TopicName,
        /// How many partitions it is created with. One that exists keeps its own
        /// number.
        partitions: u32,
    },
    /// Counts and drops.
    Discard,
}

/// A stream from one node to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// Its position in [`Plan::edges`].
    pub index: u16,
    /// Index of the producer.
    pub from: u16,
    /// Which of the producer's outputs; 0 for a source.
    pub port: u8,
    /// Name of that output; `out` for a source.
    pub port_name: Arc<str>,
    /// Index of the consumer.
    pub to: u16,
    /// What the consumer takes it with: the index of a handler
    /// ([`Runs::Handlers`]), of an input port ([`Runs::Transform`]), or 0 (a sink).
    pub entry: u32,
    /// The key under which the consumer sees the event.
    pub key: KeyRule,
    /// How an event finds the shard of the consumer.
    pub partitioning: Partitioning,
}

/// The key under which a consumer sees an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyRule {
    /// The one that it has.
    Keep,
    /// The one that the value has here. What becomes of an event without one is the
    /// consumer's [`Operator::missing_key`].
    Pointer(JsonPointer),
}

/// How an event finds the shard of the consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Partitioning {
    /// Both nodes are in one task: it stays in its shard.
    Forward,
    /// Through a queue, to the shard that owns the key's group (without a key:
    /// that of the empty key). For a sink too, so that the order of a key holds.
    Hash,
}

/// Nodes that run as one task per shard.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TaskPlan {
    /// Its position in [`Plan::tasks`].
    pub index: u16,
    /// Indexes of its nodes, ascending: a tree whose edges are the [`Edge`]s with
    /// [`Partitioning::Forward`].
    pub nodes: Vec<u16>,
    /// How many shards each of them has.
    pub shards: u16,
}

impl Plan {
    /// The node of this name.
    #[must_use]
    pub fn node(&self, id: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id.as_str() == id)
    }

    /// The streams into a node.
    pub fn inputs_of(&self, node: u16) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |edge| edge.to == node)
    }

    /// The streams out of a node.
    pub fn outputs_of(&self, node: u16) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |edge| edge.from == node)
    }

    /// The operators, in order.
    pub fn operators(&self) -> impl Iterator<Item = (&Node, &Operator)> {
        self.nodes.iter().filter_map(|node| match &node.kind {
            NodeKind::Operator(operator) => Some((node, &**operator)),
            _ => None,
        })
    }
}
