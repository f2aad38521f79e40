//! `weir send` and `weir tail`.

use std::{io::BufRead as _, path::PathBuf};

use anyhow::{Context as _, Result, bail};
use futures::StreamExt as _;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    client::{Client, encode},
    date,
    output::{Output, count, show},
    progress,
};

/// Records in one request: a few megabytes at most.
const CHUNK_BYTES: usize = 2 * 1024 * 1024;
const CHUNK_RECORDS: usize = 5_000;

#[derive(clap::Args)]
pub(super) struct SendArgs {
    /// The topic.
    topic: String,
    /// Values; without any, and without a file, lines of standard input.
    values: Vec<String>,
    /// A file with one value a line.
    #[arg(short, long, conflicts_with = "values")]
    file: Option<PathBuf>,
    /// The key of the value (one value only).
    #[arg(short, long)]
    key: Option<String>,
    /// Lines are objects `{key?, value, timestamp?, headers?}` instead of bare values.
    #[arg(long)]
    envelope: bool,
}

#[derive(clap::Args)]
pub(super) struct TailArgs {
    /// The topic.
    topic: String,
    /// Where to begin: `latest`, `earliest` or an offset (of every partition).
    #[arg(long, default_value = "latest")]
    from: String,
    /// Stop after so many records.
    #[arg(short = 'n', long)]
    count: Option<u64>,
}

pub(super) async fn send(client: &Client, args: &SendArgs, out: &Output) -> Result<()> {
    let path = format!("/topics/{}/records", encode(&args.topic));
    if let Some(key) = &args.key {
        let [value] = args.values.as_slice() else {
            bail!("--key goes with exactly one value");
        };
        let request = client
            .request(Method::POST, &path)
            .header("content-type", "application/octet-stream")
            .header("x-weir-key", key)
            .body(value.clone());
        client.ask(request).await?;
        return told(1, out);
    }

    let path = if args.envelope { format!("{path}?envelope=true") } else { path };
    let (lines, length): (Box<dyn std::io::BufRead>, u64) = if !args.values.is_empty() {
        let text = args.values.join("\n");
        let length = text.len() as u64;
        (Box::new(std::io::Cursor::new(text)), length)
    } else if let Some(file) = &args.file {
        let open = std::fs::File::open(file)
            .with_context(|| format!("{} cannot be read", file.display()))?;
        let length = open.metadata()?.len();
        (Box::new(std::io::BufReader::new(open)), length)
    } else {
        (Box::new(std::io::stdin().lock()), 0)
    };
    let bar = progress::bytes("send", length);
    let mut sent = 0_u64;
    let mut chunk = String::new();
    let mut in_chunk = 0;
    for line in lines.lines() {
        let line = line?;
        if line.is_empty() {
            continue;
        }
        bar.inc(line.len() as u64 + 1);
        chunk.push_str(&line);
        chunk.push('\n');
        in_chunk += 1;
        if chunk.len() >= CHUNK_BYTES || in_chunk >= CHUNK_RECORDS {
            append(client, &path, std::mem::take(&mut chunk))
                .await
                .with_context(|| so_far(sent))?;
            sent += std::mem::take(&mut in_chunk) as u64;
        }
    }
    if in_chunk > 0 {
        append(client, &path, chunk).await.with_context(|| so_far(sent))?;
        sent += in_chunk as u64;
    }
    bar.finish_and_clear();
    told(sent, out)
}

fn told(sent: u64, out: &Output) -> Result<()> {
    out.answer(serde_json::json!({ "records": sent }).to_string(), || {
        count(sent as usize, "record", "records")
    });
    Ok(())
}

/// What is known of the records when a request with some of them has failed.
fn so_far(sent: u64) -> String {
    match sent {
        0 => "no record is known to be durable".into(),
        1 => "the first record is durable, of the rest it is not known".into(),
        _ => format!("the first {sent} records are durable, of the rest it is not known"),
    }
}

async fn append(client: &Client, path: &str, lines: String) -> Result<()> {
    let request = client.request(Method::POST, path).header("content-type", "application/x-ndjson");
    client.send(request.body(lines)).await?;
    Ok(())
}

pub(super) async fn tail(client: &Client, args: &TailArgs, out: &Output) -> Result<()> {
    let path = format!("/topics/{}/records?from={}", encode(&args.topic), encode(&args.from));
    let mut last_id = None::<String>;
    let mut left = args.count.unwrap_or(u64::MAX);
    // The server may go away and come back: go on where we were.
    while left > 0 {
        let mut request = client.request(Method::GET, &path).header("accept", "text/event-stream");
        if let Some(id) = &last_id {
            request = request.header("last-event-id", id);
        }
        let mut body = client.send(request).await?.bytes_stream();
        let mut text = Vec::new();
        'stream: while let Some(part) = body.next().await {
            let Ok(part) = part else { break };
            text.extend_from_slice(&part);
            while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = text.drain(..=end).collect();
                if let Some(id) = line.strip_prefix(b"id:") {
                    last_id = Some(String::from_utf8_lossy(id).trim().to_owned());
                } else if let Some(data) = line.strip_prefix(b"data:") {
                    let record: Record = serde_json::from_slice(data)
                        .context("the server's answer cannot be read")?;
                    let json = String::from_utf8_lossy(data);
                    out.answer(json.trim(), || line_of(&record));
                    left -= 1;
                    if left == 0 {
                        break 'stream;
                    }
                }
            }
        }
        if last_id.is_none() && left > 0 {
            bail!("the server ended the stream");
        }
    }
    Ok(())
}

/// A record; its value stays as it is.
#[derive(Deserialize)]
struct Record {
    partition: u64,
    offset: u64,
    timestamp: i64,
    #[serde(default)]
    key: Value,
    value: Box<RawValue>,
}

/// Event time, place, key and value.
fn line_of(record: &Record) -> String {
    let key = match &record.key {
        Value::Null => String::new(),
        key => format!("{}  ", show(key)),
    };
    let Record { partition, offset, value, .. } = record;
    format!("{}  {partition}/{offset}  {key}{}", date::exact(record.timestamp), value.get())
}

#[cfg(test)]
mod tests {
    use super::{line_of, so_far};

    #[test]
    fn how_many_records_are_durable_is_said_and_none_is_said_plainly() {
        assert_eq!(so_far(0), "no record is known to be durable");
        assert_eq!(so_far(1), "the first record is durable, of the rest it is not known");
        assert_eq!(so_far(9), "the first 9 records are durable, of the rest it is not known");
    }

    #[test]
    fn a_record_is_a_line_with_date_and_time() {
        let line = |json: &str| line_of(&serde_json::from_str(json).unwrap());
        assert_eq!(
            line(
                r#"{"partition":1,"offset":7,"timestamp":1709208000250,"key":"ann","value":{"n":1e400},"headers":{}}"#
            ),
            r#"2024-02-29T12:00:00.250Z  1/7  ann  {"n":1e400}"#
        );
        assert_eq!(
            line(r#"{"partition":0,"offset":0,"timestamp":0,"key":null,"value":"x","headers":{}}"#),
            r#"1970-01-01T00:00:00.000Z  0/0  "x""#
        );
    }
}
