//! Text -> [`Spec`]: what a pipeline file says, before it is known whether the
//! modules and streams that it names exist.
//!
//! The file is YAML 1.2 or JSON. It is read whole: every problem is reported, each
//! with its place, and what could be read is there for the checks of
//! [`graph`](crate::graph), so that a person sees all of it at once. Unknown names
//! are problems. What Weir will do but this version does not is a problem of its
//! own (`not-yet`), and never silently left out.

pub mod diagnostic;
pub mod module_ref;
pub mod settings;
pub mod units;

mod fields;
mod operator;
mod read;
mod source;
mod tree;

#[cfg(test)]
mod tests;

use std::time::Duration;

pub use self::{
    diagnostic::{Diagnostic, Place, Placed, Severity},
    module_ref::ModuleRef,
    settings::{Exhausted, Limits, MissingKey, RetryPolicy, Start, Watermark},
    units::ByteSize,
};
use crate::{
    ids::{NodeId, PipelineName, TopicName},
    pointer::JsonPointer,
};

/// What a pipeline file says.
///
/// A field that is `None` though the file must have it could not be read, and a
/// diagnostic says why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spec {
    /// The pipeline's name.
    pub pipeline: Option<PipelineName>,
    /// In the order of the file.
    pub sources: Vec<SourceSpec>,
    /// In the order of the file.
    pub operators: Vec<OperatorSpec>,
    /// In the order of the file.
    pub sinks: Vec<SinkSpec>,
    /// Names of nodes of which nothing could be read.
    pub unread: Vec<String>,
}

impl Spec {
    /// Topics whose number of partitions the file gives; those of sources first.
    pub fn partitions(&self) -> impl Iterator<Item = (&Placed<TopicName>, &Placed<u32>)> {
        let sources = self
            .sources
            .iter()
            .filter_map(|source| Some((source.topic.as_ref()?, source.partitions.as_ref()?)));
        let sinks = self.sinks.iter().filter_map(|sink| match &sink.to {
            Some(SinkTarget::Topic { topic, partitions }) => Some((topic, partitions.as_ref()?)),
            _ => None,
        });
        sources.chain(sinks)
    }
}

/// A source in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceSpec {
    /// Its name.
    pub id: Placed<NodeId>,
    /// What it reads.
    pub topic: Option<Placed<TopicName>>,
    /// Partitions of a topic that is created for it.
    pub partitions: Option<Placed<u32>>,
    /// Where it begins.
    pub from: Start,
    /// Where the event time is.
    pub timestamp: Option<JsonPointer>,
    /// When no earlier event is to be expected.
    pub watermark: Watermark,
}

/// An operator in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorSpec {
    /// Its name.
    pub id: Placed<NodeId>,
    /// What it runs. `None` also for a built-in operator that is not there yet.
    pub module: Option<Placed<ModuleRef>>,
    /// The streams into it.
    pub inputs: Vec<InputSpec>,
    /// The handler that takes them.
    pub handler: Option<Placed<String>>,
    /// Where the key is in a value.
    pub key: Option<Placed<JsonPointer>>,
    /// What becomes of an event without it. Default: a dead letter.
    pub missing_key: MissingKey,
    /// How many shards it runs as: 1 (default) to 128.
    pub parallelism: u16,
    /// How many invocations may be resident. `None`: the default, 1,024.
    pub concurrency: Option<Placed<u32>>,
    /// How long an unfinished event holds the watermark. Default 30 s.
    pub hold: Duration,
    /// Its configuration.
    pub config: Option<Placed<serde_json::Value>>,
    /// What happens to failed events.
    pub retry: RetryPolicy,
    /// What an instance may use; without memory, the default depends on the
    /// module's language.
    pub limits: LimitsSpec,
}

/// Limits in the file; each `None` is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitsSpec {
    /// See [`Limits::memory`].
    pub memory: Option<ByteSize>,
    /// See [`Limits::cpu`].
    pub cpu: Option<Duration>,
    /// See [`Limits::wall`].
    pub wall: Option<Duration>,
    /// See [`Limits::output`].
    pub output: Option<ByteSize>,
}

/// A sink in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct SinkSpec {
    /// Its name.
    pub id: Placed<NodeId>,
    /// Where it leads. `None` also for a kind that is not there yet.
    pub to: Option<SinkTarget>,
    /// The streams into it.
    pub inputs: Vec<InputSpec>,
}

/// Where a sink leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SinkTarget {
    /// To a topic.
    Topic {
        /// Its name.
        topic: Placed<TopicName>,
        /// Partitions of a topic that is created for it.
        partitions: Option<Placed<u32>>,
    },
    /// Nowhere.
    Discard,
}

/// One stream into a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputSpec {
    /// The handler or input port, where `input` is a mapping.
    pub entry: Option<Placed<String>>,
    /// The stream.
    pub stream: Placed<StreamRef>,
}

/// A stream by name: `orders` or `order.confirmed`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StreamRef {
    /// The source or operator.
    pub node: String,
    /// The output port; `None`: its only one.
    pub port: Option<String>,
}

impl std::fmt::Display for StreamRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.port {
            Some(port) => write!(f, "{}.{port}", self.node),
            None => f.write_str(&self.node),
        }
    }
}

/// What was read, and every problem in it.
#[derive(Clone, Debug)]
pub struct Reading {
    /// As much of it as could be read.
    pub spec: Spec,
    /// In the order of the file. If one of them is an error, the file is refused.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a pipeline file.
#[must_use]
pub fn read(text: &str) -> Reading {
    let mut problems = diagnostic::Problems::default();
    let spec = match tree::parse(text, &mut problems) {
        Some(file) => read::file(&file, &mut problems),
        None => Spec::default(),
    };
    Reading { spec, diagnostics: problems.into_sorted() }
}
