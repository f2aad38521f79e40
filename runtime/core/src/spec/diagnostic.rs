//! Problems of a pipeline file, each with its place and what to do.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Does it refuse the file?
    pub severity: Severity,
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    /// The names on the way to the place, such as `operators.order.key`; empty for
    /// the whole file.
    pub path: String,
    /// A stable name in kebab case, for programs.
    pub code: String,
    /// What is wrong, as a sentence.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub help: Option<String>,
}

/// Does a problem refuse the file?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It cannot be applied.
    Error,
    /// It can be, but may not do what was meant.
    Warning,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{}:{}: {severity} {}: {}", self.line, self.column, self.code, self.message)?;
        if !self.path.is_empty() {
            write!(f, " ({})", self.path)?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n    {help}")?;
        }
        Ok(())
    }
}

/// A place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Where it was written.
    pub place: Place,
    /// The names on the way to it.
    pub path: String,
}

/// The most problems that are told.
const PROBLEMS_MAX: usize = 1_000;

/// All problems found so far.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    list: Vec<Diagnostic>,
}

impl From<Vec<Diagnostic>> for Problems {
    fn from(list: Vec<Diagnostic>) -> Self {
        Self { list }
    }
}

impl Problems {
    /// Adds a problem that refuses the file.
    pub(crate) fn error(
        &mut self,
        place: Place,
        path: &str,
        code: &str,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.add(Severity::Error, place, path, code, message.into())
    }

    /// Adds one that does not.
    pub(crate) fn warning(
        &mut self,
        place: Place,
        path: &str,
        code: &str,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.add(Severity::Warning, place, path, code, message.into())
    }

    fn add(
        &mut self,
        severity: Severity,
        place: Place,
        path: &str,
        code: &str,
        message: String,
    ) -> &mut Diagnostic {
        self.list.push(Diagnostic {
            severity,
            line: place.line,
            column: place.column,
            path: path.into(),
            code: code.into(),
            message,
            help: None,
        });
        let last = self.list.len() - 1;
        &mut self.list[last]
    }

    /// All of them, in the order of the file; the last ones are only counted if
    /// there are very many.
    pub(crate) fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|problem| (problem.line, problem.column));
        let more = self.list.split_off(self.list.len().min(PROBLEMS_MAX));
        if let Some(first) = more.first() {
            let severity =
                more.iter().map(|problem| problem.severity).min().unwrap_or(Severity::Error);
            let place = Place { line: first.line, column: first.column };
            self.add(
                severity,
                place,
                "",
                "more",
                format!("There are {} more problems from here on.", more.len()),
            );
        }
        self.list
    }
}

impl Diagnostic {
    /// Says what to do.
    pub(crate) fn help(&mut self, help: impl Into<String>) {
        self.help = Some(help.into());
    }
}

/// The most names that a text is compared with.
const COMPARED_MAX: usize = 200;

/// The name among `known` that `text` is most likely meant to be.
pub(crate) fn nearest<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = |name: &str| name.len().max(3) / 3;
    known
        .into_iter()
        .take(COMPARED_MAX)
        .filter(|name| name.len().abs_diff(text.len()) <= allowed(name))
        .map(|name| (strsim::osa_distance(text, name), name))
        .filter(|(distance, name)| *distance <= allowed(name))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// `did you mean ..`, or what there is.
pub(crate) fn suggest<'a>(
    text: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
    none: &str,
) -> String {
    if let Some(name) = nearest(text, known.clone()) {
        return format!("did you mean `{name}`?");
    }
    let several = known.clone().into_iter().nth(1).is_some();
    match list(known) {
        None => none.to_owned(),
        Some(names) => format!("there {} {names}", if several { "are" } else { "is" }),
    }
}

/// "`a`, `b` and `c`", shortened after ten; nothing for none.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        [first @ .., last] if names.len() <= 10 => Some(format!("{} and {last}", first.join(", "))),
        all => Some(format!(
            "{} and {} more",
            all.get(..9).unwrap_or_default().join(", "),
            all.len().saturating_sub(9)
        )),
    }
}
