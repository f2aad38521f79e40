//! [`Spec`] + module descriptions -> [`Graph`]: a pipeline in
//! which everything that is named exists and fits.
//!
//! Modules are resolved and pinned here, streams are joined to ports and handlers,
//! and what cannot work is refused: unknown names, cycles of streams, schemas that
//! contradict each other for certain. What can work but was hardly meant is a
//! warning. All problems of the file come together, those of reading it included.

mod advice;
mod config;
mod entries;
mod order;
mod schema;
mod streams;
mod topics;

#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::Arc};

use semver::Version;

use crate::{
    description::Description,
    ids::{NodeId, PipelineName},
    plan::{KeyRule, Limits, ModulePin, NodeKind, Operator, Runs, Sink, Source},
    spec::{
        ByteSize, Diagnostic, ModuleRef, OperatorSpec, Placed, Reading, Severity, SinkTarget, Spec,
        diagnostic::{Problems, suggest},
        read,
    },
};

/// How many invocations of an operator may be resident.
const CONCURRENCY_DEFAULT: u32 = 1_024;
/// The most shards of all operators together.
const SHARDS_MAX: u32 = 4_096;

/// A checked pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Its name.
    pub pipeline: PipelineName,
    /// In topological order; else in that of the file.
    pub nodes: Vec<GraphNode>,
    /// By consumer, in the order of the file.
    pub edges: Vec<GraphEdge>,
    /// What may not be as it was meant.
    pub warnings: Vec<Diagnostic>,
}

/// A source, operator or sink.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphNode {
    /// Its name.
    pub id: NodeId,
    /// What it is. The settings are those of the plan.
    pub kind: NodeKind,
    /// How many shards were asked for; 1 for a source or sink.
    pub parallelism: u16,
}

/// A stream.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphEdge {
    /// Index of the producer in [`Graph::nodes`].
    pub from: usize,
    /// Which of its outputs.
    pub port: u8,
    /// The name of that output.
    pub port_name: Arc<str>,
    /// Index of the consumer.
    pub to: usize,
    /// Index of the handler or input port; 0 for a sink.
    pub entry: u32,
    /// The key under which the consumer sees the events.
    pub key: KeyRule,
}

/// The module version that a reference means.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// Which one it is.
    pub pin: ModulePin,
    /// What it says of itself.
    pub description: Arc<Description>,
}

/// Why a reference means no module, with what there is instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// No module has the name; these are there.
    Module(Vec<String>),
    /// None of the module's versions will do; these are there.
    Version(Vec<Version>),
}

/// Looks a module up.
pub type Resolve<'a> = &'a dyn Fn(&ModuleRef) -> Result<Resolved, Unresolved>;

impl Graph {
    /// Reads and checks a pipeline file.
    ///
    /// # Errors
    /// Every problem of the file, warnings included, if one of them is an error.
    pub fn from_text(text: &str, resolve: Resolve<'_>) -> Result<Self, Vec<Diagnostic>> {
        Self::check(read(text), resolve)
    }

    /// Checks what was read.
    ///
    /// # Errors
    /// Every problem of the file, warnings included, if one of them is an error.
    pub fn check(reading: Reading, resolve: Resolve<'_>) -> Result<Self, Vec<Diagnostic>> {
        let spec = &reading.spec;
        let mut problems = Problems::from(reading.diagnostics);
        let mut draft = Draft::new(spec, resolve, &mut problems);
        topics::check(spec, &mut draft, &mut problems);
        streams::connect(spec, &mut draft, &mut problems);
        let order = order::sort(&draft, &mut problems);
        advice::give(spec, &draft, &mut problems);
        let diagnostics = problems.into_sorted();
        let refused = diagnostics.iter().any(|problem| problem.severity == Severity::Error);
        match (&spec.pipeline, order) {
            (Some(pipeline), Some(order)) if !refused => {
                draft.finish(pipeline.clone(), &order, diagnostics)
            }
            _ => Err(diagnostics),
        }
    }
}

