//! Comparing the JSON Schemas of two ends of a stream, loosely.
//!
//! Looked at are the type of the whole value, and the types and presence of the
//! properties of an object; references, unions and enumerations are followed, all
//! else is taken to fit. What no value can satisfy is an error. A property that the
//! consumer requires and the producer does not speak of is a warning.

use std::cell::Cell;

use serde_json::Value;

use crate::spec::{Placed, StreamRef, diagnostic::Problems};

/// How many references and branches of unions are followed, and how many of them
/// into each other. Beyond that all is taken to fit: a schema can be made to branch
/// without end.
const STEPS_MAX: u32 = 10_000;
const DEPTH_MAX: u32 = 32;
/// A larger schema is not looked at, in bytes.
const SCHEMA_BYTES_MAX: usize = 256 << 10;

/// Reports contradictions between what a producer gives and a consumer takes.
pub(super) fn compare(
    given: &str,
    taken: &str,
    stream: &Placed<StreamRef>,
    problems: &mut Problems,
) {
    if given.len().max(taken.len()) > SCHEMA_BYTES_MAX {
        return;
    }
    let (Ok(given), Ok(taken)) = (serde_json::from_str(given), serde_json::from_str(taken)) else {
        return;
    };
    let steps = Cell::new(STEPS_MAX);
    let given = Schema { root: &given, node: &given, depth: 0, steps: &steps }.followed();
    let taken = Schema { root: &taken, node: &taken, depth: 0, steps: &steps }.followed();
    let help = "use modules whose schemas fit, or put a transform between them";
    let name = &stream.value;
    if let Some(clash) = clash(given.types(), taken.types()) {
        problems
            .error(
                stream.place,
                &stream.path,
                "schema-mismatch",
                format!("`{name}` gives {}, but {} is taken.", clash.0, clash.1),
            )
            .help(help);
        return;
    }
    if !given.is_object() || !taken.is_object() {
        return;
    }
    for (property, wanted) in taken.properties() {
        let required = taken.requires(property);
        match given.property(property) {
            Some(has) if required || given.requires(property) => {
                if let Some(clash) = clash(has.types(), wanted.types()) {
                    problems
                        .error(
                            stream.place,
                            &stream.path,
                            "schema-mismatch",
                            format!(
                                "`{property}` of `{name}` is {}, but {} is taken.",
                                clash.0, clash.1
                            ),
                        )
                        .help(help);
                }
            }
            _ => {}
        }
    }
    for property in taken.required() {
        if given.property(property).is_some() || given.requires(property) {
            continue;
        }
        let message = format!("`{name}` does not speak of `{property}`, which is required.");
        let problem = if given.is_closed() {
            problems.error(stream.place, &stream.path, "schema-mismatch", message)
        } else {
            problems.warning(stream.place, &stream.path, "schema-mismatch", message)
        };
        problem.help(help);
    }
}

/// A schema in its document.
#[derive(Clone, Copy)]
struct Schema<'a> {
    root: &'a Value,
    node: &'a Value,
    /// How far it is from the root.
    depth: u32,
    /// How many steps may still be taken.
    steps: &'a Cell<u32>,
}

impl<'a> Schema<'a> {
    fn at(self, node: &'a Value) -> Self {
        Self { node, depth: self.depth + 1, ..self }.followed()
    }

    /// May one step more be taken?
    fn step(self) -> bool {
        let left = self.steps.get();
        self.steps.set(left.saturating_sub(1));
        left > 0 && self.depth < DEPTH_MAX
    }

    /// Where its references lead.
    fn followed(mut self) -> Self {
        while self.step() {
            let target = self
                .node
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|reference| reference.strip_prefix('#'));
            match target.and_then(|pointer| self.root.pointer(pointer)) {
                Some(node) => self.node = node,
                None => break,
            }
        }
        self
    }

    /// Which types a value may have; all, if that is not known.
    fn types(self) -> Types {
        if self.node == &Value::Bool(false) {
            return Types(0);
        }
        if !self.step() {
            return Types::ANY;
        }
        let mut types = match self.node.get("type") {
            Some(Value::String(name)) => Types::named(name),
            Some(Value::Array(names)) => Types(
                names
                    .iter()
                    .filter_map(Value::as_str)
                    .fold(0, |all, name| all | Types::named(name).0),
            ),
            _ => Types::ANY,
        };
        if let Some(values) = self.node.get("enum").and_then(Value::as_array) {
            types.0 &= values.iter().fold(0, |all, value| all | Types::of(value).0);
        }
        if let Some(value) = self.node.get("const") {
            types.0 &= Types::of(value).0;
        }
        for union in ["anyOf", "oneOf"] {
            if let Some(branches) = self.node.get(union).and_then(Value::as_array) {
                types.0 &= branches.iter().fold(0, |all, branch| all | self.at(branch).types().0);
            }
        }
        for branch in self.node.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            types.0 &= self.at(branch).types().0;
        }
        types
    }

    /// Can it only be an object, whose properties are said here?
    fn is_object(self) -> bool {
        self.types() == Types::named("object")
            && ["anyOf", "oneOf", "allOf"].iter().all(|key| self.node.get(key).is_none())
    }

    fn properties(self) -> impl Iterator<Item = (&'a str, Schema<'a>)> {
        let properties =
            self.node.get("properties").and_then(Value::as_object).into_iter().flatten();
        properties.map(move |(name, node)| (name.as_str(), self.at(node)))
    }

    fn property(self, name: &str) -> Option<Self> {
        self.node.get("properties")?.get(name).map(|node| self.at(node))
    }

    fn required(self) -> impl Iterator<Item = &'a str> {
        self.node
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    }

    fn requires(self, name: &str) -> bool {
        self.required().any(|other| other == name)
    }

    /// Are there no other properties than those said?
    fn is_closed(self) -> bool {
        self.node.get("additionalProperties") == Some(&Value::Bool(false))
            && self.node.get("patternProperties").is_none()
    }
}

/// A set of JSON types.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Types(u8);

impl Types {
    const NAMES: [(&'static str, &'static str); 7] = [
        ("null", "null"),
        ("boolean", "a boolean"),
        ("integer", "a whole number"),
        ("number", "a number"),
        ("string", "a string"),
        ("array", "an array"),
        ("object", "an object"),
    ];
    const ANY: Self = Self(0x7f);

    /// The values of a type. A number may be whole.
    fn named(name: &str) -> Self {
        match Self::NAMES.iter().position(|(other, _)| *other == name) {
            Some(3) => Self(0b1100),
            Some(i) => Self(1 << i),
            None => Self::ANY,
        }
    }

    fn of(value: &Value) -> Self {
        Self::named(match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        })
    }

    /// For people.
    fn words(self) -> String {
        let whole_too = self.0 & 0b1000 != 0;
        let words: Vec<_> = Self::NAMES
            .iter()
            .enumerate()
            .filter(|(i, _)| self.0 & (1 << i) != 0 && !(*i == 2 && whole_too))
            .map(|(_, (_, words))| *words)
            .collect();
        if words.is_empty() { "nothing".into() } else { words.join(" or ") }
    }
}

/// Both in words, if no value is of both.
fn clash(given: Types, taken: Types) -> Option<(String, String)> {
    (given.0 & taken.0 == 0).then(|| (given.words(), taken.words()))
}
