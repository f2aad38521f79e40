//! The tree of a file -> [`Spec`]: the outline, sinks and streams.

use std::collections::HashSet;

use super::{
    InputSpec, SinkSpec, SinkTarget, Spec, StreamRef,
    diagnostic::{Placed, Problems},
    fields::{At, Fields, shown},
    operator, source,
    tree::{Name, Node, Value},
};
use crate::ids::{InvalidName, NodeId};

/// The most nodes in a pipeline.
const NODES_MAX: usize = 1_000;
/// The most streams into nodes.
const EDGES_MAX: usize = 4_096;
/// The most partitions that a file may ask for.
const PARTITIONS_MAX: u32 = 1_024;

/// Reads the whole file.
pub(super) fn file(root: &Node, problems: &mut Problems) -> Spec {
    let at = At { node: root, path: String::new() };
    let Some(fields) = Fields::of(&at, problems) else { return Spec::default() };
    fields.only(&["pipeline", "sources", "operators", "sinks"], &[], problems);
    let pipeline = fields
        .need("pipeline", "my-pipeline", problems)
        .and_then(|at| at.name("a pipeline name", problems));
    let mut unread = Vec::new();
    let spec = Spec {
        pipeline,
        sources: nodes(&fields, "sources", source::read, &mut unread, problems),
        operators: nodes(&fields, "operators", operator::read, &mut unread, problems),
        sinks: nodes(&fields, "sinks", sink, &mut unread, problems),
        unread,
    };
    let count = spec.sources.len() + spec.operators.len() + spec.sinks.len() + spec.unread.len();
    if count == 0 {
        problems
            .error(fields.place, "", "empty", "The pipeline has no sources, operators or sinks.")
            .help("add at least one under `operators`, or a source and a sink");
    } else if count > NODES_MAX {
        problems
            .error(fields.place, "", "too-large", format!("The pipeline has {count} nodes."))
            .help(format!("use at most {NODES_MAX}"));
        return Spec::default();
    }
    let inputs = spec
        .operators
        .iter()
        .map(|operator| &operator.inputs)
        .chain(spec.sinks.iter().map(|sink| &sink.inputs));
    let count: usize = inputs.map(Vec::len).sum();
    if count > EDGES_MAX {
        problems
            .error(fields.place, "", "too-large", format!("The pipeline has {count} inputs."))
            .help(format!("use at most {EDGES_MAX}"));
        return Spec::default();
    }
    spec
}

/// The nodes under one of the three headings.
fn nodes<T>(
    fields: &Fields<'_>,
    heading: &str,
    read: fn(Placed<NodeId>, &Fields<'_>, &mut Problems) -> T,
    unread: &mut Vec<String>,
    problems: &mut Problems,
) -> Vec<T> {
    let Some(at) = fields.get(heading) else { return Vec::new() };
    let Some(fields) = Fields::of(&at, problems) else { return Vec::new() };
    let mut nodes = Vec::new();
    for (name, at) in fields.entries() {
        let id = node_id(name, &at.path, problems);
        let fields = Fields::of(&at, problems);
        match (id, fields) {
            (Some(id), Some(fields)) => nodes.push(read(id, &fields, problems)),
            _ => unread.push(name.text.clone()),
        }
    }
    nodes
}

fn node_id(name: &Name, path: &str, problems: &mut Problems) -> Option<Placed<NodeId>> {
    match name.text.parse() {
        Ok(value) => Some(Placed { value, place: name.place, path: path.to_owned() }),
        Err(error) => {
            let error: InvalidName = error;
            problems
                .error(
                    name.place,
                    path,
                    "invalid-value",
                    format!("`{}` is not a name.", shown(&name.text)),
                )
                .help(error.rule());
            None
        }
    }
}

fn sink(id: Placed<NodeId>, fields: &Fields<'_>, problems: &mut Problems) -> SinkSpec {
    let later = [("webhook", "A webhook sink")];
    fields.only(&["topic", "partitions", "discard", "input"], &later, problems);
    let topic = fields.get("topic");
    let discard = fields.get("discard");
    let partitions = fields.get("partitions");
    let discards = discard.as_ref().and_then(|at| at.boolean(problems)).unwrap_or(false);
    if let (Some(at), true) = (&topic, discards) {
        problems
            .error(
                at.node.place,
                &at.path,
                "conflict",
                "The sink has both a topic and `discard: true`.",
            )
            .help("keep one of them");
    }
    if let (Some(at), true) = (&partitions, discards) {
        problems
            .error(at.node.place, &at.path, "conflict", "A sink that discards has no partitions.")
            .help("remove it");
    }
    let partitions = partitions.and_then(|at| self::partitions(&at, problems));
    let to = match topic {
        Some(at) => at
            .name("a topic name", problems)
            .map(|topic| SinkTarget::Topic { topic: at.placed(topic), partitions }),
        None if discards => Some(SinkTarget::Discard),
        None if fields.get("webhook").is_some() => None,
        None => {
            problems
                .error(id.place, &id.path, "missing-field", "The sink has no target.")
                .help("add `topic: some-topic` or `discard: true`");
            None
        }
    };
    let inputs = match fields.need("input", "some-operator.out", problems) {
        Some(at) if matches!(at.node.value, Value::Mapping(_)) => {
            at.wrong_type("a stream such as `order.confirmed`, or a list of them", problems);
            Vec::new()
        }
        Some(at) => inputs(&at, problems),
        None => Vec::new(),
    };
    SinkSpec { id, to, inputs }
}

/// How many partitions a topic is created with.
pub(super) fn partitions(at: &At<'_>, problems: &mut Problems) -> Option<Placed<u32>> {
    at.integer(1..=PARTITIONS_MAX, problems).map(|count| at.placed(count))
}

/// `input`: a stream, a list of them, or a mapping from handler or port to these.
pub(super) fn inputs(at: &At<'_>, problems: &mut Problems) -> Vec<InputSpec> {
    let mut inputs = Inputs { list: Vec::new(), seen: HashSet::new() };
    match &at.node.value {
        Value::Mapping(_) => {
            let Some(fields) = Fields::of(at, problems) else { return Vec::new() };
            for (name, at) in fields.entries() {
                let entry =
                    Placed { value: name.text.clone(), place: name.place, path: at.path.clone() };
                inputs.add(&at, Some(&entry), problems);
            }
        }
        _ => inputs.add(at, None, problems),
    }
    inputs.list
}

struct Inputs {
    list: Vec<InputSpec>,
    seen: HashSet<(Option<String>, StreamRef)>,
}

impl Inputs {
    /// Adds a stream, or a list of them.
    fn add(&mut self, at: &At<'_>, entry: Option<&Placed<String>>, problems: &mut Problems) {
        const EXPECTED: &str = "a stream such as `orders` or `order.confirmed`, or a list of them";
        let nodes = match &at.node.value {
            Value::Sequence(elements) => elements.iter().collect(),
            _ => vec![at.node],
        };
        for node in nodes {
            let at = At { node, path: at.path.clone() };
            let Some(text) = at.text(EXPECTED, problems) else { continue };
            let stream = match text.split_once('.') {
                Some((node, port)) => StreamRef { node: node.into(), port: Some(port.into()) },
                None => StreamRef { node: text.into(), port: None },
            };
            if self.seen.insert((entry.map(|entry| entry.value.clone()), stream.clone())) {
                self.list.push(InputSpec { entry: entry.cloned(), stream: at.placed(stream) });
            } else {
                problems
                    .error(
                        node.place,
                        &at.path,
                        "duplicate-name",
                        format!("`{stream}` stands here twice."),
                    )
                    .help("name each stream once");
            }
        }
    }
}
