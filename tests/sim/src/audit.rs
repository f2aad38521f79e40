//! The audit (rule P21), read from the committed rows alone.

use std::collections::BTreeMap;

use weir_core::{
    ids::NodeId,
    plan::{Edge, NodeKind},
    rows::{self, CountsRow, Range},
};

use crate::world::World;

/// What does not add up; empty if all does.
///
/// # Panics
/// If a row cannot be read.
#[must_use]
pub fn faults(world: &World) -> Vec<String> {
    let mut faults = Vec::new();
    let plan = world.plan().clone();
    for node in &plan.nodes {
        match &node.kind {
            NodeKind::Operator(_) => {
                let sum = counts(world, &node.id);
                if !sum.counts.balanced(sum.waiting) {
                    faults.push(format!(
                        "{}: {:?} with {} waiting",
                        node.id, sum.counts, sum.waiting
                    ));
                }
            }
            NodeKind::Source(_) => {
                for (key, value) in world.rows(&rows::positions_of(&node.id)) {
                    let (partition, position) = rows::position(&key, &value).expect("a position");
                    if position.start.0 + position.read != position.next.0 {
                        faults.push(format!("{} {partition:?}: {position:?}", node.id));
                    }
                }
            }
            NodeKind::Sink(_) => {}
        }
    }
    for edge in &plan.edges {
        let (sent, taken, queued) = edge_counts(world, edge);
        if sent != taken + queued {
            faults
                .push(format!("edge {}: sent {sent}, taken {taken}, queued {queued}", edge.index));
        }
    }
    faults
}

/// The counts of an operator over all shards.
///
/// # Panics
/// If a row cannot be read.
#[must_use]
pub fn counts(world: &World, operator: &NodeId) -> CountsRow {
    let mut sum = CountsRow::default();
    for (_, value) in world.rows(&rows::counts_of(operator)) {
        let row = rows::counts(&value).expect("counts");
        sum.counts.add(&row.counts);
        sum.waiting += row.waiting;
    }
    sum
}

/// Sent, taken and queued of an edge.
#[must_use]
pub fn edge_counts(world: &World, edge: &Edge) -> (u64, u64, u64) {
    let plan = world.plan();
    let from = &plan.nodes[usize::from(edge.from)].id;
    let to = &plan.nodes[usize::from(edge.to)].id;
    let name = format!("{from}.{} -> {to}", edge.port_name);
    let of = |range: Range| by_edge(world, &range).get(&name).copied().unwrap_or(0);
    (of(rows::edges_sent_of(from)), of(rows::edges_taken_of(to)), of(rows::edges_queued_of(to)))
}

fn by_edge(world: &World, range: &Range) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (key, value) in world.rows(range) {
        let (_, name) = rows::edge_name(&key).expect("an edge");
        *sums.entry(name).or_default() += rows::number(&value).expect("a number");
    }
    sums
}
