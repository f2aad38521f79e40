use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{units::format_duration, *};

/// Every problem of a file, one after another.
fn check(yaml: &str, expect: Expect) {
    let problems: Vec<_> =
        read(yaml).diagnostics.iter().map(|problem| format!("{problem}\n")).collect();
    expect.assert_eq(&problems.concat());
}

const ORDERS: &str = r#"
pipeline: order-fulfilment
sources:
  orders:   { topic: orders, from: earliest, timestamp: /created_at, watermark: { bound: 5s, idle: 1m }, partitions: 8 }
operators:
  order:
    module: order@1.0.0
    input: orders
    handler: place
    key: /order_id
    parallelism: 2
    concurrency: 64
    hold: 45s
    config: { currency: EUR, limits: [1, 2.5, true, null, "x"] }
    retry: { attempts: 3, first: 10ms, max: 1s, then: skip }
    limits: { memory: 32MiB, cpu: 2s, wall: 1m, output: 64KiB }
  inventory: { module: inventory@^1, key: /sku }
  shipping:  { module: shipping, input: [order.confirmed, order.changed] }
  audit:     { module: audit@1, input: { in: order.confirmed, other: [orders, order.rejected] } }
sinks:
  shipments: { topic: shipments, input: shipping.out }
  nothing:   { discard: true, input: order.rejected }
"#;

#[test]
fn every_field_of_a_file_is_understood() {
    check(ORDERS, expect![[""]]);
    let spec = read(ORDERS).spec;
    let source = &spec.sources[0];
    assert_eq!(source.partitions.as_ref().unwrap().value, 8);
    assert_eq!(source.timestamp.as_ref().unwrap().to_string(), "/created_at");
    assert_eq!(source.watermark.bound, Duration::from_secs(5));
    let order = &spec.operators[0];
    assert_eq!(order.id.place, Place { line: 6, column: 3 });
    assert_eq!(order.module.as_ref().unwrap().value.to_string(), "order@1.0.0");
    assert_eq!(
        order.config.as_ref().unwrap().value.to_string(),
        r#"{"currency":"EUR","limits":[1,2.5,true,null,"x"]}"#
    );
    assert_eq!((order.parallelism, order.concurrency.as_ref().unwrap().value), (2, 64));
    assert_eq!(order.retry.then, Exhausted::Skip);
    assert_eq!(order.limits.output, Some(ByteSize(65_536)));
    let streams: Vec<_> = spec.operators[3]
        .inputs
        .iter()
        .map(|input| format!("{} <- {}", input.entry.as_ref().unwrap().value, input.stream.value))
        .collect();
    assert_eq!(streams, ["in <- order.confirmed", "other <- orders", "other <- order.rejected"]);
    assert_eq!(spec.sinks[1].to, Some(SinkTarget::Discard));
}

