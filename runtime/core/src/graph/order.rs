//! The topological order of the nodes, or the cycles that forbid one.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::Draft;
use crate::spec::diagnostic::Problems;

/// Indexes of all nodes, producers first, else in the order of the file. `None` if
/// streams form a cycle; each is then named in full.
pub(super) fn sort(draft: &Draft, problems: &mut Problems) -> Option<Vec<usize>> {
    let count = draft.nodes.len();
    let mut waits_for = vec![0_usize; count];
    for edge in &draft.edges {
        waits_for[edge.edge.to] += 1;
    }
    let mut ready: BinaryHeap<_> =
        (0..count).filter(|node| waits_for[*node] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(Reverse(node)) = ready.pop() {
        order.push(node);
        for edge in draft.edges.iter().filter(|edge| edge.edge.from == node) {
            waits_for[edge.edge.to] -= 1;
            if waits_for[edge.edge.to] == 0 {
                ready.push(Reverse(edge.edge.to));
            }
        }
    }
    if order.len() == count {
        return Some(order);
    }
    let mut stuck: Vec<bool> = waits_for.iter().map(|n| *n > 0).collect();
    while let Some(cycle) = find(draft, &stuck) {
        report(draft, &cycle, problems);
        for edge in &cycle {
            stuck[draft.edges[*edge].edge.to] = false;
        }
    }
    None
}

/// A cycle among the nodes that are stuck: indexes of its edges, in order.
///
/// Every one of them has a producer that is stuck too, unless that was part of a
/// cycle already reported: walks back until a node of the same walk comes again.
fn find(draft: &Draft, stuck: &[bool]) -> Option<Vec<usize>> {
    let mut into: Vec<Option<usize>> = vec![None; stuck.len()];
    for (index, edge) in draft.edges.iter().enumerate() {
        if stuck[edge.edge.from] && stuck[edge.edge.to] {
            into[edge.edge.to].get_or_insert(index);
        }
    }
    let mut walk_of = vec![usize::MAX; stuck.len()];
    for start in (0..stuck.len()).filter(|node| stuck[*node]) {
        let mut walked = Vec::new();
        let mut node = start;
        while walk_of[node] == usize::MAX {
            walk_of[node] = start;
            let Some(edge) = into[node] else { break };
            walked.push(edge);
            node = draft.edges[edge].edge.from;
        }
        let again = walked.iter().position(|edge| draft.edges[*edge].edge.to == node);
        if let Some(from) = again.filter(|_| walk_of[node] == start && into[node].is_some()) {
            let mut cycle = walked.split_off(from);
            cycle.reverse();
            return Some(cycle);
        }
    }
    None
}

fn report(draft: &Draft, cycle: &[usize], problems: &mut Problems) {
    let first = cycle.iter().copied().min_by_key(|edge| draft.edges[*edge].stream.place);
    let Some(start) = first.and_then(|edge| cycle.iter().position(|other| *other == edge)) else {
        return;
    };
    let streams: Vec<_> =
        cycle[start..].iter().chain(&cycle[..start]).map(|edge| &draft.edges[*edge]).collect();
    let Some(first) = streams.first() else { return };
    let mut text = String::new();
    for edge in &streams {
        text.push_str(&format!("`{}` -> ", edge.stream.value));
    }
    text.push_str(&format!("`{}`", draft.nodes[first.edge.from].id.value));
    problems
        .error(
            first.stream.place,
            &first.stream.path,
            "cycle",
            format!("These streams form a cycle: {text}."),
        )
        .help("take one of them out; to give an event back, send it with a call or over a topic");
}
