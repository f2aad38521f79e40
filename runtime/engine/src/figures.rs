//! Live figures of a running pipeline: what the graph in the browser shows.
//!
//! Written by the tasks without locks, read at any time. They begin at zero when
//! the pipeline is loaded and are for watching; what must add up is in the audit
//! rows, which are committed.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use weir_core::{
    ids::{Epoch, NodeId},
    plan::Plan,
};

/// The figures of one pipeline.
pub struct Figures {
    nodes: Vec<(NodeId, Vec<ShardFigures>)>,
    edges: Vec<EdgeFigures>,
    calls: Mutex<BTreeMap<(u16, u16), u64>>,
    errors: Mutex<BTreeMap<(u16, u16), String>>,
    epoch: AtomicU64,
    commits: AtomicU64,
    commit_nanos: AtomicU64,
}

/// One shard of one node. Counters rise, gauges are set.
#[derive(Default)]
pub(crate) struct ShardFigures {
    pub(crate) records_in: AtomicU64,
    pub(crate) records_out: AtomicU64,
    pub(crate) errors: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) dead_letters: AtomicU64,
    pub(crate) waiting: AtomicU64,
    pub(crate) running: AtomicU64,
    pub(crate) busy_nanos: AtomicU64,
    pub(crate) instances: AtomicU64,
    pub(crate) instantiations: AtomicU64,
    pub(crate) held: AtomicU64,
    pub(crate) full: AtomicU64,
    pub(crate) behind: AtomicU64,
}

/// One stream edge.
#[derive(Default)]
pub(crate) struct EdgeFigures {
    pub(crate) records: AtomicU64,
    pub(crate) queued: AtomicU64,
    pub(crate) capacity: AtomicU64,
}

/// A copy of all figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The last durable epoch.
    pub epoch: Epoch,
    /// Commits since the pipeline was loaded.
    pub commits: u64,
    /// How long the last took, from its barrier until it was durable.
    pub last_commit: Duration,
    /// In the plan's order.
    pub nodes: Vec<NodeSnapshot>,
    /// In the plan's order.
    pub edges: Vec<EdgeSnapshot>,
    /// Calls and sends between operators that were seen, by (caller, callee), as
    /// indexes of nodes; `u16::MAX` is the HTTP ingress.
    pub calls: Vec<(u16, u16, u64)>,
}

/// All shards of a node together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeSnapshot {
    /// Its name; empty by default.
    pub id: String,
    /// Events and messages taken in; of a source, records read.
    pub records_in: u64,
    /// Events given away, counted once whatever the number of consumers.
    pub records_out: u64,
    /// Failed attempts.
    pub errors: u64,
    /// Attempts after the first.
    pub retries: u64,
    /// Events given up.
    pub dead_letters: u64,
    /// Events and messages taken in and not begun.
    pub waiting: u64,
    /// Invocations begun and not ended.
    pub running: u64,
    /// Time spent in this node since the pipeline was loaded.
    pub busy: Duration,
    /// Instances that live.
    pub instances: u64,
    /// Instances made since the pipeline was loaded.
    pub instantiations: u64,
    /// Is an output without credit, or too much waiting?
    pub blocked: bool,
    /// Of a source: records in its topic that it has not read.
    pub behind: u64,
    /// Why it cannot work at present, such as an instance that cannot be made.
    pub error: Option<String>,
}

/// A stream edge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeSnapshot {
    /// Index of the producer.
    pub from: u16,
    /// Index of the consumer.
    pub to: u16,
    /// Events sent since the pipeline was loaded.
    pub records: u64,
    /// Events in its queues.
    pub queued: u64,
    /// 0 to 1: how full its queues are; 0 where there is no queue.
    pub queue_fill: f64,
}

