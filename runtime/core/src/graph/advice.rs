//! Warnings: what can run but was hardly meant.

use super::{Draft, Role};
use crate::{
    plan::{NodeKind, Runs, Sink},
    spec::{Spec, diagnostic::Problems},
};

/// Gives all warnings that need the whole graph.
pub(super) fn give(spec: &Spec, draft: &Draft, problems: &mut Problems) {
    unused_sources(draft, problems);
    unreachable(spec, draft, problems);
    missing_keys(spec, draft, problems);
    topic_loops(draft, problems);
}

fn unused_sources(draft: &Draft, problems: &mut Problems) {
    for (index, node) in draft.nodes.iter().enumerate() {
        if node.role == Role::Source && !draft.edges.iter().any(|edge| edge.edge.from == index) {
            problems
                .warning(
                    node.id.place,
                    &node.id.path,
                    "unused-source",
                    format!("Nothing takes the events of `{}`.", node.id.value),
                )
                .help("name it as an `input`, or remove it");
        }
    }
}

/// Operators without input that cannot be called either.
fn unreachable(spec: &Spec, draft: &Draft, problems: &mut Problems) {
    for (i, node) in spec.operators.iter().enumerate().filter(|(_, node)| node.inputs.is_empty()) {
        let Some(operator) = draft.operator(spec.sources.len() + i) else { continue };
        let callable = operator.runs == Runs::Handlers
            && operator.description.handlers.iter().any(|handler| handler.takes_calls);
        if !callable {
            problems
                .warning(
                    node.id.place,
                    &node.id.path,
                    "unreachable",
                    format!(
                        "`{}` has no input, and `{}` takes no calls.",
                        node.id.value, operator.module
                    ),
                )
                .help("add `input`, or remove it");
        }
    }
}

/// Operators that need a key, to hold state or to spread events, and whose events
/// may have none: those of a source that no operator on the way gave one.
fn missing_keys(spec: &Spec, draft: &Draft, problems: &mut Problems) {
    let operators_from = spec.sources.len();
    // Not sorted, since there may be a cycle; a fixed point needs at most as many
    // rounds as there are nodes.
    let mut keyless = vec![false; draft.nodes.len()];
    keyless.iter_mut().take(operators_from).for_each(|source| *source = true);
    for _ in 0..draft.nodes.len() {
        let mut changed = false;
        for edge in &draft.edges {
            let Some(operator) = draft.operator(edge.edge.to) else { continue };
            let passes = operator.key.is_none() && operator.runs == Runs::Transform;
            if passes && keyless[edge.edge.from] && !keyless[edge.edge.to] {
                keyless[edge.edge.to] = true;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    for (index, node) in draft.nodes.iter().enumerate() {
        let Some(operator) = draft.operator(index) else { continue };
        let Some(edge) =
            draft.edges.iter().find(|edge| edge.edge.to == index && keyless[edge.edge.from])
        else {
            continue;
        };
        if operator.key.is_some() {
            continue;
        }
        let (id, stream) = (&node.id.value, &edge.stream.value);
        if operator.runs == Runs::Handlers || !operator.description.cells.is_empty() {
            problems
                .warning(
                    edge.stream.place,
                    &edge.stream.path,
                    "no-key",
                    format!("`{id}` needs keys, and events of `{stream}` have one only if they were ingested with it."),
                )
                .help("add `key`, a JSON pointer such as `/id`; events without a key become dead letters");
        } else if node.parallelism > 1 {
            problems
                .warning(
                    edge.stream.place,
                    &edge.stream.path,
                    "no-key",
                    format!("Events of `{stream}` that were ingested without a key all run in one of the {} shards of `{id}`.", node.parallelism),
                )
                .help("add `key`, a JSON pointer such as `/id`, to spread them");
        }
    }
}

/// Sinks that append to a topic from which their own events come.
fn topic_loops(draft: &Draft, problems: &mut Problems) {
    let topic_of = |index: usize| match draft.nodes.get(index).and_then(|node| node.kind.as_ref()) {
        Some(NodeKind::Source(source)) => Some(&source.topic),
        Some(NodeKind::Sink(Sink::Topic { topic, .. })) => Some(topic),
        _ => None,
    };
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); draft.nodes.len()];
    for edge in &draft.edges {
        next[edge.edge.from].push(edge.edge.to);
    }
    for (sink, next) in
        next.iter_mut().enumerate().filter(|(index, _)| draft.nodes[*index].role == Role::Sink)
    {
        let reads = |source: &usize| {
            draft.nodes[*source].role == Role::Source && topic_of(*source) == topic_of(sink)
        };
        next.extend((0..draft.nodes.len()).filter(reads).filter(|_| topic_of(sink).is_some()));
    }
    for (start, node) in draft.nodes.iter().enumerate().filter(|(_, node)| node.role == Role::Sink)
    {
        let Some(topic) = topic_of(start) else { continue };
        let mut seen = vec![false; draft.nodes.len()];
        let mut open = next[start].clone();
        while let Some(index) = open.pop() {
            if !std::mem::replace(&mut seen[index], true) {
                open.extend(&next[index]);
            }
        }
        if seen[start] {
            problems
                .warning(
                    node.id.place,
                    &node.id.path,
                    "topic-loop",
                    format!(
                        "Events of `{}` come back to it over the topic `{topic}`.",
                        node.id.value
                    ),
                )
                .help("make sure that each event goes round only so often, or use another topic");
        }
    }
}
