use expect_test::{Expect, expect};
use semver::Version;

use super::*;
use crate::{
    description::{Cell, CellKind, Face, Handler, Port},
    ids::ModuleDigest,
    spec::units::format_duration,
};

const CONFIG: &str = r#"{
    "type": "object",
    "required": ["step"],
    "properties": {"step": {"type": "integer"}, "names": {"type": "array", "items": {"type": "string"}}}
}"#;

/// `name@version face face: in a b | out c d | handler takes..`: modules as the
/// tests have them.
fn modules() -> Vec<Resolved> {
    let port = |name: &str| Port { name: name.into(), doc: String::new(), schema: None };
    let handler = |(name, takes_events, takes_calls): (&str, bool, bool)| Handler {
        name: name.into(),
        doc: String::new(),
        takes_events,
        takes_calls,
        read_only: false,
        input_schema: None,
        output_schema: None,
    };
    let cell = Cell {
        name: "count".into(),
        kind: CellKind::Counter,
        version: 1,
        ttl_ms: None,
        schema: None,
    };
    let module = |name: &str, version: &str, description: Description| Resolved {
        pin: ModulePin {
            name: name.parse().unwrap(),
            version: version.parse().unwrap(),
            digest: ModuleDigest([7; 32]),
        },
        description: Arc::new(description),
    };
    let handlers = |handlers: &[(&str, bool, bool)], outputs: &[&str]| Description {
        handlers: handlers.iter().copied().map(handler).collect(),
        outputs: outputs.iter().copied().map(port).collect(),
        faces: vec![Face::Handler],
        ..Description::default()
    };
    let transform = |inputs: &[&str], outputs: &[&str]| Description {
        inputs: inputs.iter().copied().map(port).collect(),
        outputs: outputs.iter().copied().map(port).collect(),
        faces: vec![Face::Transform],
        ..Description::default()
    };
    let order =
        handlers(&[("place", true, true), ("cancel", false, true)], &["confirmed", "rejected"]);
    vec![
        module("order", "1.0.0", order.clone()),
        module("order", "1.1.0", order.clone()),
        module("order", "2.0.0", order),
        module(
            "inventory",
            "1.0.0",
            handlers(&[("reserve", false, true), ("restock", true, false)], &[]),
        ),
        module(
            "pair",
            "1.0.0",
            handlers(&[("left", true, false), ("right", true, false)], &["out"]),
        ),
        module("hidden", "1.0.0", handlers(&[("only", true, false)], &[])),
        module("pass", "1.0.0", transform(&["in"], &["out"])),
        module("zip", "1.0.0", transform(&["left", "right"], &["out"])),
        module(
            "count",
            "1.0.0",
            Description { cells: vec![cell.clone()], ..transform(&["in"], &["out"]) },
        ),
        module(
            "both",
            "1.0.0",
            Description {
                handlers: vec![handler(("ask", false, true)), handler(("see", true, false))],
                faces: vec![Face::Transform, Face::Handler],
                ..transform(&["in"], &["out"])
            },
        ),
        module(
            "old",
            "1.0.0",
            Description { faces: vec![Face::BlockingHandler], ..Description::default() },
        ),
        module(
            "snake",
            "1.0.0",
            Description { language: "python".into(), ..transform(&["in"], &["out"]) },
        ),
        module(
            "aging",
            "1.0.0",
            Description {
                cells: vec![Cell { ttl_ms: Some(1), ..cell }],
                ..transform(&["in"], &["out"])
            },
        ),
        module(
            "tuned",
            "1.0.0",
            Description { config_schema: Some(CONFIG.into()), ..transform(&["in"], &["out"]) },
        ),
        module(
            "unsure",
            "1.0.0",
            Description {
                config_schema: Some(r#"{"type": 7}"#.into()),
                ..transform(&["in"], &["out"])
            },
        ),
    ]
}

fn resolve(modules: &[Resolved], reference: &ModuleRef) -> Result<Resolved, Unresolved> {
    let of_name: Vec<_> =
        modules.iter().filter(|module| module.pin.name == reference.name).collect();
    if of_name.is_empty() {
        let mut names: Vec<_> = modules.iter().map(|module| module.pin.name.to_string()).collect();
        names.dedup();
        return Err(Unresolved::Module(names));
    }
    let versions: Vec<Version> = of_name.iter().map(|module| module.pin.version.clone()).collect();
    let version = reference.select(&versions).cloned();
    of_name
        .into_iter()
        .find(|module| Some(&module.pin.version) == version.as_ref())
        .cloned()
        .ok_or(Unresolved::Version(versions))
}

fn graph(yaml: &str) -> Result<Graph, Vec<Diagnostic>> {
    let modules = modules();
    Graph::from_text(yaml, &|reference| resolve(&modules, reference))
}

/// The nodes, streams and warnings of a file, or all of its problems.
fn check(yaml: &str, expect: Expect) {
    let mut text = String::new();
    let mut line = |line: String| text.push_str(&(line + "\n"));
    match graph(yaml) {
        Err(problems) => problems.iter().for_each(|problem| line(problem.to_string())),
        Ok(graph) => {
            let id = |index: usize| &graph.nodes[index].id;
            for node in &graph.nodes {
                line(match &node.kind {
                    NodeKind::Source(source) => {
                        format!("{}: source {} x{}", node.id, source.topic, source.partitions)
                    }
                    NodeKind::Operator(it) => {
                        let memory = it.limits.memory;
                        let hold = format_duration(it.hold);
                        format!(
                            "{}: {} {:?} x{} {memory} hold {hold}",
                            node.id, it.module, it.runs, node.parallelism
                        )
                    }
                    NodeKind::Sink(sink) => format!("{}: sink {sink:?}", node.id),
                });
            }
            for edge in &graph.edges {
                let key = match &edge.key {
                    KeyRule::Keep => String::new(),
                    KeyRule::Pointer(pointer) => format!(" key {pointer}"),
                };
                line(format!(
                    "{}.{} ({}) -> {}#{}{key}",
                    id(edge.from),
                    edge.port_name,
                    edge.port,
                    id(edge.to),
                    edge.entry
                ));
            }
            graph.warnings.iter().for_each(|problem| line(problem.to_string()));
        }
    }
    expect.assert_eq(&text);
}

#[test]
fn a_pipeline_is_resolved_pinned_and_ordered() {
    check(
        r#"
pipeline: shop
sources:
  orders: { topic: orders, partitions: 8 }
  restock: { topic: restock }
operators:
  count:     { module: count, input: order.confirmed, key: /currency }
  order:     { module: order@^1, input: orders, key: /order_id, parallelism: 2 }
  inventory: { module: inventory@1, input: restock, key: /sku }
  snake:     { module: snake, input: order.rejected, hold: 5s }
sinks:
  out: { topic: counts, input: [count.out, snake] }
  all: { discard: true, input: orders }
"#,
        expect![[r#"
            orders: source orders x8
            restock: source restock x4
            order: order@1.1.0 Handlers x2 64MiB hold 30s
            count: count@1.0.0 Transform x1 64MiB hold 30s
            inventory: inventory@1.0.0 Handlers x1 64MiB hold 30s
            snake: snake@1.0.0 Transform x1 256MiB hold 5s
            out: sink Topic { topic: "counts", partitions: 4 }
            all: sink Discard
            order.confirmed (0) -> count#0 key /currency
            orders.out (0) -> order#0 key /order_id
            restock.out (0) -> inventory#1 key /sku
            order.rejected (1) -> snake#0
            count.out (0) -> out#0
            snake.out (0) -> out#0
            orders.out (0) -> all#0
        "#]],
    );
}

#[test]
fn unknown_names_are_met_with_what_there_is() {
    check(
        r#"
pipeline: p
sources: { orders: { topic: orders } }
operators:
  a: { module: ordr@1.0.0, input: orders, key: /id }
  b: { module: order@3, input: order, key: /id }
  c: { module: order@2, input: orders, key: /id, handler: plac }
  d: { module: order@2, input: orders, key: /id, handler: cancel }
  e: { module: zip, input: { lefd: orders, right: c.confirmd } }
  f: { module: zzz, input: nobody.at-all }
  g: { module: pass, input: [orders.out, s, inv, c] }
  inv: { module: inventory, key: /sku }
  h: { module: old, input: orders }
sinks:
  s: { topic: t, input: ordesr }
"#,
        expect![[r#"
            5:16: error unknown-module: There is no module `ordr`. (operators.a.module)
                did you mean `order`?
            6:16: error unknown-version: No version of the module fits `order@3`. (operators.b.module)
                there are `2.0.0`, `1.1.0` and `1.0.0`
            6:32: error unknown-stream: There is no source or operator `order`. (operators.b.input)
                did you mean `orders`?
            7:59: error unknown-handler: `order@2.0.0` has no handler `plac`. (operators.c.handler)
                did you mean `place`?
            8:59: error no-events: The handler `cancel` of `order@2.0.0` takes calls only, no events. (operators.d.handler)
                events go to `place`
            9:30: error unknown-port: `zip@1.0.0` has no input `lefd`. (operators.e.input.lefd)
                did you mean `left`?
            9:51: error unknown-port: `c` (order@2.0.0) has no output `confirmd`. (operators.e.input.right)
                did you mean `confirmed`?
            10:16: error unknown-module: There is no module `zzz`. (operators.f.module)
                there are `order`, `inventory`, `pair`, `hidden`, `pass`, `zip`, `count`, `both`, `old` and 4 more
            10:28: error unknown-stream: There is no source or operator `nobody`. (operators.f.input)
                there are `orders`, `a`, `b`, `c`, `d`, `e`, `f`, `g`, `inv` and `h`
            11:30: error unknown-port: `orders` is a source and has one stream, without the name `out`. (operators.g.input)
                write `orders`
            11:42: error unknown-stream: `s` is a sink, which gives nothing on. (operators.g.input)
                name what leads into it
            11:45: error unknown-port: `inv` (inventory@1.0.0) gives nothing on. (operators.g.input)
                remove this input
            11:50: error ambiguous-port: `c` (order@2.0.0) has more than one output. (operators.g.input)
                write one of `c.confirmed` and `c.rejected`
            13:16: error not-yet: `old@1.0.0` has neither of the faces `transform` and `handler`; no other runs in this version. (operators.h.module)
                use a module that exports one of them
            15:25: error unknown-stream: There is no source or operator `ordesr`. (sinks.s.input)
                did you mean `orders`?
        "#]],
    );
}

#[test]
fn the_one_that_takes_the_events_need_not_be_named() {
    check(
        r#"
pipeline: p
sources: { s: { topic: t } }
operators:
  a: { module: pair, input: s, key: /id }
  b: { module: pair, input: { left: s, right: [s, a.out] }, key: /id }
  c: { module: zip, input: s }
  d: { module: both, input: s, handler: see, key: /id }
  e: { module: both, input: s }
  f: { module: both, key: /id }
  g: { module: both, input: { see: s }, key: /id }
  h: { module: pass, input: s, handler: see }
  i: { module: pass, input: { in: s } }
  j: { module: inventory, input: s, handler: restock, key: /id }
"#,
        expect![[r#"
            5:3: error ambiguous-handler: More than one handler of `pair@1.0.0` takes events: `left` and `right`. (operators.a)
                name one with `handler:`, or give each its streams: `input: { handler: stream }`
            7:28: error ambiguous-port: `zip@1.0.0` has more than one input: `left` and `right`. (operators.c.input)
                give each its streams: `input: { port: stream }`
            12:41: error unknown-handler: `pass@1.0.0` is a transform and has no handlers. (operators.h.handler)
                remove `handler`
        "#]],
    );
    check(
        r#"
pipeline: p
sources: { s: { topic: t } }
operators:
  d: { module: both, input: s, handler: see, key: /id }
  e: { module: both, input: s }
  f: { module: both, key: /id }
  g: { module: both, input: { see: s }, key: /id }
"#,
        expect![[r#"
            s: source t x4
            d: both@1.0.0 Handlers x1 64MiB hold 30s
            e: both@1.0.0 Transform x1 64MiB hold 30s
            f: both@1.0.0 Handlers x1 64MiB hold 30s
            g: both@1.0.0 Handlers x1 64MiB hold 30s
            s.out (0) -> d#1 key /id
            s.out (0) -> e#0
            s.out (0) -> g#1 key /id
        "#]],
    );
}

#[test]
fn a_cycle_of_streams_is_named_in_full() {
    check(
        r#"
pipeline: p
sources: { s: { topic: t } }
operators:
  a: { module: pass, input: [s, c] }
  b: { module: pass, input: a }
  c: { module: pass, input: [b, d] }
  d: { module: pass, input: d }
  x: { module: order@1.0.0, input: y, key: /id }
  y: { module: zip, input: { left: x.rejected, right: a } }
  after: { module: pass, input: c }
sinks:
  out: { discard: true, input: after }
"#,
        expect![[r#"
            5:33: error cycle: These streams form a cycle: `c` -> `a` -> `b` -> `c`. (operators.a.input)
                take one of them out; to give an event back, send it with a call or over a topic
            8:29: error cycle: These streams form a cycle: `d` -> `d`. (operators.d.input)
                take one of them out; to give an event back, send it with a call or over a topic
            9:36: error cycle: These streams form a cycle: `y` -> `x.rejected` -> `y`. (operators.x.input)
                take one of them out; to give an event back, send it with a call or over a topic
        "#]],
    );
}

#[test]
fn names_share_one_name_space() {
    check(
        r#"
pipeline: p
sources: { a: { topic: t } }
operators: { a: { module: pass, input: a }, b: { module: pass, input: a } }
sinks: { b: { discard: true, input: b } }
"#,
        expect![[r#"
            4:14: error duplicate-name: The name `a` is used twice. (operators.a)
                sources, operators and sinks share one name space, and line 3 has it already
            5:10: error duplicate-name: The name `b` is used twice. (sinks.b)
                sources, operators and sinks share one name space, and line 4 has it already
        "#]],
    );
}

#[test]
fn what_was_hardly_meant_is_a_warning() {
    check(
        r#"
pipeline: p
sources:
  unused: { topic: t }
  s: { topic: t }
operators:
  nobody:  { module: hidden, key: /id }
  idle:    { module: pass }
  called:  { module: inventory, handler: restock }
  keyless: { module: count, input: s }
  passed:  { module: pass, input: s, concurrency: 7 }
  later:   { module: hidden, input: passed }
  fine:    { module: hidden, input: keyed }
  keyed:   { module: pass, input: passed, key: /id }
  wide:    { module: pass, input: s, parallelism: 4 }
"#,
        expect![[r#"
            unused: source t x4
            s: source t x4
            nobody: hidden@1.0.0 Handlers x1 64MiB hold 30s
            idle: pass@1.0.0 Transform x1 64MiB hold 30s
            called: inventory@1.0.0 Handlers x1 64MiB hold 30s
            keyless: count@1.0.0 Transform x1 64MiB hold 30s
            passed: pass@1.0.0 Transform x1 64MiB hold 30s
            later: hidden@1.0.0 Handlers x1 64MiB hold 30s
            keyed: pass@1.0.0 Transform x1 64MiB hold 30s
            fine: hidden@1.0.0 Handlers x1 64MiB hold 30s
            wide: pass@1.0.0 Transform x4 64MiB hold 30s
            s.out (0) -> keyless#0
            s.out (0) -> passed#0
            passed.out (0) -> later#0
            keyed.out (0) -> fine#0
            passed.out (0) -> keyed#0 key /id
            s.out (0) -> wide#0
            4:3: warning unused-source: Nothing takes the events of `unused`. (sources.unused)
                name it as an `input`, or remove it
            7:3: warning unreachable: `nobody` has no input, and `hidden@1.0.0` takes no calls. (operators.nobody)
                add `input`, or remove it
            8:3: warning unreachable: `idle` has no input, and `pass@1.0.0` takes no calls. (operators.idle)
                add `input`, or remove it
            9:42: warning no-effect: `handler` has no effect: no stream leads to it. (operators.called.handler)
                add `input`, or remove `handler`: a call names the handler itself
            10:36: warning no-key: `keyless` needs keys, and events of `s` have one only if they were ingested with it. (operators.keyless.input)
                add `key`, a JSON pointer such as `/id`; events without a key become dead letters
            11:51: warning no-effect: `concurrency` has no effect on a transform. (operators.passed.concurrency)
                a transform takes one batch at a time; use `parallelism` to run more of it
            12:37: warning no-key: `later` needs keys, and events of `passed` have one only if they were ingested with it. (operators.later.input)
                add `key`, a JSON pointer such as `/id`; events without a key become dead letters
            15:35: warning no-key: Events of `s` that were ingested without a key all run in one of the 4 shards of `wide`. (operators.wide.input)
                add `key`, a JSON pointer such as `/id`, to spread them
        "#]],
    );
}

#[test]
fn a_loop_over_a_topic_is_a_warning() {
    check(
        r#"
pipeline: p
sources: { a: { topic: one }, b: { topic: two } }
operators: { x: { module: pass, input: a }, y: { module: pass, input: b } }
sinks:
  forth: { topic: two, input: x }
  back: { topic: one, input: y }
  away: { topic: three, input: y }
"#,
        expect![[r#"
            a: source one x4
            b: source two x4
            x: pass@1.0.0 Transform x1 64MiB hold 30s
            y: pass@1.0.0 Transform x1 64MiB hold 30s
            forth: sink Topic { topic: "two", partitions: 4 }
            back: sink Topic { topic: "one", partitions: 4 }
            away: sink Topic { topic: "three", partitions: 4 }
            a.out (0) -> x#0
            b.out (0) -> y#0
            x.out (0) -> forth#0
            y.out (0) -> back#0
            y.out (0) -> away#0
            6:3: warning topic-loop: Events of `forth` come back to it over the topic `two`. (sinks.forth)
                make sure that each event goes round only so often, or use another topic
            7:3: warning topic-loop: Events of `back` come back to it over the topic `one`. (sinks.back)
                make sure that each event goes round only so often, or use another topic
        "#]],
    );
}

#[test]
fn all_that_name_a_topic_agree_on_its_partitions() {
    check(
        r#"
pipeline: p
sources: { a: { topic: one, partitions: 2 }, b: { topic: one, partitions: 3 }, c: { topic: two } }
sinks: { d: { topic: two, partitions: 16, input: [a, b] }, e: { discard: true, input: c } }
"#,
        expect![[r#"
            3:75: error conflict: The topic `one` has 3 partitions here and 2 in line 3. (sources.b.partitions)
                write the same number, or leave one out
        "#]],
    );
    check(
        r#"
pipeline: p
sources: { c: { topic: two } }
sinks: { d: { topic: two, partitions: 16, input: c } }
"#,
        expect![[r#"
            c: source two x16
            d: sink Topic { topic: "two", partitions: 16 }
            c.out (0) -> d#0
            4:10: warning topic-loop: Events of `d` come back to it over the topic `two`. (sinks.d)
                make sure that each event goes round only so often, or use another topic
        "#]],
    );
}

#[test]
fn a_problem_does_not_cause_others() {
    check(
        r#"
pipeline: p
sources: { s: { topic: BAD } }
operators:
  a: { module: nothing, input: s }
  b: { filter: x, input: a.out }
  c: []
sinks:
  out: { discard: true, input: [a.out, b, c] }
"#,
        expect![[r#"
            3:24: error invalid-value: `BAD` is not a topic name. (sources.s.topic)
                use 1 to 63 of the characters a-z, 0-9, `-` and `_`, and begin with a letter or digit
            5:16: error unknown-module: There is no module `nothing`. (operators.a.module)
                there are `order`, `inventory`, `pair`, `hidden`, `pass`, `zip`, `count`, `both`, `old` and 4 more
            6:8: error not-yet: The operator `filter` is not available in this version. (operators.b.filter)
                remove it for now
            7:6: error wrong-type: This is a list. (operators.c)
                write a mapping
        "#]],
    );
}

#[test]
fn shards_are_bounded() {
    let operators: String = (0..33)
        .map(|i| format!("  o{i}: {{ module: order@1.0.0, key: /id, parallelism: 128 }}\n"))
        .collect();
    check(
        &format!("pipeline: p\noperators:\n{operators}"),
        expect![[r#"
        35:3: error too-large: The operators have 4224 shards together. (operators)
            lower `parallelism`, so that there are at most 4096
    "#]],
    );
}

/// Compares what a source of the given schema gives with what is taken.
fn schemas(given: &str, taken: &str, expect: Expect) {
    let give = Description {
        outputs: vec![Port { name: "out".into(), doc: String::new(), schema: Some(given.into()) }],
        inputs: vec![Port { name: "in".into(), doc: String::new(), schema: Some(taken.into()) }],
        faces: vec![Face::Transform],
        ..Description::default()
    };
    let resolved = Resolved {
        pin: ModulePin {
            name: "m".parse().unwrap(),
            version: Version::new(1, 0, 0),
            digest: ModuleDigest([0; 32]),
        },
        description: Arc::new(give),
    };
    let yaml = "pipeline: p\nsources: { s: { topic: t } }\noperators: { a: { module: m, input: s }, b: { module: m, input: a } }";
    let problems = match Graph::from_text(yaml, &|_| Ok(resolved.clone())) {
        Ok(graph) => graph.warnings,
        Err(problems) => problems,
    };
    let text: Vec<_> = problems
        .iter()
        .map(|problem| format!("{:?}: {}", problem.severity, problem.message))
        .collect();
    expect.assert_eq(&text.join("\n"));
}

#[test]
fn only_certain_contradictions_of_schemas_are_refused() {
    schemas("{}", r#"{"type":"object"}"#, expect![[""]]);
    schemas("not json", r#"{"type":"object"}"#, expect![[""]]);
    schemas(
        r#"{"type":"string"}"#,
        r#"{"type":"object"}"#,
        expect!["Error: `a` gives a string, but an object is taken."],
    );
    schemas(r#"{"type":"integer"}"#, r#"{"type":"number"}"#, expect![[""]]);
    schemas(r#"{"type":"number"}"#, r#"{"type":"integer"}"#, expect![[""]]);
    schemas(r#"{"type":["string","null"]}"#, r#"{"type":["null","array"]}"#, expect![[""]]);
    schemas(
        r#"{"enum":["a","b"]}"#,
        r#"{"type":["integer","boolean"]}"#,
        expect!["Error: `a` gives a string, but a boolean or a whole number is taken."],
    );
    schemas(
        r#"{"anyOf":[{"type":"string"},{"type":"array"}]}"#,
        r#"{"const":5}"#,
        expect!["Error: `a` gives a string or an array, but a number is taken."],
    );
    schemas(
        "false",
        r#"{"type":"object"}"#,
        expect!["Error: `a` gives nothing, but an object is taken."],
    );
    let object = |properties: &str, required: &str, more: &str| {
        format!(
            r#"{{"type":"object","properties":{{{properties}}},"required":[{required}]{more}}}"#
        )
    };
    let closed = r#","additionalProperties":false"#;
    schemas(
        &object(r#""id":{"type":"string"}"#, r#""id""#, ""),
        &object(r#""id":{"type":"string"}"#, r#""id""#, closed),
        expect![[""]],
    );
    schemas(
        &object("", "", ""),
        &object(r#""id":{"type":"string"}"#, r#""id""#, ""),
        expect!["Warning: `a` does not speak of `id`, which is required."],
    );
    schemas(
        &object("", "", closed),
        &object(r#""id":{"type":"string"}"#, r#""id""#, ""),
        expect!["Error: `a` does not speak of `id`, which is required."],
    );
    schemas(
        &object(r#""id":{"type":"integer"}"#, "", ""),
        &object(r#""id":{"type":"string"}"#, r#""id""#, ""),
        expect!["Error: `id` of `a` is a whole number, but a string is taken."],
    );
    schemas(
        &object(r#""id":{"type":"integer"}"#, "", ""),
        &object(r#""id":{"type":"string"}"#, "", ""),
        expect![[""]],
    );
    schemas(
        r##"{"$ref":"#/$defs/Order","$defs":{"Order":{"type":"object","properties":{"id":{"$ref":"#/$defs/Id"}},"required":["id"]},"Id":{"type":"integer"}}}"##,
        r##"{"type":"object","properties":{"id":{"allOf":[{"$ref":"#/definitions/Id"}]}},"definitions":{"Id":{"type":"string"}}}"##,
        expect!["Error: `id` of `a` is a whole number, but a string is taken."],
    );
    let bomb = r##"{"anyOf":[{"$ref":"#"},{"$ref":"#"},{"$ref":"#"},{"$ref":"#"}],"allOf":[{"$ref":"#"},{"$ref":"#"}]}"##;
    schemas(bomb, bomb, expect![[""]]);
    schemas(r##"{"$ref":"#/a","a":{"$ref":"#"}}"##, r##"{"anyOf":[{"$ref":"#"}]}"##, expect![[""]]);
}

#[test]
fn a_configuration_must_be_what_its_module_wants() {
    check(
        r#"
pipeline: p
sources:
  in: { topic: in }
operators:
  good:   { module: tuned@1.0.0, input: in, key: /k, config: { step: 1, names: [a] } }
  wrong:  { module: tuned@1.0.0, input: in, key: /k, config: { step: x, names: [a, 2] } }
  none:   { module: tuned@1.0.0, input: in, key: /k }
  unsure: { module: unsure@1.0.0, input: in, key: /k, config: 7 }
"#,
        expect![[r#"
            7:62: error config-mismatch: The configuration does not fit: "x" is not of type "integer". (operators.wrong.config.step)
                change it, or see what `tuned@1.0.0` wants in its report
            7:62: error config-mismatch: The configuration does not fit: 2 is not of type "string". (operators.wrong.config.names.1)
                change it, or see what `tuned@1.0.0` wants in its report
            8:3: error config-missing: `tuned@1.0.0` needs a configuration. (operators.none)
                add `config:`; the module's report has its schema
            9:21: warning schema-unusable: The configuration is not checked: `unsure@1.0.0` has a schema for it that cannot be used: 7 is not valid under any of the schemas listed in the 'anyOf' keyword. (operators.unsure.module)
        "#]],
    );
}

#[test]
fn cells_that_should_expire_are_refused_for_now() {
    check(
        r#"
pipeline: p
sources:
  in: { topic: in }
operators:
  old: { module: aging@1.0.0, input: in, key: /k }
"#,
        expect![[r#"
            6:18: error not-yet: Cell `count` of `aging@1.0.0` has a time to live, which is not available in this version. (operators.old.module)
                build the module without it for now
        "#]],
    );
}
