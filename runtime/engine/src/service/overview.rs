//! The graph of a pipeline with its figures, and one line of it for lists.
//!
//! Figures of a domain begin at zero when it is loaded. So that counters never go
//! back over revisions and restarts, those that are committed begin with what the
//! last commit says ([`Base`]).

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use weir_core::{
    ids::{EventTime, PipelineName},
    plan::{ModulePin, NodeKind, Operator, Plan, Runs, Sink},
};

use super::{
    Audit, Engine, Error, blocking,
    pipeline::{Pipeline, PipelineStatus},
    record::{Document, decode},
};
use crate::figures::Snapshot;

/// One line of the list of pipelines.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Its name.
    pub name: PipelineName,
    /// Its revision.
    pub revision: u32,
    /// What it is doing.
    pub status: PipelineStatus,
    /// Why, if there is something to say.
    pub reason: Option<String>,
    /// Records that its sources have read.
    pub records_in: u64,
    /// Records that its sinks have taken.
    pub records_out: u64,
    /// Failed attempts since it was loaded.
    pub errors: u64,
    /// Events given up.
    pub dead_letters: u64,
    /// What the last audit said; nothing before the first.
    pub balanced: Option<bool>,
}

/// Everything about a pipeline at one glance.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    /// The line of the list.
    pub summary: Summary,
    /// The text of its file.
    pub file: Arc<str>,
    /// Its graph.
    pub graph: GraphView,
}

/// A graph with figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphView {
    /// In the order of the streams.
    pub nodes: Vec<NodeView>,
    /// Streams, then calls.
    pub edges: Vec<EdgeView>,
}

/// A source, an operator or a sink.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeView {
    /// Its name.
    pub id: String,
    /// `source`, `operator` or `sink`.
    pub kind: &'static str,
    /// `name@version`, of an operator.
    pub module: Option<String>,
    /// The handlers that streams go to, of an operator that runs handlers.
    pub handler: Option<String>,
    /// The inputs that streams go to, of an operator that runs a transform.
    pub input: Option<String>,
    /// The topic, of a source or a sink.
    pub topic: Option<String>,
    /// Shards.
    pub parallelism: u16,
    /// Records taken in.
    pub records_in: u64,
    /// Records given away.
    pub records_out: u64,
    /// Failed attempts since it was loaded.
    pub errors: u64,
    /// Attempts after the first since it was loaded.
    pub retries: u64,
    /// Events given up.
    pub dead_letters: u64,
    /// Events taken in and not begun.
    pub waiting: u64,
    /// Invocations begun and not ended.
    pub running: u64,
    /// Share of the time of late that it was at work, 0 to 1.
    pub busy: f64,
    /// Is an output without credit, or too much waiting?
    pub blocked: bool,
    /// Of a source: records in its topic that it has not read.
    pub behind: u64,
    /// Instances that live.
    pub instances: u64,
    /// Why it cannot work at present.
    pub error: Option<String>,
}

/// A stream, or calls that were seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeView {
    /// Unique in the graph and stable over revisions.
    pub id: String,
    /// The producer or caller.
    pub from: String,
    /// The consumer or callee.
    pub to: String,
    /// The output, of a stream.
    pub port: Option<String>,
    /// Calls or a stream?
    pub calls: bool,
    /// Events sent, or calls and sends seen since it was loaded.
    pub records: u64,
    /// How full its queues are, 0 to 1.
    pub queue_fill: f64,
}

/// A revision of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisionView {
    /// Its number.
    pub revision: u32,
    /// When it was deployed.
    pub created_at: EventTime,
    /// Is it the deployed one?
    pub current: bool,
    /// The modules that it was applied with.
    pub modules: Vec<ModulePin>,
    /// The text of its file.
    pub file: String,
}

/// What the counters of a pipeline begin with when it is loaded: what its last
/// commit says.
#[derive(Clone, Debug, Default)]
pub(super) struct Base {
    taken: BTreeMap<String, u64>,
    dead_lettered: BTreeMap<String, u64>,
    sent: BTreeMap<(String, String, String), u64>,
}

/// How busy nodes were of late, from counters of busy time.
#[derive(Clone, Debug, Default)]
pub(super) struct BusyShare {
    at: Duration,
    before: Vec<Duration>,
    shares: Vec<f64>,
}