/// The graph while it is being checked. Nodes that could not be understood are in
/// it too, so that what leads to them is not reported as unknown.
struct Draft {
    /// Sources, operators, sinks, in the order of the file.
    nodes: Vec<DraftNode>,
    by_name: HashMap<String, usize>,
    edges: Vec<DraftEdge>,
}

struct DraftNode {
    id: Placed<NodeId>,
    role: Role,
    parallelism: u16,
    /// `None`: it could not be understood.
    kind: Option<NodeKind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Source,
    Operator,
    Sink,
}

struct DraftEdge {
    edge: GraphEdge,
    stream: Placed<String>,
}

impl Draft {
    fn new(spec: &Spec, resolve: Resolve<'_>, problems: &mut Problems) -> Self {
        let mut draft = Self { nodes: Vec::new(), by_name: HashMap::new(), edges: Vec::new() };
        for source in &spec.sources {
            let kind = source.topic.as_ref().map(|topic| {
                NodeKind::Source(Source {
                    topic: topic.value.clone(),
                    partitions: 0,
                    from: source.from,
                    timestamp: source.timestamp.clone(),
                    watermark: source.watermark,
                })
            });
            draft.add(&source.id, Role::Source, 1, kind, problems);
        }
        for operator in &spec.operators {
            let kind = self::operator(operator, resolve, problems);
            draft.add(&operator.id, Role::Operator, operator.parallelism, kind, problems);
        }
        for sink in &spec.sinks {
            let kind = sink.to.as_ref().map(|to| {
                NodeKind::Sink(match to {
                    SinkTarget::Topic { topic, .. } => {
                        Sink::Topic { topic: topic.value.clone(), partitions: 0 }
                    }
                    SinkTarget::Discard => Sink::Discard,
                })
            });
            draft.add(&sink.id, Role::Sink, 1, kind, problems);
        }
        let shards: u32 =
            spec.operators.iter().map(|operator| u32::from(operator.parallelism)).sum();
        if let Some(last) = spec.operators.last().filter(|_| shards > SHARDS_MAX) {
            problems
                .error(
                    last.id.place,
                    "operators",
                    "too-large",
                    format!("The operators have {shards} shards together."),
                )
                .help(format!("lower `parallelism`, so that there are at most {SHARDS_MAX}"));
        }
        draft
    }

    fn add(
        &mut self,
        id: &Placed<NodeId>,
        role: Role,
        parallelism: u16,
        kind: Option<NodeKind>,
        problems: &mut Problems,
    ) {
        let index = self.nodes.len();
        let first = *self.by_name.entry(id.value.to_string()).or_insert(index);
        if let Some(first) = self.nodes.get(first) {
            problems
                .error(
                    id.place,
                    &id.path,
                    "duplicate-name",
                    format!("The name `{}` is used twice.", id.value),
                )
                .help(format!(
                    "sources, operators and sinks share one name space, and line {} has it already",
                    first.id.place.line
                ));
        }
        self.nodes.push(DraftNode { id: id.clone(), role, parallelism, kind });
    }

    /// The operator at an index, if it is one and was understood.
    fn operator(&self, index: usize) -> Option<&Operator> {
        match self.nodes.get(index).and_then(|node| node.kind.as_ref()) {
            Some(NodeKind::Operator(operator)) => Some(operator),
            _ => None,
        }
    }

