//! Topics that sources and sinks share.

use std::collections::HashMap;

use super::Draft;
use crate::{
    plan::{NodeKind, Sink},
    spec::{Placed, Spec, diagnostic::Problems},
};

/// Partitions of a topic that is created for a source or sink.
const PARTITIONS_DEFAULT: u32 = 4;

/// Sets the number of partitions of each topic: all that name it must agree.
pub(super) fn check(spec: &Spec, draft: &mut Draft, problems: &mut Problems) {
    let mut counts: HashMap<&str, &Placed<u32>> = HashMap::new();
    for (topic, count) in spec.partitions() {
        let first = *counts.entry(topic.value.as_str()).or_insert(count);
        if first.value != count.value {
            problems
                .error(
                    count.place,
                    &count.path,
                    "conflict",
                    format!(
                        "The topic `{}` has {} partitions here and {} in line {}.",
                        topic.value, count.value, first.value, first.place.line
                    ),
                )
                .help("write the same number, or leave one out");
        }
    }
    let count = |topic: &str| counts.get(topic).map_or(PARTITIONS_DEFAULT, |count| count.value);
    for node in &mut draft.nodes {
        match &mut node.kind {
            Some(NodeKind::Source(source)) => source.partitions = count(source.topic.as_str()),
            Some(NodeKind::Sink(Sink::Topic { topic, partitions })) => {
                *partitions = count(topic.as_str())
            }
            _ => {}
        }
    }
}
