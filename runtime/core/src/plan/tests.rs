use std::sync::Arc;

use expect_test::{Expect, expect};

use super::*;
use crate::{
    description::{Face, Handler, Port},
    graph::{Graph, Resolved},
    ids::ModuleDigest,
};

fn plan(yaml: &str) -> Plan {
    let port = |name: &str| Port { name: name.into(), doc: String::new(), schema: None };
    let handler = Handler {
        name: "on".into(),
        doc: String::new(),
        takes_events: true,
        takes_calls: true,
        read_only: false,
        input_schema: None,
        output_schema: None,
    };
    let description = Arc::new(Description {
        handlers: vec![handler],
        outputs: vec![port("out"), port("err")],
        faces: vec![Face::Handler],
        ..Description::default()
    });
    let graph = Graph::from_text(yaml, &|reference| {
        Ok(Resolved {
            pin: ModulePin {
                name: reference.name.clone(),
                version: semver::Version::new(1, 2, 3),
                digest: ModuleDigest([1; 32]),
            },
            description: Arc::clone(&description),
        })
    });
    graph.unwrap().into()
}

/// The tasks with their nodes and shards, and how events find their shard.
fn check(nodes: &str, expect: Expect) {
    let plan = plan(&format!("pipeline: p\n{nodes}"));
    let id = |index: u16| plan.nodes[usize::from(index)].id.as_str();
    let mut text = String::new();
    for task in &plan.tasks {
        let nodes: Vec<_> = task.nodes.iter().map(|node| id(*node)).collect();
        text.push_str(&format!("{} x{}\n", nodes.join(" "), task.shards));
    }
    for edge in &plan.edges {
        text.push_str(&format!(
            "{}.{} -> {} {:?}\n",
            id(edge.from),
            edge.port_name,
            id(edge.to),
            edge.partitioning
        ));
    }
    check_whole(&plan);
    expect.assert_eq(&text);
}

/// What the engine relies on.
fn check_whole(plan: &Plan) {
    let mut unit = 0;
    for (index, node) in plan.nodes.iter().enumerate() {
        assert_eq!((usize::from(node.index), node.first_unit), (index, unit));
        unit += node.shards;
        let task = &plan.tasks[usize::from(node.task)];
        assert!(task.nodes.contains(&node.index));
        assert_eq!(task.shards, node.shards);
        if node.shards > 1 && matches!(node.kind, NodeKind::Operator(_)) {
            assert!(plan.inputs_of(node.index).all(|edge| edge.partitioning == Partitioning::Hash));
        }
    }
    assert_eq!(plan.tasks.iter().map(|task| task.nodes.len()).sum::<usize>(), plan.nodes.len());
    for (index, edge) in plan.edges.iter().enumerate() {
        assert_eq!(usize::from(edge.index), index);
        assert!(edge.from < edge.to);
        let same = plan.nodes[usize::from(edge.from)].task == plan.nodes[usize::from(edge.to)].task;
        assert_eq!(edge.partitioning == Partitioning::Forward, same);
    }
    for (index, task) in plan.tasks.iter().enumerate() {
        assert_eq!(usize::from(task.index), index);
        for node in &task.nodes[1..] {
            assert!(plan.inputs_of(*node).all(|edge| edge.partitioning == Partitioning::Forward));
        }
    }
}

