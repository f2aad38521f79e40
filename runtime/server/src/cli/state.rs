//! `weir state`.

use std::{collections::BTreeMap, fmt::Write as _};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{
    client::{Client, encode},
    output::{Output, WIDTH, count, cut, one_line, show as text},
};

#[derive(clap::Args)]
pub(super) struct StateArgs {
    /// The pipeline.
    pipeline: String,
    /// The operator.
    operator: String,
    /// The key, whose cells are shown in full; without one, all keys are listed.
    key: Option<String>,
    /// Only keys that begin so.
    #[arg(long, conflicts_with = "key")]
    prefix: Option<String>,
    /// Only this cell.
    #[arg(long)]
    cell: Option<String>,
}

/// What a key has, as the server wrote it.
#[derive(Deserialize, Serialize)]
struct StateOfKey {
    key: Value,
    cells: BTreeMap<String, Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cut: Vec<String>,
}

pub(super) async fn show(client: &Client, args: &StateArgs, out: &Output) -> Result<()> {
    let mut path =
        format!("/pipelines/{}/operators/{}/state", encode(&args.pipeline), encode(&args.operator));
    if let Some(key) = &args.key {
        return show_key(client, &path, key, args.cell.as_deref(), out).await;
    }
    let _ = write!(path, "?prefix={}", encode(args.prefix.as_deref().unwrap_or_default()));
    if let Some(cell) = &args.cell {
        let _ = write!(path, "&cell={}", encode(cell));
    }
    let keys = client.pages(&path, "keys").await?;
    out.list(&keys, ["KEY", "CELLS"], |state: &StateOfKey| {
        let key = cut(&text(&state.key), WIDTH / 2);
        // The column of keys is as wide as its widest: lines may still end a bit apart.
        let rest = WIDTH - key.chars().count().max("KEY".len()) - 2;
        [key, cut(&in_one_line(state), rest)]
    })
}

async fn show_key(
    client: &Client,
    path: &str,
    key: &str,
    cell: Option<&str>,
    out: &Output,
) -> Result<()> {
    let answer = client.get(&format!("{path}/{}", encode(key))).await?;
    let Some(cell) = cell else {
        let state = answer.read()?;
        out.answer(answer.json(), || in_full(&state));
        return Ok(());
    };
    let mut state: StateOfKey = answer.read()?;
    state.cells.retain(|name, _| name == cell);
    state.cut.retain(|name| name == cell);
    out.answer(serde_json::to_string(&state)?, || {
        match state.cells.is_empty() && state.cut.is_empty() {
            true => format!("no cell {cell} under key {}", text(&state.key)),
            false => in_full(&state),
        }
    });
    Ok(())
}

/// What a cell holds, as far as its JSON tells.
enum Shape {
    /// A map, or a value that is an object.
    Map(BTreeMap<String, Box<RawValue>>),
    /// A list, or a value that is an array.
    List(Vec<Box<RawValue>>),
    Scalar,
}

fn shape(cell: &RawValue) -> Shape {
    let json = cell.get();
    serde_json::from_str(json)
        .map(Shape::Map)
        .or_else(|_| serde_json::from_str(json).map(Shape::List))
        .unwrap_or(Shape::Scalar)
}

/// A key's cells on one line: scalars as they are, then how much the others hold.
fn in_one_line(state: &StateOfKey) -> String {
    let (mut scalars, mut others) = (Vec::new(), Vec::new());
    for (name, cell) in &state.cells {
        let entries = match shape(cell) {
            Shape::Scalar => {
                scalars.push(format!("{}: {}", one_line(name), cell.get()));
                continue;
            }
            Shape::Map(entries) => entries.len(),
            Shape::List(entries) => entries.len(),
        };
        let entries = count(entries, "entry", "entries");
        let more = if state.cut.contains(name) { "more than " } else { "" };
        others.push(format!("{}: {more}{entries}", one_line(name)));
    }
    scalars.append(&mut others);
    scalars.extend(unseen(state).map(|name| format!("{}: too large", one_line(name))));
    scalars.join("  ")
}

/// A key's cells, one after the other, with a line for each entry.
fn in_full(state: &StateOfKey) -> String {
    if state.cells.is_empty() && state.cut.is_empty() {
        return format!("no state under key {}", text(&state.key));
    }
    let mut lines = Vec::new();
    for (name, cell) in &state.cells {
        let shown = one_line(name);
        match shape(cell) {
            Shape::Scalar => lines.push(format!("{shown}: {}", cell.get())),
            Shape::Map(entries) => {
                lines.push(format!("{shown}: {}", count(entries.len(), "entry", "entries")));
                let entries = entries.iter();
                lines.extend(entries.map(|(key, v)| format!("  {}: {}", one_line(key), v.get())));
            }
            Shape::List(entries) => {
                lines.push(format!("{shown}: {}", count(entries.len(), "entry", "entries")));
                lines.extend(entries.iter().map(|value| format!("  - {}", value.get())));
            }
        }
        if state.cut.contains(name) {
            lines.push("  … and more, which are not shown".into());
        }
    }
    lines.extend(unseen(state).map(|name| format!("{}: too large to be shown", one_line(name))));
    lines.join("\n")
}

/// Cells of which nothing was shown, since the key has so much.
fn unseen(state: &StateOfKey) -> impl Iterator<Item = &str> {
    state.cut.iter().filter(|name| !state.cells.contains_key(*name)).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::{StateOfKey, in_full, in_one_line};

    fn state(cells: &str, cut: &[&str]) -> StateOfKey {
        let cut = cut.iter().map(|name| (*name).to_owned()).collect();
        StateOfKey { key: "ann".into(), cells: serde_json::from_str(cells).unwrap(), cut }
    }

    #[test]
    fn scalars_come_first_and_what_is_long_is_counted() {
        let state = state(
            r#"{"lines":{"b":1,"a":2},"total":12345678901234567890123,"log":[],"name":"x","big":[1]}"#,
            &["big"],
        );
        assert_eq!(
            in_one_line(&state),
            r#"name: "x"  total: 12345678901234567890123  big: more than 1 entry  lines: 2 entries  log: 0 entries"#
        );
    }

    #[test]
    fn a_key_is_shown_with_a_line_for_each_entry() {
        let state = state(r#"{"n":1e400,"lines":{"b":{"x":1},"a":2},"log":["p","q"]}"#, &["log"]);
        expect_test::expect![[r#"
            lines: 2 entries
              a: 2
              b: {"x":1}
            log: 2 entries
              - "p"
              - "q"
              … and more, which are not shown
            n: 1e400"#]]
        .assert_eq(&in_full(&state));
    }

    #[test]
    fn a_cell_that_there_was_no_room_for_is_named() {
        let state = state(r#"{"n":1}"#, &["photo"]);
        assert_eq!(in_one_line(&state), "n: 1  photo: too large");
        assert_eq!(in_full(&state), "n: 1\nphoto: too large to be shown");
    }

    #[test]
    fn a_key_without_state_says_so() {
        assert_eq!(in_full(&state("{}", &[])), "no state under key ann");
    }
}
