//! `weir describe`.

use anyhow::Result;
use serde_json::Value;

use super::{
    client::{Client, encode},
    output::{Output, one_line, show, table},
    pipelines::Name,
};

pub(super) async fn describe(client: &Client, name: &Name, out: &Output) -> Result<()> {
    let path = format!("/pipelines/{}", encode(&name.pipeline));
    let pipeline = client.get(&path).await?;
    let audit = client.get(&format!("{path}/audit")).await?;
    if out.is_json() {
        let (pipeline, audit) = (pipeline.json(), audit.json());
        out.line(format!(r#"{{"pipeline":{pipeline},"audit":{audit}}}"#));
    } else {
        out.line(text(&pipeline.read()?, &audit.read()?));
    }
    Ok(())
}

fn text(pipeline: &Value, audit: &Value) -> String {
    let balanced = audit["balanced"] == true;
    let mut parts = vec![format!(
        "{}  {}  revision {}  audit {} at epoch {}",
        show(&pipeline["name"]),
        show(&pipeline["status"]),
        show(&pipeline["revision"]),
        if balanced { "balanced" } else { "NOT BALANCED" },
        show(&audit["epoch"]),
    )];
    if let Some(reason) = pipeline["status_reason"].as_str() {
        parts.push(format!("  {}", one_line(reason)));
    }
    if !balanced {
        parts.extend(imbalances(audit).into_iter().map(|line| format!("  {line}")));
    }
    let nodes = list(&pipeline["graph"]["nodes"]);
    for node in nodes {
        if let Some(error) = node["error"].as_str() {
            parts.push(format!("  {}: {}", show(&node["id"]), one_line(error)));
        }
    }
    let headings = ["NODE", "KIND", "MODULE", "IN", "OUT", "ERRORS", "DEAD LETTERS", "WAITING"];
    let rows = nodes.iter().map(|node| {
        ["id", "kind", "module", "records_in", "records_out", "errors", "dead_letters", "waiting"]
            .map(|field| show(&node[field]))
    });
    parts.extend([String::new(), table(headings, rows), String::new()]);
    let rows = list(&pipeline["graph"]["edges"]).iter().map(|edge| {
        let port = edge["port"].as_str().map(|port| format!(".{port}")).unwrap_or_default();
        let fill = edge["queue_fill"].as_f64().unwrap_or(0.0) * 100.0;
        [
            format!("{}{port}", show(&edge["from"])),
            show(&edge["to"]),
            match edge["kind"].as_str() {
                // The figures do not tell one from the other.
                Some("call") => "call or send".into(),
                _ => show(&edge["kind"]),
            },
            show(&edge["records"]),
            format!("{fill:.0} %"),
        ]
    });
    parts.push(table(["FROM", "TO", "KIND", "RECORDS", "QUEUE"], rows));
    parts.join("\n")
}

/// What does not add up, a line each.
fn imbalances(audit: &Value) -> Vec<String> {
    const ENDS: [&str; 7] =
        ["ended", "filtered", "skipped", "dead_lettered", "late", "shed", "waiting"];
    let off = |field: &str| list(&audit[field]).iter().filter(|of| of["balanced"] == false);
    let operators = off("operators").map(|operator| {
        let (id, taken) = (show(&operator["id"]), show(&operator["taken"]));
        format!("operator {id}: taken {taken}, but {}", sum(operator, &ENDS))
    });
    let edges = off("edges").map(|edge| {
        format!(
            "stream {}.{} to {}: sent {}, but {}",
            show(&edge["from"]),
            show(&edge["port"]),
            show(&edge["to"]),
            show(&edge["sent"]),
            sum(edge, &["taken", "queued"])
        )
    });
    let sources = off("sources").map(|source| {
        let read = list(&source["position"]).iter().map(|at| {
            let [partition, start, offset] =
                ["partition", "start", "offset"].map(|field| show(&at[field]));
            format!("partition {partition} is read from {start} to {offset}")
        });
        let read = read.collect::<Vec<_>>().join(", ");
        format!("source {}: taken {}, but {read}", show(&source["id"]), show(&source["taken"]))
    });
    operators.chain(edges).chain(sources).collect()
}

/// The figures that are not nought, and what they add up to.
fn sum(of: &Value, fields: &[&str]) -> String {
    let figures = fields.iter().map(|field| (field.replace('_', "-"), of[*field].as_u64()));
    let figures = figures.map(|(field, figure)| (field, u128::from(figure.unwrap_or(0))));
    let total: u128 = figures.clone().map(|(_, figure)| figure).sum();
    let terms =
        figures.filter(|(_, figure)| *figure > 0).map(|(f, figure)| format!("{f} {figure}"));
    let terms = terms.collect::<Vec<_>>().join(" + ");
    if terms.is_empty() { "nothing became of it".into() } else { format!("{terms} = {total}") }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::{Value, json};

    use super::text;

    fn pipeline() -> Value {
        json!({
            "name": "spending", "status": "running", "revision": 2,
            "graph": {
                "nodes": [
                    { "id": "in", "kind": "source", "records_in": 9, "records_out": 9, "errors": 0, "dead_letters": 0, "waiting": 0 },
                    { "id": "sum", "kind": "operator", "module": "sum@1.0.0", "records_in": 9, "records_out": 5, "errors": 3, "dead_letters": 1, "waiting": 3, "error": "it has\nno memory" },
                ],
                "edges": [{ "from": "in", "to": "sum", "port": "out", "kind": "stream", "records": 9, "queue_fill": 0.256 }],
            },
        })
    }

    #[test]
    fn a_pipeline_that_is_well() {
        expect![[r#"
            spending  running  revision 2  audit balanced at epoch 7
              sum: it has\nno memory

            NODE  KIND      MODULE     IN  OUT  ERRORS  DEAD LETTERS  WAITING
            in    source    -          9   9    0       0             0
            sum   operator  sum@1.0.0  9   5    3       1             3

            FROM    TO   KIND    RECORDS  QUEUE
            in.out  sum  stream  9        26 %"#]]
        .assert_eq(&text(&pipeline(), &json!({ "balanced": true, "epoch": 7 })));
    }

    #[test]
    fn what_does_not_add_up_is_listed_with_its_figures() {
        let audit = json!({
            "balanced": false, "epoch": 7,
            "operators": [
                { "id": "sum", "balanced": false, "taken": 9, "ended": 5, "filtered": 0, "skipped": 0, "dead_lettered": 1, "late": 0, "shed": 0, "waiting": 2 },
                { "id": "well", "balanced": true, "taken": 1, "ended": 1 },
                { "id": "lost", "balanced": false, "taken": 1 },
            ],
            "edges": [{ "from": "in", "port": "out", "to": "sum", "balanced": false, "sent": 9, "taken": 7, "queued": 1 }],
            "sources": [{ "id": "in", "balanced": false, "taken": 9, "position": [{ "partition": 0, "start": 2, "offset": 10 }] }],
        });
        let text = text(&pipeline(), &audit);
        let head: Vec<_> = text.lines().take(5).collect();
        expect![[r#"
            spending  running  revision 2  audit NOT BALANCED at epoch 7
              operator sum: taken 9, but ended 5 + dead-lettered 1 + waiting 2 = 8
              operator lost: taken 1, but nothing became of it
              stream in.out to sum: sent 9, but taken 7 + queued 1 = 8
              source in: taken 9, but partition 0 is read from 2 to 10"#]]
        .assert_eq(&head.join("\n"));
    }
}