    fn finish(
        self,
        pipeline: PipelineName,
        order: &[usize],
        warnings: Vec<Diagnostic>,
    ) -> Result<Graph, Vec<Diagnostic>> {
        let mut position = vec![0; self.nodes.len()];
        for (new, old) in order.iter().enumerate() {
            position[*old] = new;
        }
        let mut nodes: Vec<(usize, GraphNode)> = Vec::with_capacity(self.nodes.len());
        for (old, node) in self.nodes.into_iter().enumerate() {
            let Some(kind) = node.kind else { return Err(warnings) };
            nodes.push((
                position[old],
                GraphNode { id: node.id.value, kind, parallelism: node.parallelism },
            ));
        }
        nodes.sort_by_key(|(position, _)| *position);
        let moved = |edge: GraphEdge| GraphEdge {
            from: position[edge.from],
            to: position[edge.to],
            ..edge
        };
        Ok(Graph {
            pipeline,
            nodes: nodes.into_iter().map(|(_, node)| node).collect(),
            edges: self.edges.into_iter().map(|draft| moved(draft.edge)).collect(),
            warnings,
        })
    }
}

/// Resolves an operator's module and settings.
fn operator(
    spec: &OperatorSpec,
    resolve: Resolve<'_>,
    problems: &mut Problems,
) -> Option<NodeKind> {
    let module = spec.module.as_ref()?;
    let Resolved { pin, description } = match resolve(&module.value) {
        Ok(resolved) => resolved,
        Err(unresolved) => {
            refuse_module(module, unresolved, problems);
            return None;
        }
    };
    let runs = entries::runs(spec, &pin, &description, problems)?;
    config::check(spec, &description, problems);
    refuse_expiry(module, &description, problems);
    let mut limits = Limits::default();
    if matches!(description.language.as_str(), "python" | "javascript" | "typescript" | "js" | "ts")
    {
        limits.memory = ByteSize::mib(256);
    }
    limits.memory = spec.limits.memory.unwrap_or(limits.memory);
    limits.cpu = spec.limits.cpu.unwrap_or(limits.cpu);
    limits.wall = spec.limits.wall.unwrap_or(limits.wall);
    limits.output = spec.limits.output.unwrap_or(limits.output);
    if runs == Runs::Transform
        && let Some(concurrency) = &spec.concurrency
    {
        problems
            .warning(
                concurrency.place,
                &concurrency.path,
                "no-effect",
                "`concurrency` has no effect on a transform.",
            )
            .help("a transform takes one batch at a time; use `parallelism` to run more of it");
    }
    Some(NodeKind::Operator(Box::new(Operator {
        module: pin,
        description,
        runs,
        key: spec.key.as_ref().map(|key| key.value.clone()),
        missing_key: spec.missing_key,
        concurrency: spec
            .concurrency
            .as_ref()
            .map_or(CONCURRENCY_DEFAULT, |concurrency| concurrency.value),
        hold: spec.hold,
        config: spec.config.as_ref().map(|config| config.value.to_string().into()),
        retry: spec.retry,
        limits,
    })))
}

/// Cells do not expire yet, and a value that should have is never returned.
fn refuse_expiry(module: &Placed<ModuleRef>, description: &Description, problems: &mut Problems) {
    for cell in description.cells.iter().filter(|cell| cell.ttl_ms.is_some()) {
        problems
            .error(
                module.place,
                &module.path,
                "not-yet",
                format!(
                    "Cell `{}` of `{}` has a time to live, which is not available in this version.",
                    cell.name, module.value
                ),
            )
            .help("build the module without it for now");
    }
}

fn refuse_module(module: &Placed<ModuleRef>, unresolved: Unresolved, problems: &mut Problems) {
    match unresolved {
        Unresolved::Module(names) => {
            let name = module.value.name.as_str();
            problems
                .error(
                    module.place,
                    &module.path,
                    "unknown-module",
                    format!("There is no module `{name}`."),
                )
                .help(suggest(name, names.iter().map(String::as_str), "upload it first"));
        }
        Unresolved::Version(versions) => {
            let mut versions: Vec<_> = versions.iter().collect();
            versions.sort_by(|a, b| b.cmp(a));
            let names: Vec<_> = versions.iter().map(ToString::to_string).collect();
            problems
                .error(
                    module.place,
                    &module.path,
                    "unknown-version",
                    format!("No version of the module fits `{}`.", module.value),
                )
                .help(suggest("", names.iter().map(String::as_str), "upload it first"));
        }
    }
}
