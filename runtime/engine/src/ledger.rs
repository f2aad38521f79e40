//! The task's part of the audit (rule P21): positions, and what went over edges.
//!
//! Writes rows only when they have changed. What operators take and end is counted
//! by their units.

use std::{collections::BTreeMap, sync::Arc};

use weir_core::{
    ids::{KeyGroup, NodeId},
    rows::{self, Change},
};

use crate::{router::Outlet, sink::SinkShard, source::SourceShard};

/// Knows names, the shard, and what was written last.
pub(crate) struct Ledger {
    nodes: Arc<[NodeId]>,
    edges: Arc<[EdgeName]>,
    group: KeyGroup,
    /// By edge.
    sent: Vec<Option<u64>>,
    queued: Vec<u64>,
}

/// An edge by name, and the nodes at its ends.
pub(crate) struct EdgeName {
    pub(crate) name: String,
    pub(crate) from: u16,
    pub(crate) to: u16,
}

impl Ledger {
    /// Of a shard whose first key group is `group`.
    pub(crate) fn new(nodes: Arc<[NodeId]>, edges: Arc<[EdgeName]>, group: KeyGroup) -> Self {
        let n = edges.len();
        Self { nodes, edges, group, sent: vec![None; n], queued: vec![0; n] }
    }

    /// What outlets have sent.
    pub(crate) fn sent(&mut self, outlets: &[Outlet], into: &mut Vec<Change>) {
        for outlet in outlets {
            let index = usize::from(outlet.edge);
            // Not written before by this process: what was restored is written again
            // once, unless nothing was sent yet.
            let last = self.sent[index].unwrap_or(0);
            if outlet.sent() != last {
                self.sent[index] = Some(outlet.sent());
                let edge = &self.edges[index];
                let key = rows::edge_sent_key(
                    &self.nodes[usize::from(edge.from)],
                    self.group,
                    &edge.name,
                );
                into.push(Change { key, value: Some(rows::encode_number(outlet.sent())) });
            }
        }
    }

    /// What was on the way to this task when the epoch ended: per queue, its edge and
    /// the events in it.
    pub(crate) fn queued(
        &mut self,
        queues: impl Iterator<Item = (u16, u64)>,
        into: &mut Vec<Change>,
    ) {
        let mut sums = BTreeMap::new();
        for (edge, queued) in queues {
            *sums.entry(edge).or_insert(0) += queued;
        }
        for (edge, queued) in sums {
            let index = usize::from(edge);
            if std::mem::replace(&mut self.queued[index], queued) != queued {
                let edge = &self.edges[index];
                let key = rows::edge_queued_key(
                    &self.nodes[usize::from(edge.to)],
                    self.group,
                    &edge.name,
                );
                into.push(Change { key, value: (queued > 0).then(|| rows::encode_number(queued)) });
            }
        }
    }

    /// What a sink has taken.
    pub(crate) fn taken(&mut self, sink: &mut SinkShard, into: &mut Vec<Change>) {
        let node = &self.nodes[usize::from(sink.node)];
        for (edge, taken) in sink.changed_taken() {
            let key = rows::edge_taken_key(node, self.group, &self.edges[usize::from(*edge)].name);
            into.push(Change { key, value: Some(rows::encode_number(*taken)) });
        }
    }

    /// Where a source is.
    pub(crate) fn positions(&mut self, source: &mut SourceShard, into: &mut Vec<Change>) {
        let node = &self.nodes[usize::from(source.node)];
        for (of, row) in source.changed() {
            into.push(Change {
                key: rows::position_key(node, &of),
                value: Some(rows::encode_position(row)),
            });
        }
    }
}