#[test]
fn json_is_read_like_yaml() {
    let json = r#"{
  "pipeline": "p",
  "sources": { "in": { "topic": "a\u00e9\/b", "from": { "offset": 7 } } },
	"sinks": { "out": { "topic": "b", "input": "in", "emoji": "\\\ud83d\ude00\u00e9\\ud83d" } }
}"#;
    check(
        json,
        expect![[r#"
        3:33: error invalid-value: `aé/b` is not a topic name. (sources.in.topic)
            use 1 to 63 of the characters a-z, 0-9, `-` and `_`, and begin with a letter or digit
        4:51: error unknown-field: `emoji` is not known here. (sinks.out.emoji)
            there are `topic`, `partitions`, `discard` and `input`
    "#]],
    );
}

#[test]
fn escapes_of_json_are_understood() {
    let json = r#"{"pipeline":"p","operators":{"o":{"module":"m","config":{"a":"x\ud83d\ude00 \\ud83d\u00e9\/\n\"","\ud83d\ude00":[1e2,-0.5,1E-3]}}}}"#;
    let reading = read(json);
    assert_eq!(reading.diagnostics, []);
    expect![[r#"{"a":"x😀 \\ud83dé/\n\"","😀":[100.0,-0.5,0.001]}"#]]
        .assert_eq(&reading.spec.operators[0].config.as_ref().unwrap().value.to_string());
    let yaml = "pipeline: p\noperators: { o: { module: m, config: '\\ud83d\\ude00' } }";
    expect![[r#""\\ud83d\\ude00""#]]
        .assert_eq(&read(yaml).spec.operators[0].config.as_ref().unwrap().value.to_string());
}

#[test]
fn defaults_are_those_of_the_documentation() {
    let spec = read(
        "pipeline: p\nsources: { s: { topic: t } }\noperators: { o: { module: m, input: s } }",
    )
    .spec;
    assert_eq!(spec.sources[0].from, Start::Earliest);
    assert_eq!(
        spec.sources[0].watermark,
        Watermark { bound: Duration::ZERO, idle: Duration::from_secs(30) }
    );
    let operator = &spec.operators[0];
    assert_eq!((operator.parallelism, operator.hold), (1, Duration::from_secs(30)));
    assert_eq!(operator.retry.attempts, 10);
    assert_eq!(operator.retry.first, Duration::from_millis(50));
    assert_eq!(operator.retry.max, Duration::from_secs(60));
}

#[test]
fn all_problems_come_at_once_each_with_its_place() {
    check(
        r#"
pipeline: Order Fulfilment
sources:
  orders: { topik: orders, from: newest, watermark: { bound: 5 }, partitions: 0 }
operators:
  order:
    module: order@one
    input: [orders, 7, {}, orders]
    key: order_id
    paralelism: 2
    parallelism: many
    concurrency: 0
    hold: 1 week
    retry: { attempts: 0, first: 2s, max: 1s, then: stop, block_key: 1 }
    limits: { memory: 64MB, cpu: -1s, output: 9999999TiB }
  Bad.Name: { module: x }
  list: []
sinks:
  a: { topic: t, discard: true, input: order.out }
  b: { input: { x: order.out } }
  c: { topic: t }
"#,
        expect![[r#"
            2:11: error invalid-value: `Order Fulfilment` is not a pipeline name. (pipeline)
                use 1 to 63 of the characters a-z, 0-9, `-` and `_`, and begin with a letter or digit
            4:11: error missing-field: `topic` is missing. (sources.orders)
                add it, such as `topic: some-topic`
            4:13: error unknown-field: `topik` is not known here. (sources.orders.topik)
                did you mean `topic`?
            4:34: error invalid-value: `newest` is not a place to begin. (sources.orders.from)
                write `earliest`, `latest`, `{ timestamp: .. }` or `{ offset: .. }`
            4:62: error invalid-value: `5` is not a duration such as `5s`. (sources.orders.watermark.bound)
                write a whole number and one of ms, s, m, h or d, such as `50ms` or `5s`
            4:79: error invalid-value: 0 is out of bounds. (sources.orders.partitions)
                write a whole number from 1 to 1024
            7:13: error invalid-value: `order@one` is not a module such as `order@1.0.0`. (operators.order.module)
                `one` is not a version such as `1.0.0` or a range such as `^1`
            8:24: error wrong-type: This is a mapping. (operators.order.input)
                write a stream such as `orders` or `order.confirmed`, or a list of them
            8:28: error duplicate-name: `orders` stands here twice. (operators.order.input)
                name each stream once
            9:10: error invalid-value: `order_id` is not a JSON pointer. (operators.order.key)
                begin with `/`, such as `/order_id`
            10:5: error unknown-field: `paralelism` is not known here. (operators.order.paralelism)
                did you mean `parallelism`?
            11:18: error wrong-type: This is a string. (operators.order.parallelism)
                write a whole number from 1 to 128
            12:18: error invalid-value: 0 is out of bounds. (operators.order.concurrency)
                write a whole number from 1 to 1000000
            13:11: error invalid-value: `1 week` is not a duration such as `5s`. (operators.order.hold)
                write a whole number and one of ms, s, m, h or d, such as `50ms` or `5s`
            14:24: error invalid-value: 0 is out of bounds. (operators.order.retry.attempts)
                write a whole number from 1 to 1000000
            14:43: error conflict: The longest pause is shorter than the first one. (operators.order.retry.max)
                make `max` at least as long as `first`
            14:53: error invalid-value: `stop` is not known here. (operators.order.retry.then)
                write one of `dead-letter`, `skip` and `halt`
            14:70: error wrong-type: This is a number. (operators.order.retry.block_key)
                write `true` or `false`
            15:23: error invalid-value: `64MB` is not a size such as `64MiB`. (operators.order.limits.memory)
                write a whole number and one of B, KiB, MiB or GiB, such as `64MiB`
            15:34: error invalid-value: `-1s` is not a duration such as `5s`. (operators.order.limits.cpu)
                write a whole number and one of ms, s, m, h or d, such as `50ms` or `5s`
            15:47: error invalid-value: `9999999TiB` is not a size such as `64MiB`. (operators.order.limits.output)
                write a whole number and one of B, KiB, MiB or GiB, such as `64MiB`
            16:3: error invalid-value: `Bad.Name` is not a name. (operators.Bad.Name)
                use 1 to 63 of the characters a-z, 0-9, `-` and `_`, and begin with a letter or digit
            17:9: error wrong-type: This is a list. (operators.list)
                write a mapping
            19:15: error conflict: The sink has both a topic and `discard: true`. (sinks.a.topic)
                keep one of them
            20:3: error missing-field: The sink has no target. (sinks.b)
                add `topic: some-topic` or `discard: true`
            20:15: error wrong-type: This is a mapping. (sinks.b.input)
                write a stream such as `order.confirmed`, or a list of them
            21:6: error missing-field: `input` is missing. (sinks.c)
                add it, such as `input: some-operator.out`
        "#]],
    );
}

#[test]
fn what_is_not_there_yet_is_said_and_never_left_out() {
    check(
        r#"
pipeline: p
operators:
  payment: { module: payment@^1, grants: { http: ["https://pay.example"] }, on_failure: settle }
  revenue: { window: { tumbling: 1m }, input: payment.done, key: /currency, aggregate: { n: count } }
  odd:     { filter: "x > 1", input: revenue }
sinks:
  alerts:  { webhook: "https://ops.example/hook", input: odd }
"#,
        expect![[r#"
            4:34: error not-yet: Outbound HTTP (`grants`) is not available in this version. (operators.payment.grants)
                remove it for now
            4:77: error not-yet: Compensation (`on_failure`) is not available in this version. (operators.payment.on_failure)
                remove it for now
            5:14: error not-yet: The operator `window` is not available in this version. (operators.revenue.window)
                remove it for now
            5:77: error not-yet: `aggregate` is not available in this version. (operators.revenue.aggregate)
                remove it for now
            6:14: error not-yet: The operator `filter` is not available in this version. (operators.odd.filter)
                remove it for now
            8:14: error not-yet: A webhook sink is not available in this version. (sinks.alerts.webhook)
                remove it for now
        "#]],
    );
}

#[test]
fn a_key_says_what_becomes_of_events_without_it() {
    let operators = |key: &str| {
        read(&format!("pipeline: p\noperators: {{ o: {{ module: m, key: {key} }} }}"))
            .spec
            .operators
    };
    let skips = &operators("{ pointer: /bid/bidder, missing: skip }")[0];
    assert_eq!(skips.key.as_ref().unwrap().value.to_string(), "/bid/bidder");
    assert_eq!(skips.missing_key, MissingKey::Skip);
    assert_eq!(operators("{ pointer: /id }")[0].missing_key, MissingKey::DeadLetter);
    assert_eq!(operators("/id")[0].missing_key, MissingKey::DeadLetter);
    check(
        "pipeline: p\noperators:\n  a: { module: m, key: { pointr: /id, missing: drop } }\n  b: { module: m, key: [/id] }",
        expect![[r#"
            3:24: error missing-field: `pointer` is missing. (operators.a.key)
                add it, such as `pointer: /id`
            3:26: error unknown-field: `pointr` is not known here. (operators.a.key.pointr)
                did you mean `pointer`?
            3:48: error invalid-value: `drop` is not known here. (operators.a.key.missing)
                write one of `dead-letter` and `skip`
            4:24: error wrong-type: This is a list. (operators.b.key)
                write a JSON pointer
        "#]],
    );
}

#[test]
fn a_place_to_begin_is_a_word_a_time_or_an_offset() {
    let from = |from: &str| {
        let reading = read(&format!("pipeline: p\nsources: {{ s: {{ topic: t, from: {from} }} }}"));
        (reading.spec.sources[0].from, reading.diagnostics.len())
    };
    assert_eq!(from("latest"), (Start::Latest, 0));
    assert_eq!(from("{ offset: 12 }"), (Start::Offset(12), 0));
    assert_eq!(
        from("{ timestamp: 2026-01-31T12:00:00Z }"),
        (Start::Timestamp(crate::ids::EventTime(1_769_860_800_000)), 0)
    );
    assert_eq!(
        from("{ timestamp: 1769860800 }"),
        (Start::Timestamp(crate::ids::EventTime(1_769_860_800_000)), 0)
    );
    check(
        "pipeline: p\nsources:\n  a: { topic: t, from: { offset: 1, timestamp: 2 } }\n  b: { topic: t, from: {} }\n  c: { topic: t, from: { timestamp: soon, of: 1 } }\n  d: { topic: t, from: { offset: -1 } }",
        expect![[r#"
            3:34: error conflict: The source has two places to begin. (sources.a.from.offset)
                keep `timestamp` or `offset`
            4:24: error wrong-type: This is a mapping. (sources.b.from)
                write `earliest`, `latest`, `{ timestamp: .. }` or `{ offset: .. }`
            5:37: error invalid-value: `soon` is not a time. (sources.c.from.timestamp)
                write a time such as `2026-01-31T12:00:00Z`
            5:43: error unknown-field: `of` is not known here. (sources.c.from.of)
                there are `timestamp` and `offset`
            6:34: error invalid-value: -1 is out of bounds. (sources.d.from.offset)
                write a whole number from 0 to 9223372036854775807
        "#]],
    );
}

#[test]
fn text_that_is_not_yaml_is_refused_with_its_place() {
    check(
        "",
        expect![[r#"
        1:1: error syntax: The file is empty.
            begin with `pipeline:` and a name
    "#]],
    );
    check(
        "# only a comment\n",
        expect![[r#"
        1:1: error syntax: The file is empty.
            begin with `pipeline:` and a name
    "#]],
    );
    check(
        "pipeline: [a\nb: c",
        expect![[r#"
        2:2: error syntax: The file is not valid YAML: illegal placement of ':' indicator.
            mind the indentation and the quotes here and in the line before
    "#]],
    );
    check(
        "pipeline: p\n  sources: x\n",
        expect![[r#"
        2:10: error syntax: The file is not valid YAML: mapping values are not allowed in this context.
            mind the indentation and the quotes here and in the line before
    "#]],
    );
    check(
        "pipeline: \"p",
        expect![[r#"
        1:11: error syntax: The file is not valid YAML: while scanning a quoted scalar, found unexpected end of stream.
            mind the indentation and the quotes here and in the line before
    "#]],
    );
    check(
        "just text",
        expect![[r#"
        1:1: error wrong-type: This is a string.
            write a mapping
    "#]],
    );
    check(
        "- a\n- b\n",
        expect![[r#"
        1:1: error wrong-type: This is a list.
            write a mapping
    "#]],
    );
    check(
        "pipeline: p\n---\npipeline: q\n",
        expect![[r#"
        2:1: error syntax: The file has more than one document.
            keep one pipeline in a file, and remove the line `---`
    "#]],
    );
    check(
        "pipeline: p\noperators: { a: &a { b: *a } }\n",
        expect![[r#"
        2:25: error syntax: An alias stands inside of what it names.
    "#]],
    );
    check(
        "pipeline: p\noperators: *nobody\n",
        expect![[r#"
        2:12: error syntax: The file is not valid YAML: while parsing node, found unknown anchor.
            mind the indentation and the quotes here and in the line before
    "#]],
    );
    check(
        "pipeline: !mine p\n",
        expect![[r#"
        1:1: error empty: The pipeline has no sources, operators or sinks.
            add at least one under `operators`, or a source and a sink
        1:11: error syntax: The tag `!mine` has no meaning here.
            remove the tag
    "#]],
    );
    check(
        "pipeline: !!int p\n",
        expect![[r#"
        1:1: error missing-field: `pipeline` is missing.
            add it, such as `pipeline: my-pipeline`
        1:1: error empty: The pipeline has no sources, operators or sinks.
            add at least one under `operators`, or a source and a sink
        1:11: error wrong-type: `p` is not what its tag says.
    "#]],
    );
    check(
        "pipeline: p\n? [a, b]\n: c\n",
        expect![[r#"
        1:1: error empty: The pipeline has no sources, operators or sinks.
            add at least one under `operators`, or a source and a sink
        2:3: error wrong-type: A name is a list or a mapping.
            write a word before the `:`
    "#]],
    );
    check(
        "\u{0}\u{1}",
        expect![[r#"
        1:1: error syntax: The file is not valid YAML: found unprintable character.
            mind the indentation and the quotes here and in the line before
    "#]],
    );
}

#[test]
fn a_name_that_stands_twice_is_a_problem() {
    check(
        "pipeline: p\nsources:\n  s: { topic: t, topic: u }\n  s: { topic: t }\npipeline: q\n",
        expect![[r#"
            3:18: error duplicate-name: `topic` stands here twice. (sources.s)
                it is already in line 3
            4:3: error duplicate-name: `s` stands here twice. (sources)
                it is already in line 3
            5:1: error duplicate-name: `pipeline` stands here twice.
                it is already in line 1
        "#]],
    );
}

#[test]
fn anchors_are_followed() {
    let yaml = "pipeline: p\nsources: { s: { topic: t } }\noperators:\n  a: { module: m, input: s, retry: &r { attempts: 2 } }\n  b: { module: m, input: s, retry: *r }\n";
    check(yaml, expect![[""]]);
    assert_eq!(read(yaml).spec.operators[1].retry.attempts, 2);
}

#[test]
fn a_hostile_file_is_refused_before_it_grows() {
    check(
        &"x".repeat((1 << 20) + 1),
        expect![[r#"
        1:1: error too-large: The file has 1048577 bytes.
            keep it below 1048576 bytes
    "#]],
    );
    check(
        &format!("pipeline: {}", "[".repeat(100_000)),
        expect![[r#"
        1:266: error syntax: The file is not valid YAML: recursion limit exceeded.
            mind the indentation and the quotes here and in the line before
    "#]],
    );
    check(
        &format!("{}1", "a: {".repeat(200)),
        expect![[r#"
        1:256: error too-large: Values are nested more than 64 deep.
    "#]],
    );
    check(
        &format!("pipeline: {}", "- ".repeat(200)),
        expect![[r#"
        1:11: error syntax: The file is not valid YAML: block sequence entries are not allowed in this context.
            mind the indentation and the quotes here and in the line before
    "#]],
    );
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for i in 1..10 {
        let before = vec![format!("*a{}", i - 1); 10].join(", ");
        bomb.push_str(&format!("a{i}: &a{i} [{before}]\n"));
    }
    check(
        &bomb,
        expect![[r#"
        6:10: error too-large: The file has more than 200000 values, aliases expanded.
    "#]],
    );
}

#[test]
fn a_wide_file_is_read_in_linear_time() {
    let names: String = (0..60_000).map(|i| format!("a{i}: 1\n")).collect();
    let diagnostics = read(&names).diagnostics;
    assert_eq!(diagnostics.len(), 1_001);
    expect!["999:1: error more: There are 59002 more problems from here on."]
        .assert_eq(&diagnostics[1_000].to_string());
    let same = "a: 1\n".repeat(90_000);
    assert_eq!(read(&same).diagnostics.len(), 1_001);
    let inputs: String = (0..50_000).map(|i| format!("    - s{i}.x\n")).collect();
    assert!(
        !read(&format!("pipeline: p\noperators:\n  o:\n   module: m\n   input:\n{inputs}"))
            .diagnostics
            .is_empty()
    );
}

#[test]
fn durations_and_sizes_are_shown_as_they_are_written() {
    for text in ["0s", "1ms", "50ms", "1500ms", "5s", "2m", "1h", "3d"] {
        assert_eq!(format_duration(units::parse_duration(text).unwrap()), text);
    }
    for text in ["", "5", "s", "-1s", "1.5s", "1 day", "99999999999999999999s", "400000d", "5S"] {
        assert!(units::parse_duration(text).is_err(), "{text}");
    }
    for text in ["0B", "100B", "64KiB", "64MiB", "2GiB"] {
        assert_eq!(text.parse::<ByteSize>().unwrap().to_string(), text);
    }
    for text in ["", "5", "MiB", "64MB", "64 mib", "-1MiB", "9999999999GiB"] {
        assert!(text.parse::<ByteSize>().is_err(), "{text}");
    }
}

#[test]
fn a_whole_version_means_exactly_that_one() {
    let versions: Vec<semver::Version> = ["1.0.0", "1.0.1", "1.2.0", "2.0.0", "2.1.0-beta.1"]
        .map(|version| version.parse().unwrap())
        .into();
    let newest =
        |text: &str| text.parse::<ModuleRef>().ok()?.select(&versions).map(ToString::to_string);
    assert_eq!(newest("m@1.0.0").as_deref(), Some("1.0.0"));
    assert_eq!(newest("m@^1").as_deref(), Some("1.2.0"));
    assert_eq!(newest("m@1").as_deref(), Some("1.2.0"));
    assert_eq!(newest("m@~1.0").as_deref(), Some("1.0.1"));
    assert_eq!(newest("m@>=1, <1.2").as_deref(), Some("1.0.1"));
    assert_eq!(newest("m").as_deref(), Some("2.0.0"));
    assert_eq!(newest("m@2.1.0-beta.1").as_deref(), Some("2.1.0-beta.1"));
    assert_eq!(newest("m@3"), None);
    for text in ["", "@1", "M@1", "m@", "m@latest", "m@1@2"] {
        assert!(text.parse::<ModuleRef>().is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in "[a-z:{}\\[\\],&*!|>'\"#%@\\-? \n\t0-9]{0,200}") {
        let _ = read(&text);
    }

    #[test]
    fn a_changed_file_is_read_without_a_panic(at in 0..ORDERS.len(), with in "\\PC{0,3}", cut in any::<bool>()) {
        let mut text = ORDERS.to_owned();
        if text.is_char_boundary(at) {
            if cut { text.truncate(at) } else { text.insert_str(at, &with) }
        }
        let _ = read(&text);
    }
}

#[test]
fn the_page_on_pipeline_files_shows_files_that_are_right_and_names_every_field() {
    let page = include_str!("../../../../docs/pipeline-file.md");
    let files: Vec<_> = page
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```").map(|(file, _)| file))
        .collect();
    assert_eq!(files.len(), 2);
    for file in files {
        assert_eq!(read(file).diagnostics, [], "{file}");
    }
    let unknown = "{ pipeline: p, sources: { a: { x: 1 } }, sinks: { b: { x: 1 } }, \
        operators: { c: { x: 1, retry: { x: 1 }, limits: { x: 1 } } } }";
    let refused = read(unknown).diagnostics;
    assert_eq!(refused.iter().filter(|problem| problem.code == "unknown-field").count(), 5);
    let others = [
        "topic",
        "partitions",
        "from",
        "timestamp",
        "watermark",
        "attempts",
        "first",
        "max",
        "then",
        "block_key",
        "memory",
        "cpu",
        "wall",
        "output",
        "discard",
    ];
    for field in operator::KNOWN.into_iter().chain(others) {
        assert!(page.contains(&format!("\n| `{field}` |")), "{field}");
    }
}
