//! A problem document (RFC 9457), as a person at a terminal reads it.

use std::fmt::Write as _;

use serde::Deserialize;

use super::output::count;

/// What the server says in place of doing what it was asked.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(super) struct Refused {
    document: String,
    text: String,
    /// The problem's stable name.
    pub(super) code: String,
    /// Every single problem, where there can be several.
    pub(super) errors: Vec<Detail>,
}

/// One of several problems.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Detail {
    line: Option<u64>,
    column: Option<u64>,
    path: Option<String>,
    severity: Option<String>,
    /// What is wrong.
    pub(super) message: String,
    help: Option<String>,
}

#[derive(Deserialize)]
struct Document {
    code: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    errors: Vec<Detail>,
}

impl Refused {
    /// Reads an answer's body; none if it is no problem document.
    pub(super) fn of(body: &[u8]) -> Option<Self> {
        let document: Document = serde_json::from_slice(body).ok()?;
        let text = readable(&document);
        let Document { code, errors, .. } = document;
        let document = String::from_utf8_lossy(body).into_owned();
        Some(Self { document, text, code, errors })
    }

    /// The JSON text, as the server gave it.
    pub(super) fn document(&self) -> &str {
        &self.document
    }
}

impl Detail {
    fn is_warning(&self) -> bool {
        self.severity.as_deref() == Some("warning")
    }

    /// Its place, what is wrong, and on another line what to do.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        if let Some(line) = self.line {
            let _ = write!(out, "{line}:{} ", self.column.unwrap_or(1));
        }
        if self.is_warning() {
            out.push_str("warning: ");
        }
        if let Some(path) = self.path.as_deref().filter(|path| !path.is_empty()) {
            let _ = write!(out, "{path}: ");
        }
        out.push_str(&self.message);
        if let Some(help) = self.help.as_deref().filter(|help| !help.is_empty()) {
            let _ = write!(out, "\n      {help}");
        }
        out
    }

    /// Does a sentence say all of this already?
    fn is_in(&self, detail: &str) -> bool {
        let holds =
            |text: &str| detail.to_lowercase().contains(text.to_lowercase().trim_end_matches('.'));
        self.line.is_none() && holds(&self.message) && self.help.as_deref().is_none_or(holds)
    }
}

/// The sentence, then every single problem with its place.
fn readable(document: &Document) -> String {
    let Document { title, detail, errors, .. } = document;
    let warnings = errors.iter().filter(|error| error.is_warning()).count();
    let mut out = if errors.iter().any(|error| error.severity.is_some()) {
        let mut head = count(errors.len() - warnings, "error", "errors");
        if warnings > 0 {
            let _ = write!(head, ", {}", count(warnings, "warning", "warnings"));
        }
        head
    } else {
        let detail = if detail.is_empty() { title } else { detail };
        // They follow here.
        in_words_of_commands(detail.split(" `errors` lists").next().unwrap_or(detail))
    };
    for error in errors.iter().filter(|error| !error.is_in(detail)) {
        let _ = write!(out, "\n  {}", error.text());
    }
    out
}

/// Where the server tells of a request, a command that makes it.
fn in_words_of_commands(detail: &str) -> String {
    const COMMANDS: [(&str, &str); 8] = [
        ("`GET /v1/pipelines`", "`weir pipelines`"),
        ("`GET /v1/pipelines/{name}`", "`weir describe`"),
        ("`GET /v1/pipelines/{name}/dead-letters`", "`weir dead-letters`"),
        ("`GET /v1/topics`", "`weir topics`"),
        ("`PUT /v1/topics/{name}`", "`weir topics create`"),
        ("`GET /v1/modules`", "`weir modules`"),
        ("`GET /v1/modules/{name}/{version}`", "`weir modules show`"),
        ("name one with `?key=`", "name one with --key"),
    ];
    COMMANDS
        .into_iter()
        .fold(detail.to_owned(), |text, (request, command)| text.replace(request, command))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Refused, in_words_of_commands};
    use crate::http::problem::Problem;

    fn text(document: &Value) -> String {
        Refused::of(document.to_string().as_bytes()).unwrap().to_string()
    }

    #[test]
    fn warnings_are_not_counted_as_errors() {
        let document = json!({
            "code": "invalid-pipeline",
            "detail": "The pipeline file has 1 problem. `errors` lists each with its place.",
            "errors": [
                { "line": 3, "column": 5, "path": "operators.a", "severity": "error", "message": "There is no module.", "help": "push it" },
                { "line": 9, "column": 1, "severity": "warning", "message": "Nobody reads it." },
            ],
        });
        assert_eq!(
            text(&document),
            "1 error, 1 warning\n  3:5 operators.a: There is no module.\n      push it\n  9:1 warning: Nobody reads it."
        );
    }

    #[test]
    fn a_sentence_is_said_once() {
        let mut document = json!({
            "code": "invalid-module",
            "detail": "The bytes are no WebAssembly. Upload a component.",
            "errors": [{ "message": "the bytes are no WebAssembly", "help": "upload a component" }],
        });
        assert_eq!(text(&document), "The bytes are no WebAssembly. Upload a component.");
        document["detail"] = json!("Two things are wrong. `errors` lists each problem.");
        assert_eq!(
            text(&document),
            "Two things are wrong.\n  the bytes are no WebAssembly\n      upload a component"
        );
    }

    #[test]
    fn what_is_no_problem_document_is_none() {
        assert!(Refused::of(b"<html>Bad Gateway</html>").is_none());
        assert!(Refused::of(b"{}").is_none());
    }

    #[test]
    fn commands_are_named_in_place_of_requests() {
        for what in ["pipeline", "topic", "module", "operator", "handler", "dead letter"] {
            let detail = Problem::not_found(what, "x").detail;
            let ours = in_words_of_commands(&detail);
            assert!(detail.contains("/v1/") && !ours.contains("/v1/"), "{ours}");
        }
    }
}
