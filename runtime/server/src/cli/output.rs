//! What the command line prints: text for people, or the API's JSON.

use std::io::Write as _;

use serde_json::Value;

/// What to print.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people.
    Text,
    /// The API's answer, for programs.
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
        if writeln!(std::io::stdout().lock(), "{}", text.as_ref()).is_err() {
            std::process::exit(0);
        }
    }

    /// The answer: as JSON, or as what `text` makes of it.
    pub(super) fn answer(&self, value: &Value, text: impl FnOnce(&Value) -> String) {
        if self.is_json() {
            self.line(value.to_string());
        } else {
            self.line(text(value));
        }
    }

    /// Rows under headings, or the rows as JSON lines.
    pub(super) fn rows<const N: usize>(
        &self,
        rows: &[Value],
        headings: [&str; N],
        cells: impl Fn(&Value) -> [String; N],
    ) {
        if self.is_json() {
            rows.iter().for_each(|row| self.line(row.to_string()));
            return;
        }
        let mut table = vec![headings.map(str::to_owned)];
        table.extend(rows.iter().map(cells));
        let widths: [usize; N] = std::array::from_fn(|column| {
            table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
        });
        for row in table {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', width + 2 - cell.chars().count()));
            }
            self.line(line.trim_end());
        }
    }

    /// An error, with its causes.
    pub(super) fn error(&self, error: &anyhow::Error) {
        eprintln!("weir: {error:#}");
    }
}

/// A field as a person reads it: text without quotes, absent as a dash.
pub(super) fn show(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
