//! `weir dead-letters`.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    client::{Client, encode},
    date,
    output::{Output, cut, one_line, show},
};

#[derive(clap::Args)]
pub(super) struct DeadLetterArgs {
    /// The pipeline.
    pipeline: String,
    /// Only those of this operator.
    #[arg(long)]
    operator: Option<String>,
    /// Show this one in full: error, backtrace, key, value.
    #[arg(long, value_name = "ID", conflicts_with = "discard")]
    show: Option<String>,
    /// Discard this one.
    #[arg(long, value_name = "ID")]
    discard: Option<String>,
}

/// One of them; what users wrote stays as it is.
#[derive(Deserialize)]
struct Letter {
    id: String,
    operator: String,
    handler: String,
    module: String,
    #[serde(default)]
    key: Value,
    value: Box<RawValue>,
    headers: Box<RawValue>,
    source: Option<Source>,
    attempts: u64,
    code: String,
    error: String,
    panic: Option<String>,
    backtrace: Option<String>,
    #[serde(default)]
    calls_done: Vec<String>,
    #[serde(default)]
    blocks_key: bool,
    timestamp: i64,
    at: i64,
}

#[derive(Deserialize)]
struct Source {
    topic: String,
    partition: u64,
    offset: u64,
}

pub(super) async fn dead_letters(
    client: &Client,
    args: &DeadLetterArgs,
    out: &Output,
) -> Result<()> {
    let mut path = format!("/pipelines/{}/dead-letters", encode(&args.pipeline));
    if let Some(id) = &args.discard {
        let path = format!("{path}/{}/discard", encode(id));
        client.ask(client.request(Method::POST, &path)).await?;
        out.answer(serde_json::json!({ "discarded": id }).to_string(), || {
            format!("{id} discarded")
        });
        return Ok(());
    }
    if let Some(operator) = &args.operator {
        let _ = write!(path, "?operator={}", encode(operator));
    }
    if let Some(id) = &args.show {
        let letter = find(client, &path, id).await?;
        let read = serde_json::from_str(letter.get())?;
        out.answer(letter.get(), || in_full(&read));
        return Ok(());
    }
    let letters = client.pages(&path, "dead_letters").await?;
    let headings = ["ID", "OPERATOR", "HANDLER OR INPUT", "KEY", "ATTEMPTS", "CODE", "ERROR"];
    out.list(&letters, headings, |letter: &Letter| {
        [
            letter.id.clone(),
            letter.operator.clone(),
            letter.handler.clone(),
            cut(&show(&letter.key), 40),
            letter.attempts.to_string(),
            letter.code.clone(),
            cut(&words(letter), 80),
        ]
    })
}

/// Looks for one, page by page: the API has no address for one alone.
async fn find(client: &Client, path: &str, id: &str) -> Result<Box<RawValue>> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        id: std::borrow::Cow<'a, str>,
    }
    let mut after = None::<String>;
    loop {
        let (page, next) = client.page(path, "dead_letters", after.as_deref()).await?;
        for letter in page.rows {
            if serde_json::from_str::<Named<'_>>(letter.get())?.id == id {
                return Ok(letter);
            }
        }
        match next {
            Some(next) => after = Some(next),
            None => bail!("there is no dead letter {id}: `weir dead-letters` lists them"),
        }
    }
}

/// The first line of what went wrong; of a panic the guest's own words.
fn words(letter: &Letter) -> String {
    let text = letter.panic.as_deref().unwrap_or(&letter.error);
    one_line(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim())
}

/// All that is known of one.
fn in_full(letter: &Letter) -> String {
    let mut out = String::new();
    let mut field = |name: &str, text: String| {
        let _ = writeln!(out, "{name:<11} {text}");
    };
    field("id", letter.id.clone());
    field("operator", format!("{}.{}  {}", letter.operator, letter.handler, letter.module));
    field("given up", format!("{} after attempt {}", date::exact(letter.at), letter.attempts));
    if let Some(source) = &letter.source {
        field("record", format!("{} {}/{}", source.topic, source.partition, source.offset));
    }
    field("event time", date::exact(letter.timestamp));
    let blocks = if letter.blocks_key { "  (blocked until this is discarded)" } else { "" };
    field("key", format!("{}{blocks}", show(&letter.key)));
    field("value", letter.value.get().to_owned());
    if letter.headers.get() != "{}" {
        field("headers", letter.headers.get().to_owned());
    }
    field("code", letter.code.clone());
    field("error", indented(&letter.error));
    if let Some(panic) = letter.panic.as_ref().filter(|panic| **panic != letter.error) {
        field("panic", indented(panic));
    }
    if let Some(backtrace) = &letter.backtrace {
        field("backtrace", indented(backtrace));
    }
    match letter.calls_done.as_slice() {
        [] => field("calls done", "none".into()),
        calls => field("calls done", format!("{}  (they stay done)", calls.join(", "))),
    }
    out.trim_end().to_owned()
}

/// Text of several lines, each but the first below it.
fn indented(text: &str) -> String {
    text.trim_end().lines().map(one_line).collect::<Vec<_>>().join("\n            ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Letter, in_full, words};

    fn letter(more: &serde_json::Value) -> Letter {
        let mut letter = json!({
            "id": "i1", "operator": "sum", "handler": "add", "module": "sum@1.0.0",
            "key": "ann", "value": { "amount": 1 }, "headers": {}, "source": null,
            "attempts": 2, "code": "trap", "error": "the guest trapped: unreachable",
            "calls_done": [], "blocks_key": false, "timestamp": 0, "at": 1500,
        });
        let members = more.as_object().unwrap().clone();
        letter.as_object_mut().unwrap().extend(members);
        serde_json::from_str(&letter.to_string()).unwrap()
    }

    #[test]
    fn the_list_has_the_guests_own_words_on_one_line() {
        assert_eq!(words(&letter(&json!({}))), "the guest trapped: unreachable");
        let panic = json!({ "panic": "\nno amount\u{1b}[31m\nat src/lib.rs" });
        assert_eq!(words(&letter(&panic)), "no amount\\u{1b}[31m");
    }

    #[test]
    fn one_alone_is_shown_in_full() {
        let letter = letter(&json!({
            "source": { "id": "in", "topic": "payments", "partition": 1, "offset": 7 },
            "panic": "no amount", "backtrace": "add\nmain\n",
            "calls_done": ["payment.charge"], "blocks_key": true, "headers": { "a": "b" },
        }));
        expect_test::expect![[r#"
            id          i1
            operator    sum.add  sum@1.0.0
            given up    1970-01-01T00:00:01.500Z after attempt 2
            record      payments 1/7
            event time  1970-01-01T00:00:00.000Z
            key         ann  (blocked until this is discarded)
            value       {"amount":1}
            headers     {"a":"b"}
            code        trap
            error       the guest trapped: unreachable
            panic       no amount
            backtrace   add
                        main
            calls done  payment.charge  (they stay done)"#]]
        .assert_eq(&in_full(&letter));
    }
}
