//! An operator of the file.

use std::time::Duration;

use super::{
    LimitsSpec, OperatorSpec,
    diagnostic::{Placed, Problems},
    fields::{At, Fields},
    read::inputs,
    settings::{Exhausted, MissingKey, RetryPolicy},
    tree::Value,
};
use crate::{ids::NodeId, pointer::JsonPointer};

/// How long an unfinished event holds the watermark.
const HOLD_DEFAULT: Duration = Duration::from_secs(30);

pub(super) const KNOWN: [&str; 10] = [
    "module",
    "input",
    "handler",
    "key",
    "parallelism",
    "concurrency",
    "hold",
    "config",
    "retry",
    "limits",
];

/// Built-in operators and their settings, by the field that names them.
const BUILT_IN: [(&str, &str); 13] = [
    ("window", "The operator `window`"),
    ("aggregate", "`aggregate`"),
    ("filter", "The operator `filter`"),
    ("map", "The operator `map`"),
    ("key-by", "The operator `key-by`"),
    ("merge", "The operator `merge`"),
    ("split", "The operator `split`"),
    ("join", "The operator `join`"),
    ("interval-join", "The operator `interval-join`"),
    ("window-join", "The operator `window-join`"),
    ("temporal-join", "The operator `temporal-join`"),
    ("deduplicate", "The operator `deduplicate`"),
    ("sample", "The operator `sample`"),
];

/// What a module operator will be able to have.
const LATER: [(&str, &str); 3] = [
    ("grants", "Outbound HTTP (`grants`)"),
    ("on_failure", "Compensation (`on_failure`)"),
    ("history", "Recorded history (`history`)"),
];

const EXHAUSTED: [(&str, Exhausted); 3] =
    [("dead-letter", Exhausted::DeadLetter), ("skip", Exhausted::Skip), ("halt", Exhausted::Halt)];

pub(super) fn read(
    id: Placed<NodeId>,
    fields: &Fields<'_>,
    problems: &mut Problems,
) -> OperatorSpec {
    fields.only(&KNOWN, &[&BUILT_IN[..], &LATER].concat(), problems);
    let built_in = BUILT_IN.iter().any(|(name, _)| fields.get(name).is_some());
    let module = match fields.get("module") {
        None if built_in => None,
        _ => fields.need("module", "order@1.0.0", problems).and_then(|at| {
            at.parse("a module such as `order@1.0.0`", problems).map(|module| at.placed(module))
        }),
    };
    let key = fields.get("key").map(|at| key(&at, problems)).unwrap_or_default();
    OperatorSpec {
        module,
        inputs: fields.get("input").map(|at| inputs(&at, problems)).unwrap_or_default(),
        handler: fields.get("handler").and_then(|at| {
            at.text("the name of a handler", problems).map(|name| at.placed(name.to_owned()))
        }),
        key: key.0,
        missing_key: key.1,
        parallelism: fields
            .get("parallelism")
            .and_then(|at| at.integer(1..=128, problems))
            .unwrap_or(1),
        concurrency: fields
            .get("concurrency")
            .and_then(|at| at.integer(1..=1_000_000, problems).map(|number| at.placed(number))),
        hold: fields.get("hold").and_then(|at| at.duration(problems)).unwrap_or(HOLD_DEFAULT),
        config: fields.get("config").map(|at| at.placed(at.json(problems))),
        retry: fields.get("retry").and_then(|at| retry(&at, problems)).unwrap_or_default(),
        limits: fields.get("limits").and_then(|at| limits(&at, problems)).unwrap_or_default(),
        id,
    }
}

/// A pointer, or `{ pointer: /id, missing: skip }`.
fn key(at: &At<'_>, problems: &mut Problems) -> (Option<Placed<JsonPointer>>, MissingKey) {
    let pointer = |at: &At<'_>, problems: &mut Problems| {
        at.parse("a JSON pointer", problems).map(|pointer| at.placed(pointer))
    };
    if !matches!(at.node.value, Value::Mapping(_)) {
        return (pointer(at, problems), MissingKey::default());
    }
    let Some(fields) = Fields::of(at, problems) else { return Default::default() };
    fields.only(&["pointer", "missing"], &[], problems);
    let key = fields.need("pointer", "/id", problems).and_then(|at| pointer(&at, problems));
    let missing = fields.get("missing").and_then(|at| {
        at.one_of(&[("dead-letter", MissingKey::DeadLetter), ("skip", MissingKey::Skip)], problems)
    });
    (key, missing.unwrap_or_default())
}

fn retry(at: &At<'_>, problems: &mut Problems) -> Option<RetryPolicy> {
    let fields = Fields::of(at, problems)?;
    fields.only(&["attempts", "first", "max", "then", "block_key"], &[], problems);
    let default = RetryPolicy::default();
    let policy = RetryPolicy {
        attempts: fields
            .get("attempts")
            .and_then(|at| at.integer(1..=1_000_000, problems))
            .unwrap_or(default.attempts),
        first: fields.get("first").and_then(|at| at.duration(problems)).unwrap_or(default.first),
        max: fields.get("max").and_then(|at| at.duration(problems)).unwrap_or(default.max),
        then: fields
            .get("then")
            .and_then(|at| at.one_of(&EXHAUSTED, problems))
            .unwrap_or(default.then),
        block_key: fields
            .get("block_key")
            .and_then(|at| at.boolean(problems))
            .unwrap_or(default.block_key),
    };
    if let Some(at) = fields.get("max").filter(|_| policy.max < policy.first) {
        problems
            .error(
                at.node.place,
                &at.path,
                "conflict",
                "The longest pause is shorter than the first one.",
            )
            .help("make `max` at least as long as `first`");
    }
    if let Some(at) =
        fields.get("block_key").filter(|_| policy.block_key && policy.then != Exhausted::DeadLetter)
    {
        problems
            .error(
                at.node.place,
                &at.path,
                "conflict",
                "A key can only be blocked by a dead letter.",
            )
            .help("remove `block_key`, or use `then: dead-letter`");
    }
    Some(policy)
}

fn limits(at: &At<'_>, problems: &mut Problems) -> Option<LimitsSpec> {
    const SIZE: &str = "a size such as `64MiB`";
    let fields = Fields::of(at, problems)?;
    fields.only(&["memory", "cpu", "wall", "output"], &[], problems);
    Some(LimitsSpec {
        memory: fields.get("memory").and_then(|at| at.parse(SIZE, problems)),
        cpu: fields.get("cpu").and_then(|at| at.duration(problems)),
        wall: fields.get("wall").and_then(|at| at.duration(problems)),
        output: fields.get("output").and_then(|at| at.parse(SIZE, problems)),
    })
}
