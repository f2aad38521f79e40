//! Joins streams to their producers and consumers.

use std::sync::Arc;

use super::{Draft, DraftEdge, GraphEdge, Role, entries, schema};
use crate::{
    description::{Description, Port},
    plan::{KeyRule, NodeKind, Runs},
    spec::{
        InputSpec, Placed, Spec, StreamRef,
        diagnostic::{Problems, list, nearest, suggest},
    },
};

/// What the one output of a source is called.
const SOURCE_PORT: &str = "out";

/// Adds every edge of the file to the draft.
pub(super) fn connect(spec: &Spec, draft: &mut Draft, problems: &mut Problems) {
    let operators_from = spec.sources.len();
    for (i, operator) in spec.operators.iter().enumerate() {
        let to = operators_from + i;
        let found =
            draft.operator(to).map(|it| (it.module.clone(), Arc::clone(&it.description), it.runs));
        let entries = match &found {
            Some((pin, description, runs)) => {
                entries::find(operator, pin, description, *runs, problems)
            }
            None => vec![None; operator.inputs.len()],
        };
        let key =
            operator.key.as_ref().map_or(KeyRule::Keep, |key| KeyRule::Pointer(key.value.clone()));
        for (input, entry) in operator.inputs.iter().zip(entries) {
            let taken = found.as_ref().zip(entry).and_then(|((_, description, runs), entry)| {
                taken_schema(description, *runs, entry)
            });
            add(spec, draft, input, to, entry.unwrap_or(0), &key, taken, problems);
        }
    }
    let sinks_from = operators_from + spec.operators.len();
    for (i, sink) in spec.sinks.iter().enumerate() {
        for input in &sink.inputs {
            add(spec, draft, input, sinks_from + i, 0, &KeyRule::Keep, None, problems);
        }
    }
}

/// The schema of what an entry takes.
fn taken_schema(description: &Description, runs: Runs, entry: u32) -> Option<&str> {
    let entry = entry as usize;
    match runs {
        Runs::Handlers => description.handlers.get(entry)?.input_schema.as_deref(),
        Runs::Transform => description.inputs.get(entry)?.schema.as_deref(),
    }
}

#[expect(clippy::too_many_arguments, reason = "the parts of one edge")]
fn add(
    spec: &Spec,
    draft: &mut Draft,
    input: &InputSpec,
    to: usize,
    entry: u32,
    key: &KeyRule,
    taken: Option<&str>,
    problems: &mut Problems,
) {
    let Some(output) = producer(spec, draft, &input.stream, problems) else { return };
    if let (Some(given), Some(taken)) = (&output.schema, taken) {
        schema::compare(given, taken, &input.stream, problems);
    }
    draft.edges.push(DraftEdge {
        edge: GraphEdge {
            from: output.node,
            port: output.port,
            port_name: output.name,
            to,
            entry,
            key: key.clone(),
        },
        stream: Placed {
            value: input.stream.value.to_string(),
            place: input.stream.place,
            path: input.stream.path.clone(),
        },
    });
}

struct Output {
    node: usize,
    port: u8,
    name: Arc<str>,
    schema: Option<String>,
}

/// The output that a stream means. One whose producer could not be understood is
/// port 0 of it, so that cycles are still found.
fn producer(
    spec: &Spec,
    draft: &Draft,
    stream: &Placed<StreamRef>,
    problems: &mut Problems,
) -> Option<Output> {
    let StreamRef { node: name, port } = &stream.value;
    let mut refuse = |code: &str, message: String, help: String| {
        problems.error(stream.place, &stream.path, code, message).help(help);
        None
    };
    let Some(node) = draft.by_name.get(name).copied() else {
        if spec.unread.contains(name) {
            return None;
        }
        let known = || {
            draft
                .nodes
                .iter()
                .filter(|node| node.role != Role::Sink)
                .map(|node| node.id.value.as_str())
        };
        let help = match nearest(name, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                suggest(name, known().collect::<Vec<_>>(), "add it under `sources` or `operators`")
            }
        };
        return refuse("unknown-stream", format!("There is no source or operator `{name}`."), help);
    };
    let found = draft.nodes.get(node)?;
    let first = Output { node, port: 0, name: SOURCE_PORT.into(), schema: None };
    match (&found.role, &found.kind) {
        (Role::Sink, _) => refuse(
            "unknown-stream",
            format!("`{name}` is a sink, which gives nothing on."),
            "name what leads into it".into(),
        ),
        (Role::Source, _) => match port {
            None => Some(first),
            Some(port) => refuse(
                "unknown-port",
                format!("`{name}` is a source and has one stream, without the name `{port}`."),
                format!("write `{name}`"),
            ),
        },
        (Role::Operator, Some(NodeKind::Operator(operator))) => {
            let outputs = operator.description.outputs.as_slice();
            let index = match (port, outputs) {
                (Some(port), _) => match outputs.iter().position(|output| output.name == *port) {
                    Some(index) => index,
                    None => {
                        let known = outputs.iter().map(|output| output.name.as_str());
                        return refuse(
                            "unknown-port",
                            format!("`{name}` ({}) has no output `{port}`.", operator.module),
                            suggest(port, known, "it gives nothing on"),
                        );
                    }
                },
                (None, [_]) => 0,
                (None, []) => {
                    return refuse(
                        "unknown-port",
                        format!("`{name}` ({}) gives nothing on.", operator.module),
                        "remove this input".into(),
                    );
                }
                (None, _) => {
                    let streams: Vec<_> =
                        outputs.iter().map(|output| format!("{name}.{}", output.name)).collect();
                    return refuse(
                        "ambiguous-port",
                        format!("`{name}` ({}) has more than one output.", operator.module),
                        format!(
                            "write one of {}",
                            list(streams.iter().map(String::as_str)).unwrap_or_default()
                        ),
                    );
                }
            };
            let Port { name, schema, .. } = outputs.get(index)?;
            Some(Output {
                node,
                port: u8::try_from(index).ok()?,
                name: name.as_str().into(),
                schema: schema.clone(),
            })
        }
        (Role::Operator, _) => Some(first),
    }
}
