//! Taking values out of the tree, each with the problems that it may have.

use std::{fmt::Display, ops::RangeInclusive, str::FromStr, time::Duration};

use saphyr::Scalar;

use super::{
    diagnostic::{Place, Placed, Problems, list, suggest},
    tree::{Name, Node, Text, Value},
    units::parse_duration,
};
use crate::ids::InvalidName;

/// A mapping that is being read.
pub(super) struct Fields<'n> {
    /// Where the mapping is.
    pub(super) place: Place,
    /// The names on the way to it.
    pub(super) path: String,
    entries: &'n [(Name, Node)],
}

/// A node and the names on the way to it.
#[derive(Clone)]
pub(super) struct At<'n> {
    pub(super) node: &'n Node,
    pub(super) path: String,
}

impl<'n> Fields<'n> {
    /// The entries of a mapping; a problem if it is none. Nothing at all is read
    /// as an empty mapping.
    pub(super) fn of(at: &At<'n>, problems: &mut Problems) -> Option<Self> {
        let entries = match &at.node.value {
            Value::Mapping(entries) => entries.as_slice(),
            _ if at.node.is_null() => &[],
            _ => {
                at.wrong_type("a mapping", problems);
                return None;
            }
        };
        Some(Self { place: at.node.place, path: at.path.clone(), entries })
    }

    /// A value that is written and not null.
    pub(super) fn get(&self, name: &str) -> Option<At<'n>> {
        self.entries()
            .find(|(other, at)| other.text == name && !at.node.is_null())
            .map(|(_, at)| at)
    }

    /// A value that must be there.
    pub(super) fn need(
        &self,
        name: &str,
        example: &str,
        problems: &mut Problems,
    ) -> Option<At<'n>> {
        let found = self.get(name);
        if found.is_none() {
            problems
                .error(self.place, &self.path, "missing-field", format!("`{name}` is missing."))
                .help(format!("add it, such as `{name}: {example}`"));
        }
        found
    }

    /// Every entry, in the order of the file.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'n Name, At<'n>)> {
        self.entries
            .iter()
            .map(|(name, node)| (name, At { node, path: join(&self.path, &name.text) }))
    }

    /// Reports names that are not `known`. Those that Weir knows but this version
    /// does not run are in `later`, with what they are.
    pub(super) fn only(&self, known: &[&str], later: &[(&str, &str)], problems: &mut Problems) {
        for (name, at) in self.entries() {
            let text = name.text.as_str();
            if known.contains(&text) {
                continue;
            }
            if let Some((_, what)) = later.iter().find(|(other, _)| *other == text) {
                not_yet(name.place, &at.path, what, problems);
                continue;
            }
            problems
                .error(
                    name.place,
                    &at.path,
                    "unknown-field",
                    format!("`{}` is not known here.", shown(text)),
                )
                .help(suggest(text, known.iter().copied(), "remove it"));
        }
    }
}

/// Says that something is not there yet.
pub(super) fn not_yet(place: Place, path: &str, what: &str, problems: &mut Problems) {
    problems
        .error(place, path, "not-yet", format!("{what} is not available in this version."))
        .help("remove it for now");
}

