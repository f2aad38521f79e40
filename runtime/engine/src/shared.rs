//! What all actors of a pipeline share: intake, holds, and what there is to commit.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
};

use weir_core::{
    clock::Clock,
    ids::Epoch,
    plan::{NodeKind, Plan},
    unit::Waiting,
};
use weir_store::Store;

use crate::{actor::Signal, figures::Figures, tuning::Tuning};

/// Sources stop when the running epoch has so many times [`Tuning::epoch_bytes`].
const EPOCH_OVERFLOW: usize = 4;

/// Shared by all actors of a pipeline.
pub(crate) struct Shared {
    pub(crate) plan: Arc<Plan>,
    pub(crate) figures: Arc<Figures>,
    pub(crate) store: Arc<Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tuning: Tuning,
    coordinator: Arc<Signal>,
    intake: AtomicBool,
    /// Is the pipeline about to stop? Then no roots begin.
    draining: AtomicBool,
    /// The latest epoch that has something to commit.
    dirty: AtomicU64,
    /// Bytes to commit, of the running epoch and the one before or after it.
    bytes: [AtomicUsize; 2],
    /// By source: operators after it that hold it.
    holds: Vec<AtomicU32>,
    /// By node: the sources from which streams lead to it.
    upstream: Vec<Vec<u16>>,
    /// Tasks with a source: which, and its signal.
    sources: Vec<(u16, Arc<Signal>)>,
    /// What waits at each operator, against its quota.
    waiting: Vec<Arc<Waiting>>,
}

impl Shared {
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn new(
        plan: Arc<Plan>,
        figures: Arc<Figures>,
        store: Arc<Store>,
        clock: Arc<dyn Clock>,
        tuning: Tuning,
        coordinator: Arc<Signal>,
        sources: Vec<(u16, Arc<Signal>)>,
        waiting: Vec<Arc<Waiting>>,
    ) -> Self {
        Self {
            holds: plan.nodes.iter().map(|_| AtomicU32::new(0)).collect(),
            upstream: (0..plan.nodes.len())
                .map(|node| sources_before(&plan, node as u16))
                .collect(),
            plan,
            figures,
            store,
            clock,
            tuning,
            coordinator,
            intake: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            dirty: AtomicU64::new(0),
            bytes: Default::default(),
            sources,
            waiting,
        }
    }

    /// There is something to commit in this epoch.
    pub(crate) fn touch(&self, epoch: Epoch) {
        if self.dirty.load(Ordering::Relaxed) < epoch.0
            && self.dirty.fetch_max(epoch.0, Ordering::SeqCst) < epoch.0
        {
            self.coordinator.raise();
        }
    }

    /// Is there something to commit in this epoch?
    pub(crate) fn is_dirty(&self, epoch: Epoch) -> bool {
        self.dirty.load(Ordering::SeqCst) >= epoch.0
    }

    /// The delta of this epoch grows.
    pub(crate) fn add_bytes(&self, epoch: Epoch, bytes: usize) {
        if bytes > 0 {
            let before = self.slot(epoch).fetch_add(bytes, Ordering::Relaxed);
            if before < self.tuning.epoch_bytes && before + bytes >= self.tuning.epoch_bytes {
                self.coordinator.raise();
            }
        }
    }

    /// Bytes in the delta of this epoch.
    pub(crate) fn bytes(&self, epoch: Epoch) -> usize {
        self.slot(epoch).load(Ordering::Relaxed)
    }

    /// The delta of this epoch is complete.
    pub(crate) fn clear_bytes(&self, epoch: Epoch) {
        self.slot(epoch).store(0, Ordering::Relaxed);
    }

    /// May this source take in, in this epoch? Not while any operator is over its quota
    /// (rule P3).
    pub(crate) fn may_take(&self, source: u16, epoch: Epoch) -> bool {
        self.is_open()
            && self
                .holds
                .get(usize::from(source))
                .is_none_or(|holds| holds.load(Ordering::SeqCst) == 0)
            && self.bytes(epoch) < EPOCH_OVERFLOW * self.tuning.epoch_bytes
            && !self.waiting.iter().any(|waiting| waiting.stops())
    }

    /// What waits at an operator has changed: sources go on that stopped because of it.
    pub(crate) fn waiting_changed(&self, waiting: &Waiting) {
        if waiting.resumes() {
            self.sources.iter().for_each(|(_, signal)| signal.raise());
        }
    }

    /// May anything be taken in?
    pub(crate) fn is_open(&self) -> bool {
        self.intake.load(Ordering::SeqCst)
    }

    /// Opens or closes the intake of the pipeline.
    pub(crate) fn set_open(&self, open: bool) {
        if self.intake.swap(open, Ordering::SeqCst) != open && open {
            self.sources.iter().for_each(|(_, signal)| signal.raise());
        }
    }

    /// From now on nothing begins but what a running invocation calls.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    /// Is the pipeline about to stop?
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// An operator can begin nothing more of what it has, or can again: the sources
    /// before it stop or go on. One that is sent to may be flooded by any source.
    pub(crate) fn hold(&self, node: u16, all: bool, hold: bool) {
        let upstream = self.upstream.get(usize::from(node)).map_or(&[][..], Vec::as_slice);
        for (source, signal) in &self.sources {
            if !all && !upstream.contains(source) {
                continue;
            }
            let Some(holds) = self.holds.get(usize::from(*source)) else { continue };
            if hold {
                holds.fetch_add(1, Ordering::SeqCst);
            } else if holds.fetch_sub(1, Ordering::SeqCst) == 1 {
                signal.raise();
            }
        }
    }

    /// Records in the topics of the sources that are not read yet.
    pub(crate) fn behind(&self) -> u64 {
        let shards = |node: u16| self.plan.nodes.get(usize::from(node)).map_or(0, |n| n.shards);
        self.plan
            .nodes
            .iter()
            .filter(|node| matches!(node.kind, NodeKind::Source(_)))
            .flat_map(|node| {
                (0..shards(node.index)).filter_map(|s| self.figures.shard(node.index, s))
            })
            .map(|figures| figures.behind.load(Ordering::Relaxed))
            .sum()
    }

    fn slot(&self, epoch: Epoch) -> &AtomicUsize {
        &self.bytes[(epoch.0 % 2) as usize]
    }
}

fn sources_before(plan: &Plan, node: u16) -> Vec<u16> {
    let mut seen = vec![false; plan.nodes.len()];
    let mut stack = vec![node];
    let mut sources = Vec::new();
    while let Some(n) = stack.pop() {
        if std::mem::replace(&mut seen[usize::from(n)], true) {
            continue;
        }
        if matches!(plan.nodes[usize::from(n)].kind, NodeKind::Source(_)) {
            sources.push(n);
        }
        stack.extend(plan.inputs_of(n).map(|edge| edge.from));
    }
    sources
}
