//! What the command line prints: text for people, or the API's JSON.

use std::{fmt::Write as _, io::Write as _};

use anyhow::{Context as _, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{client::Listing, problem::Refused};

/// How wide a line for people is, where something has to be cut.
pub(super) const WIDTH: usize = 120;

/// What to print.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people.
    Text,
    /// The API's answer, for programs: one document, or of `tail` one record a line.
    /// A failure is a JSON document on standard error.
    Json,
}

/// Where it goes. A reader that has gone away (`weir tail | head`) ends the program
/// quietly.
pub(super) struct Output {
    format: Format,
}

impl Output {
    pub(super) fn new(format: Format) -> Self {
        Self { format }
    }

    /// Are programs reading?
    pub(super) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// One line.
    pub(super) fn line(&self, text: impl AsRef<str>) {
        self.bytes(text.as_ref().as_bytes());
    }

    /// Bytes as they are, and the end of a line.
    pub(super) fn bytes(&self, bytes: &[u8]) {
        let mut stdout = std::io::stdout().lock();
        if stdout.write_all(bytes).and_then(|()| stdout.write_all(b"\n")).is_err() {
            std::process::exit(0);
        }
    }

    /// The answer: as the JSON text that it is, or as what `text` makes of it.
    pub(super) fn answer(&self, json: impl AsRef<str>, text: impl FnOnce() -> String) {
        if self.is_json() {
            self.line(json);
        } else {
            self.line(text());
        }
    }

    /// A listing: rows under headings, or one JSON document with the whole array.
    ///
    /// # Errors
    /// A row is not what it has to be.
    pub(super) fn list<T: DeserializeOwned, const N: usize>(
        &self,
        listing: &Listing,
        headings: [&str; N],
        cells: impl Fn(&T) -> [String; N],
    ) -> Result<()> {
        if self.is_json() {
            self.line(listing.json());
            return Ok(());
        }
        let rows: Vec<T> = listing
            .rows
            .iter()
            .map(|row| serde_json::from_str(row.get()))
            .collect::<Result<_, _>>()
            .context("the server's answer cannot be read")?;
        self.line(table(headings, rows.iter().map(cells)));
        Ok(())
    }

    /// An error, with its causes; for programs the server's problem document, or one
    /// of ours with the code `client`.
    pub(super) fn error(&self, error: &anyhow::Error) {
        if self.is_json() {
            eprintln!("{}", problem_document(error));
        } else {
            eprintln!("weir: {error:#}");
        }
    }
}

/// An error as a JSON text.
fn problem_document(error: &anyhow::Error) -> String {
    match error.downcast_ref::<Refused>() {
        Some(refused) => refused.document().to_owned(),
        None => client_problem(&format!("{error:#}")),
    }
}

/// The JSON text of a failure that no server answered with.
pub(super) fn client_problem(detail: &str) -> String {
    serde_json::json!({ "code": "client", "detail": detail }).to_string()
}

/// Rows under headings, in columns.
pub(super) fn table<const N: usize>(
    headings: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = vec![headings.map(str::to_owned)];
    table.extend(rows);
    let widths: [usize; N] = std::array::from_fn(|column| {
        table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
    });
    let lines = table.iter().map(|row| {
        let line = row.iter().zip(widths).fold(String::new(), |mut line, (cell, width)| {
            let _ = write!(line, "{cell:width$}  ");
            line
        });
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A field as a person reads it: text without quotes, absent as a dash.
pub(super) fn show(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => one_line(text),
        other => other.to_string(),
    }
}

/// Text on one line: what would move a terminal's cursor is escaped.
pub(super) fn one_line(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
        out
    })
}

/// At most so many characters; the last one says that there is more.
pub(super) fn cut(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        None => text.to_owned(),
        Some(_) => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// `1 entry`, `2 entries`.
pub(super) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;
    use serde_json::json;

    use super::{cut, one_line, problem_document, show, table};
    use crate::cli::problem::Refused;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "1"], ["longer", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(table(["NAME", "N"], rows), "NAME    N\na       1\nlonger");
    }

    #[test]
    fn what_is_too_long_is_cut_at_characters() {
        assert_eq!(cut("grün", 4), "grün");
        assert_eq!(cut("grüne", 4), "grü…");
        assert_eq!(cut("", 0), "");
    }

    #[test]
    fn a_field_cannot_move_the_cursor() {
        assert_eq!(show(&json!("a\u{1b}[2Jb\n")), "a\\u{1b}[2Jb\\n");
        assert_eq!(one_line("grün"), "grün");
        assert_eq!(show(&json!(null)), "-");
        assert_eq!(show(&json!([1, 2])), "[1,2]");
    }

    #[test]
    fn programs_get_the_servers_document_as_it_is_and_else_one_of_ours() {
        let body = br#"{"code":"unknown-topic","status":404,"detail":"There is none.","x":1e400}"#;
        let refused = anyhow::Error::from(Refused::of(body).unwrap()).context("not sent");
        assert_eq!(problem_document(&refused).as_bytes(), body);
        let ours = anyhow!("no such file").context("a.yaml cannot be read");
        assert_eq!(
            problem_document(&ours),
            r#"{"code":"client","detail":"a.yaml cannot be read: no such file"}"#
        );
    }
}