impl Base {
    pub(super) fn of(audit: &Audit) -> Self {
        let mut base = Self::default();
        for operator in &audit.operators {
            base.taken.insert(operator.id.clone(), operator.counts.taken);
            base.dead_lettered.insert(operator.id.clone(), operator.counts.dead_lettered);
        }
        for source in &audit.sources {
            base.taken.insert(source.id.clone(), source.taken);
        }
        for edge in &audit.edges {
            base.sent.insert((edge.from.clone(), edge.port.clone(), edge.to.clone()), edge.sent);
        }
        base
    }

    fn sent(&self, from: &str, port: &str, to: &str) -> u64 {
        self.sent.get(&(from.into(), port.into(), to.into())).copied().unwrap_or(0)
    }

    /// What a node has given away: events to several consumers count once.
    fn given(&self, node: &str) -> u64 {
        let mut ports: BTreeMap<&str, u64> = BTreeMap::new();
        for ((_, port, _), sent) in self.sent.iter().filter(|((from, ..), _)| from == node) {
            let most = ports.entry(port).or_default();
            *most = (*most).max(*sent);
        }
        ports.values().sum()
    }

    /// What has come into a node over its streams.
    fn received(&self, node: &str) -> u64 {
        self.sent.iter().filter(|((.., to), _)| to == node).map(|(_, sent)| sent).sum()
    }
}

impl BusyShare {
    /// The shares over the time since the last sample that is at least half a
    /// second old. `shards` is how many tasks each node has.
    pub(super) fn share(&mut self, now: Duration, busy: &[Duration], shards: &[u16]) -> Vec<f64> {
        let passed = now.saturating_sub(self.at);
        if passed >= Duration::from_millis(500) || self.before.len() != busy.len() {
            self.shares = busy
                .iter()
                .enumerate()
                .map(|(i, busy)| {
                    let Some(before) = self.before.get(i) else { return 0.0 };
                    let tasks = f64::from(shards.get(i).copied().unwrap_or(1).max(1));
                    (busy.saturating_sub(*before).as_secs_f64() / (passed.as_secs_f64() * tasks))
                        .clamp(0.0, 1.0)
                })
                .collect();
            self.before = busy.to_vec();
            self.at = now;
        }
        self.shares.clone()
    }
}

impl Engine {
    /// All pipelines after `after`, by name, at most `limit`.
    #[must_use]
    pub fn list_pipelines(&self, after: Option<&PipelineName>, limit: usize) -> Vec<Summary> {
        let all = self.all();
        let wanted = all.iter().filter(|pipeline| after.is_none_or(|after| pipeline.name > *after));
        wanted
            .filter_map(|pipeline| self.look(pipeline).map(|overview| overview.summary))
            .take(limit)
            .collect()
    }

    /// One pipeline.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn overview(&self, name: &PipelineName) -> Result<Overview, Error> {
        self.look(&*self.pipeline(name)?).ok_or_else(|| Error::not_found("pipeline", name))
    }

    /// All revisions of a pipeline, the oldest first.
    ///
    /// # Errors
    /// [`Error::NotFound`], or of the store.
    pub async fn revisions(&self, name: &PipelineName) -> Result<Vec<RevisionView>, Error> {
        let current = self.pipeline(name)?.deployed()?.number;
        let (registry, name) = (self.registry.clone(), name.clone());
        let view = move |revision: weir_store::Revision| {
            let document: Document = decode("a revision", &revision.document)?;
            Ok(RevisionView {
                revision: revision.revision,
                created_at: revision.created,
                current: revision.revision == current,
                modules: document.pins,
                file: document.file,
            })
        };
        blocking(move || registry.revisions(&name)?.into_iter().map(view).collect()).await?
    }

    /// Every pipeline.
    #[must_use]
    pub fn overviews(&self) -> Vec<Overview> {
        self.all().iter().filter_map(|pipeline| self.look(pipeline)).collect()
    }

    fn look(&self, pipeline: &Pipeline) -> Option<Overview> {
        let revision = pipeline.revision()?;
        let (status, reason) = pipeline.status();
        let (base, snapshot, busy) = pipeline.figures(self.clock.now());
        let graph = revision
            .plan
            .as_ref()
            .map(|plan| graph(plan, &base, snapshot.as_ref(), &busy))
            .unwrap_or_default();
        let sum = |of: fn(&NodeView) -> u64| graph.nodes.iter().map(of).sum();
        let of_kind = |kind: &'static str| graph.nodes.iter().filter(move |node| node.kind == kind);
        let summary = Summary {
            name: pipeline.name.clone(),
            revision: revision.number,
            status,
            reason,
            records_in: of_kind("source").map(|node| node.records_in).sum(),
            records_out: of_kind("sink").map(|node| node.records_in).sum(),
            errors: sum(|node| node.errors),
            dead_letters: sum(|node| node.dead_letters),
            balanced: pipeline.balanced(),
        };
        Some(Overview { summary, file: revision.file, graph })
    }
}