impl At<'_> {
    /// A problem: another kind of thing was expected.
    pub(super) fn wrong_type(&self, expected: &str, problems: &mut Problems) {
        problems
            .error(
                self.node.place,
                &self.path,
                "wrong-type",
                format!("This is {}.", self.node.kind()),
            )
            .help(format!("write {expected}"));
    }

    pub(super) fn placed<T>(&self, value: T) -> Placed<T> {
        Placed { value, place: self.node.place, path: self.path.clone() }
    }

    /// A scalar, as it is written.
    pub(super) fn text(&self, expected: &str, problems: &mut Problems) -> Option<&str> {
        match &self.node.value {
            Value::Scalar(Text { written, meaning }) if *meaning != Scalar::Null => Some(written),
            _ => {
                self.wrong_type(expected, problems);
                None
            }
        }
    }

    /// A scalar that is read by `FromStr`; its error says what to do.
    pub(super) fn parse<T: FromStr<Err: Display>>(
        &self,
        expected: &str,
        problems: &mut Problems,
    ) -> Option<T> {
        self.parse_by(expected, T::from_str, problems)
    }

    /// A name of [`ids`](crate::ids).
    pub(super) fn name<T: FromStr<Err = InvalidName>>(
        &self,
        expected: &str,
        problems: &mut Problems,
    ) -> Option<T> {
        self.parse_by(
            expected,
            |text| text.parse().map_err(|error: InvalidName| error.rule()),
            problems,
        )
    }

    pub(super) fn duration(&self, problems: &mut Problems) -> Option<Duration> {
        self.parse_by("a duration such as `5s`", parse_duration, problems)
    }

    fn parse_by<T, E: Display>(
        &self,
        expected: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
        problems: &mut Problems,
    ) -> Option<T> {
        let text = self.text(expected, problems)?;
        match parse(text) {
            Ok(value) => Some(value),
            Err(error) => {
                problems
                    .error(
                        self.node.place,
                        &self.path,
                        "invalid-value",
                        format!("`{}` is not {expected}.", shown(text)),
                    )
                    .help(error.to_string());
                None
            }
        }
    }

    /// A whole number within bounds.
    pub(super) fn integer<T>(&self, bounds: RangeInclusive<T>, problems: &mut Problems) -> Option<T>
    where
        T: TryFrom<i64> + PartialOrd + Display,
    {
        let expected = format!("a whole number from {} to {}", bounds.start(), bounds.end());
        let Value::Scalar(Text { meaning: Scalar::Integer(number), .. }) = &self.node.value else {
            self.wrong_type(&expected, problems);
            return None;
        };
        let value = T::try_from(*number).ok().filter(|value| bounds.contains(value));
        if value.is_none() {
            problems
                .error(
                    self.node.place,
                    &self.path,
                    "invalid-value",
                    format!("{number} is out of bounds."),
                )
                .help(format!("write {expected}"));
        }
        value
    }

    pub(super) fn boolean(&self, problems: &mut Problems) -> Option<bool> {
        match &self.node.value {
            Value::Scalar(Text { meaning: Scalar::Boolean(value), .. }) => Some(*value),
            _ => {
                self.wrong_type("`true` or `false`", problems);
                None
            }
        }
    }

    /// One of some words.
    pub(super) fn one_of<T: Copy>(
        &self,
        words: &[(&str, T)],
        problems: &mut Problems,
    ) -> Option<T> {
        let expected = list(words.iter().map(|(word, _)| *word)).unwrap_or_default();
        let text = self.text(&format!("one of {expected}"), problems)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            problems
                .error(
                    self.node.place,
                    &self.path,
                    "invalid-value",
                    format!("`{}` is not known here.", shown(text)),
                )
                .help(format!("write one of {expected}"));
        }
        found
    }

    /// Any value, as JSON.
    pub(super) fn json(&self, problems: &mut Problems) -> serde_json::Value {
        match &self.node.value {
            Value::Scalar(Text { written, meaning }) => match meaning {
                Scalar::Null => serde_json::Value::Null,
                Scalar::Boolean(value) => (*value).into(),
                Scalar::Integer(value) => (*value).into(),
                Scalar::String(value) => value.as_ref().into(),
                Scalar::FloatingPoint(value) => match serde_json::Number::from_f64(value.0) {
                    Some(number) => number.into(),
                    None => {
                        problems
                            .error(
                                self.node.place,
                                &self.path,
                                "invalid-value",
                                format!("`{written}` has no form in JSON."),
                            )
                            .help("write a finite number or a string");
                        serde_json::Value::Null
                    }
                },
            },
            Value::Sequence(elements) => elements
                .iter()
                .enumerate()
                .map(|(i, node)| At { node, path: join(&self.path, &i.to_string()) }.json(problems))
                .collect(),
            Value::Mapping(entries) => entries
                .iter()
                .map(|(name, node)| {
                    (
                        name.text.clone(),
                        At { node, path: join(&self.path, &name.text) }.json(problems),
                    )
                })
                .collect(),
        }
    }
}

/// A text of the file for a message: not all of it, if it is long.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