#[test]
fn an_operator_joins_a_source_whose_keys_it_keeps() {
    check(
        "sources: { s: { topic: t } }\noperators: { a: { module: m, input: s } }",
        expect![[r#"
            s a x1
            s.out -> a Forward
        "#]],
    );
}

#[test]
fn an_operator_that_re_keys_a_source_stays_apart() {
    check(
        "sources: { s: { topic: t } }\noperators: { a: { module: m, input: s, key: /id } }",
        expect![[r#"
            s x1
            a x1
            s.out -> a Hash
        "#]],
    );
}

#[test]
fn a_source_has_the_shards_of_its_widest_consumer_up_to_its_partitions() {
    check(
        "sources: { s: { topic: t, partitions: 3 } }\noperators: { a: { module: m, input: s, key: /id, parallelism: 8 }, b: { module: m, input: s, key: /id, parallelism: 2 } }",
        expect![[r#"
            s x3
            a x8
            b x2
            s.out -> a Hash
            s.out -> b Hash
        "#]],
    );
}

#[test]
fn neighbours_with_one_shard_join_whatever_their_keys() {
    check(
        "sources: { s: { topic: t } }\noperators: { a: { module: m, input: s, key: /id }, b: { module: m, input: a.out }, c: { module: m, input: b.out, key: /other }, d: { module: m, input: a.err } }",
        expect![[r#"
            s x1
            a b c d x1
            s.out -> a Hash
            a.out -> b Forward
            a.err -> d Forward
            b.out -> c Forward
        "#]],
    );
}

#[test]
fn an_operator_with_two_inputs_stays_apart() {
    check(
        "sources: { s: { topic: t } }\noperators: { a: { module: m, input: s, key: /id }, b: { module: m, input: [a.out, a.err] } }",
        expect![[r#"
            s x1
            a x1
            b x1
            s.out -> a Hash
            a.out -> b Hash
            a.err -> b Hash
        "#]],
    );
}

#[test]
fn an_operator_with_several_shards_joins_nobody() {
    check(
        "sources: { s: { topic: t } }\noperators: { a: { module: m, input: s, key: /id, parallelism: 2 }, b: { module: m, input: a.out, key: /id, parallelism: 2 }, c: { module: m, input: b.out } }",
        expect![[r#"
            s x2
            a x2
            b x2
            c x1
            s.out -> a Hash
            a.out -> b Hash
            b.out -> c Hash
        "#]],
    );
}

#[test]
fn a_sink_joins_its_producers_if_they_are_one_task() {
    check(
        "sources: { s: { topic: t } }\noperators: { a: { module: m, input: s, key: /id, parallelism: 4 } }\nsinks: { x: { topic: x, input: a.out }, y: { discard: true, input: [a.out, a.err] }, raw: { topic: raw, input: s } }",
        expect![[r#"
            s raw x4
            a x y x4
            s.out -> a Hash
            s.out -> raw Forward
            a.out -> x Forward
            a.out -> y Forward
            a.err -> y Forward
        "#]],
    );
    check(
        "sources: { s: { topic: t } }\noperators: { a: { module: m, input: s, key: /id, parallelism: 4 }, b: { module: m, input: s, key: /id } }\nsinks: { x: { topic: x, input: [a.out, b.out] } }",
        expect![[r#"
            s x4
            a x4
            b x1
            x x4
            s.out -> a Hash
            s.out -> b Hash
            a.out -> x Hash
            b.out -> x Hash
        "#]],
    );
}

#[test]
fn an_operator_that_is_only_called_is_a_task_of_its_own() {
    check(
        "operators: { a: { module: m, key: /id, parallelism: 3 } }\nsinks: { x: { topic: x, input: a.err } }",
        expect![[r#"
        a x x3
        a.err -> x Forward
    "#]],
    );
}

#[test]
fn the_summary_is_what_the_api_shows() {
    let plan = plan(
        "pipeline: p\nsources: { s: { topic: t, timestamp: /at } }\noperators: { a: { module: m, input: s, key: /id, config: { x: 1 } } }\nsinks: { x: { topic: x, input: a.out }, y: { discard: true, input: a.err } }",
    );
    expect![[r#"
        {
          "pipeline": "p",
          "nodes": [
            {
              "id": "s",
              "shards": 1,
              "task": 0,
              "kind": "source",
              "topic": "t",
              "partitions": 4,
              "from": "earliest",
              "timestamp": "/at",
              "watermark": {
                "bound_ms": 0,
                "idle_ms": 30000
              }
            },
            {
              "id": "a",
              "shards": 1,
              "task": 1,
              "kind": "operator",
              "module": "m@1.2.3",
              "digest": "sha256:0101010101010101010101010101010101010101010101010101010101010101",
              "runs": "handlers",
              "key": "/id",
              "missing_key": "dead-letter",
              "concurrency": 1024,
              "attempts": 10,
              "then": "dead-letter",
              "memory": "64MiB",
              "cpu": "1s"
            },
            {
              "id": "x",
              "shards": 1,
              "task": 1,
              "kind": "sink",
              "topic": "x",
              "partitions": 4
            },
            {
              "id": "y",
              "shards": 1,
              "task": 1,
              "kind": "sink"
            }
          ],
          "edges": [
            {
              "from": "s",
              "port": "out",
              "to": "a",
              "entry": "on",
              "key": "/id",
              "partitioning": "hash"
            },
            {
              "from": "a",
              "port": "out",
              "to": "x",
              "partitioning": "forward"
            },
            {
              "from": "a",
              "port": "err",
              "to": "y",
              "partitioning": "forward"
            }
          ],
          "tasks": [
            {
              "index": 0,
              "nodes": [
                0
              ],
              "shards": 1
            },
            {
              "index": 1,
              "nodes": [
                1,
                2,
                3
              ],
              "shards": 1
            }
          ]
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&plan.summary()).unwrap());
}