/// The picture of a plan; without a snapshot, with the committed figures only.
pub(super) fn graph(
    plan: &Plan,
    base: &Base,
    snapshot: Option<&Snapshot>,
    busy: &[f64],
) -> GraphView {
    let id = |index: u16| {
        plan.nodes.get(usize::from(index)).map_or_else(String::new, |node| node.id.to_string())
    };
    let mut nodes: Vec<_> = plan
        .nodes
        .iter()
        .enumerate()
        .map(|(i, node)| {
            let name = node.id.to_string();
            let live = snapshot.and_then(|s| s.nodes.get(i)).cloned().unwrap_or_default();
            let view = NodeView {
                parallelism: node.shards,
                records_out: base.given(&name) + live.records_out,
                errors: live.errors,
                retries: live.retries,
                dead_letters: base.dead_lettered.get(&name).copied().unwrap_or(0)
                    + live.dead_letters,
                waiting: live.waiting,
                running: live.running,
                busy: busy.get(i).copied().unwrap_or(0.0),
                blocked: live.blocked,
                behind: live.behind,
                instances: live.instances,
                error: live.error,
                ..NodeView::default()
            };
            let taken = base.taken.get(&name).copied().unwrap_or(0);
            let view = match &node.kind {
                NodeKind::Source(source) => NodeView {
                    kind: "source",
                    topic: Some(source.topic.to_string()),
                    records_in: taken + live.records_in,
                    ..view
                },
                NodeKind::Operator(operator) => {
                    let entries = entries(plan, node.index, operator);
                    let (handler, input) = match operator.runs {
                        Runs::Handlers => (entries, None),
                        Runs::Transform => (None, entries),
                    };
                    NodeView {
                        kind: "operator",
                        module: Some(operator.module.to_string()),
                        handler,
                        input,
                        records_in: taken + live.records_in,
                        ..view
                    }
                }
                NodeKind::Sink(sink) => NodeView {
                    kind: "sink",
                    topic: match sink {
                        Sink::Topic { topic, .. } => Some(topic.to_string()),
                        Sink::Discard => None,
                    },
                    records_in: base.received(&name) + live.records_in,
                    ..view
                },
            };
            NodeView { id: name, ..view }
        })
        .collect();
    for node in nodes.iter_mut().filter(|node| node.kind == "sink") {
        node.records_out = node.records_out.max(node.records_in);
    }
    let streams = plan.edges.iter().enumerate().map(|(i, edge)| {
        let live = snapshot.and_then(|s| s.edges.get(i)).cloned().unwrap_or_default();
        let (from, to, port) = (id(edge.from), id(edge.to), edge.port_name.to_string());
        EdgeView {
            id: format!("{from}.{port}->{to}"),
            records: base.sent(&from, &port, &to) + live.records,
            queue_fill: live.queue_fill,
            from,
            to,
            port: Some(port),
            calls: false,
        }
    });
    let seen = snapshot.into_iter().flat_map(|s| &s.calls);
    let calls =
        seen.filter(|(from, ..)| usize::from(*from) < plan.nodes.len()).map(|(from, to, n)| {
            let (from, to) = (id(*from), id(*to));
            EdgeView {
                id: format!("{from}=>{to}"),
                from,
                to,
                calls: true,
                records: *n,
                ..EdgeView::default()
            }
        });
    GraphView { edges: streams.chain(calls).collect(), nodes }
}

/// The handlers or inputs of an operator that streams go to.
fn entries(plan: &Plan, node: u16, operator: &Operator) -> Option<String> {
    let mut names: Vec<&str> = plan
        .inputs_of(node)
        .filter_map(|edge| {
            let entry = edge.entry as usize;
            match operator.runs {
                Runs::Handlers => {
                    operator.description.handlers.get(entry).map(|handler| handler.name.as_str())
                }
                Runs::Transform => {
                    operator.description.inputs.get(entry).map(|port| port.name.as_str())
                }
            }
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests;