impl Figures {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            nodes: plan
                .nodes
                .iter()
                .map(|node| {
                    (node.id.clone(), (0..node.shards).map(|_| ShardFigures::default()).collect())
                })
                .collect(),
            edges: plan.edges.iter().map(|_| EdgeFigures::default()).collect(),
            calls: Mutex::default(),
            errors: Mutex::default(),
            epoch: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            commit_nanos: AtomicU64::new(0),
        }
    }

    /// A copy. The single figures are exact, but not of one instant.
    #[must_use]
    pub fn snapshot(&self, plan: &Plan) -> Snapshot {
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let error = |node: usize| {
            errors.iter().find(|((n, _), _)| usize::from(*n) == node).map(|(_, text)| text.clone())
        };
        Snapshot {
            epoch: Epoch(self.epoch.load(Ordering::Relaxed)),
            commits: self.commits.load(Ordering::Relaxed),
            last_commit: Duration::from_nanos(self.commit_nanos.load(Ordering::Relaxed)),
            nodes: self
                .nodes
                .iter()
                .enumerate()
                .map(|(i, (id, shards))| NodeSnapshot {
                    error: error(i),
                    ..node_snapshot(id, shards)
                })
                .collect(),
            edges: self
                .edges
                .iter()
                .zip(&plan.edges)
                .map(|(figures, edge)| {
                    let queued = figures.queued.load(Ordering::Relaxed);
                    let capacity = figures.capacity.load(Ordering::Relaxed);
                    EdgeSnapshot {
                        from: edge.from,
                        to: edge.to,
                        records: figures.records.load(Ordering::Relaxed),
                        queued,
                        queue_fill: if capacity == 0 {
                            0.0
                        } else {
                            (queued as f64 / capacity as f64).min(1.0)
                        },
                    }
                })
                .collect(),
            calls: self
                .calls
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .iter()
                .map(|((from, to), n)| (*from, *to, *n))
                .collect(),
        }
    }

    pub(crate) fn shard(&self, node: u16, shard: u16) -> Option<&ShardFigures> {
        self.nodes.get(usize::from(node))?.1.get(usize::from(shard))
    }

    pub(crate) fn edge(&self, edge: u16) -> Option<&EdgeFigures> {
        self.edges.get(usize::from(edge))
    }

    /// Does nothing run and is nothing in a queue?
    pub(crate) fn is_quiet(&self) -> bool {
        let shards = self.nodes.iter().flat_map(|(_, shards)| shards);
        shards
            .map(|s| &s.running)
            .chain(self.edges.iter().map(|e| &e.queued))
            .all(|n| n.load(Ordering::Relaxed) == 0)
    }

    pub(crate) fn epoch(&self) -> Epoch {
        Epoch(self.epoch.load(Ordering::Relaxed))
    }

    pub(crate) fn called(&self, from: u16, to: u16) {
        *self
            .calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry((from, to))
            .or_default() += 1;
    }

    pub(crate) fn set_error(&self, node: u16, shard: u16, error: Option<String>) {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        match error {
            Some(error) => errors.insert((node, shard), error),
            None => errors.remove(&(node, shard)),
        };
    }

    pub(crate) fn committed(&self, epoch: Epoch, took: Duration) {
        self.epoch.store(epoch.0, Ordering::Relaxed);
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.commit_nanos.store(took.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(crate) fn set_epoch(&self, epoch: Epoch) {
        self.epoch.store(epoch.0, Ordering::Relaxed);
    }
}

fn node_snapshot(id: &NodeId, shards: &[ShardFigures]) -> NodeSnapshot {
    let sum = |of: fn(&ShardFigures) -> &AtomicU64| {
        shards.iter().map(|shard| of(shard).load(Ordering::Relaxed)).sum()
    };
    NodeSnapshot {
        id: id.to_string(),
        records_in: sum(|s| &s.records_in),
        records_out: sum(|s| &s.records_out),
        errors: sum(|s| &s.errors),
        retries: sum(|s| &s.retries),
        dead_letters: sum(|s| &s.dead_letters),
        waiting: sum(|s| &s.waiting),
        running: sum(|s| &s.running),
        busy: Duration::from_nanos(sum(|s| &s.busy_nanos)),
        instances: sum(|s| &s.instances),
        instantiations: sum(|s| &s.instantiations),
        blocked: sum(|s| &s.held) + sum(|s| &s.full) > 0,
        behind: sum(|s| &s.behind),
        error: None,
    }
}

impl EdgeFigures {
    pub(crate) fn set_capacity(&self, records: u64) {
        self.capacity.store(records, Ordering::Relaxed);
    }
}

/// Adds to a counter that only one task writes.
pub(crate) fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}
