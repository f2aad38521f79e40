//! What a module says of itself, asked once and held against the contract's rules.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bytes::Bytes;
use weir_core::{
    description::{Description, Face, Handler},
    failure::{Trap, TrapKind},
    guest::{Effects, Loaded, LogLevel, Misuse, Packed, Scan, Subject},
    ids::{EventTime, InvocationId},
};

use crate::{instance::Instance, limits::Limits, program::Program, report::Problem};

const PORTS_MAX: usize = 256;
const CELLS_MAX: usize = 64;
const HANDLERS_MAX: usize = 256;
const DOC_MAX: usize = 8 << 10;
const SCHEMA_MAX: usize = 256 << 10;

/// Time for coming up and describing itself: language runtimes are slow at first.
const CPU: Duration = Duration::from_secs(10);

/// What an instance was found to be.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) description: Description,
    pub(crate) memory_floor: u64,
}

/// Runs `describe` in an instance of its own.
///
/// # Errors
/// Every rule that the module breaks.
pub(crate) fn describe(
    program: &Program,
    faces: Vec<Face>,
    memory: u64,
) -> Result<Found, Vec<Problem>> {
    let limits =
        Limits { memory, cpu: CPU, output_bytes: 4 << 20, log_bytes: 0, ..Limits::default() };
    let (description, memory_floor) =
        ask(program, limits).map_err(|trap| vec![trapped(&trap, memory)])?;
    let description = Description { faces, ..description };
    let problems = problems(&description);
    if problems.is_empty() { Ok(Found { description, memory_floor }) } else { Err(problems) }
}

fn ask(program: &Program, limits: Limits) -> Result<(Description, u64), Trap> {
    let nobody = Arc::new(Description::default());
    let mut instance = Instance::new(program, nobody, Arc::new(Nothing), "null".into(), limits)?;
    let description = instance.describe()?;
    Ok((description, instance.memory()))
}

fn trapped(trap: &Trap, memory: u64) -> Problem {
    if trap.kind == TrapKind::Memory {
        return Problem::new(
            "memory-floor",
            format!(
                "It needs more memory to begin with than the {memory} bytes that an operator may have at most."
            ),
            "Make it smaller, or raise the host's limit.",
        );
    }
    let said = trap.panic.as_deref().unwrap_or(&trap.message);
    Problem::new(
        "descriptor-trap",
        format!("It trapped when it was asked to describe itself: {said}."),
        "`describe` runs in a fresh instance with no state, no key and no configuration: it must not need any.",
    )
}

fn problems(description: &Description) -> Vec<Problem> {
    let mut rules = Rules::default();
    let d = description;
    rules.list("handler", HANDLERS_MAX, d.handlers.iter().map(|h| h.name.as_str()));
    rules.list("input", PORTS_MAX, d.inputs.iter().map(|p| p.name.as_str()));
    rules.list("output", PORTS_MAX, d.outputs.iter().map(|p| p.name.as_str()));
    rules.list("cell", CELLS_MAX, d.cells.iter().map(|c| c.name.as_str()));
    rules.doc("the module", &d.doc);
    rules.schema("the configuration", d.config_schema.as_deref());
    d.handlers.iter().for_each(|handler| rules.handler(handler));
    for port in d.inputs.iter().chain(&d.outputs) {
        rules.doc(&format!("the port `{}`", port.name), &port.doc);
        rules.schema(&format!("the port `{}`", port.name), port.schema.as_deref());
    }
    for cell in &d.cells {
        rules.schema(&format!("the cell `{}`", cell.name), cell.schema.as_deref());
    }
    if d.has(Face::Handler) && d.handlers.is_empty() {
        rules.broken("It exports the face `handler` and declares no handler".into());
    }
    if !d.has(Face::Handler) && !d.has(Face::BlockingHandler) && !d.handlers.is_empty() {
        rules.broken("It declares handlers and does not export the face `handler`".into());
    }
    rules.problems
}

#[derive(Default)]
struct Rules {
    problems: Vec<Problem>,
}

impl Rules {
    fn broken(&mut self, what: String) {
        self.problems.push(Problem::new(
            "descriptor-invalid",
            format!("{what}."),
            "Mend what the module says of itself in `describe` and build it anew.",
        ));
    }

    fn list<'a>(&mut self, what: &str, max: usize, names: impl ExactSizeIterator<Item = &'a str>) {
        if names.len() > max {
            self.broken(format!("It declares {} {what}s; {max} are allowed", names.len()));
            return;
        }
        let mut seen = BTreeSet::new();
        for name in names {
            if !is_name(name) {
                let name: String = name.chars().take(80).collect();
                self.broken(format!(
                    "The {what} name `{name}` is not allowed: it must begin with a-z and have 1 to 63 of the \
                     characters a-z, 0-9, `-` and `_`"
                ));
            } else if !seen.insert(name) {
                self.broken(format!("Two {what}s have the name `{name}`"));
            }
        }
    }

    fn handler(&mut self, handler: &Handler) {
        let what = format!("the handler `{}`", handler.name);
        self.doc(&what, &handler.doc);
        self.schema(&what, handler.input_schema.as_deref());
        self.schema(&what, handler.output_schema.as_deref());
        if !handler.takes_events && !handler.takes_calls {
            self.broken(format!("The handler `{}` takes neither events nor calls", handler.name));
        }
    }

    fn doc(&mut self, what: &str, doc: &str) {
        if doc.len() > DOC_MAX {
            self.broken(format!(
                "The text about {what} has {} bytes; {DOC_MAX} are allowed",
                doc.len()
            ));
        }
    }

    fn schema(&mut self, what: &str, schema: Option<&str>) {
        let Some(schema) = schema else { return };
        if schema.len() > SCHEMA_MAX {
            self.broken(format!(
                "The schema of {what} has {} bytes; {SCHEMA_MAX} are allowed",
                schema.len()
            ));
        } else if let Err(error) = serde_json::from_str::<serde_json::Value>(schema) {
            self.broken(format!("The schema of {what} is not JSON: {error}"));
        }
    }
}

fn is_name(name: &str) -> bool {
    (1..=63).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
        && name.starts_with(|c: char| c.is_ascii_lowercase())
}

/// The surroundings of `describe`: there are none.
struct Nothing;

fn none<T>() -> Result<T, Misuse> {
    Err(Misuse("state was used in `describe`, where there is none".into()))
}

impl Effects for Nothing {
    fn get(&self, _: Subject, _: u32) -> Result<Option<Bytes>, Misuse> {
        none()
    }

    fn put(&self, _: Subject, _: u32, _: Option<Bytes>) -> Result<(), Misuse> {
        none()
    }

    fn map_get(&self, _: Subject, _: u32, _: &[u8]) -> Result<Option<Bytes>, Misuse> {
        none()
    }

    fn map_put(&self, _: Subject, _: u32, _: Bytes, _: Option<Bytes>) -> Result<(), Misuse> {
        none()
    }

    fn map_scan(&self, _: Subject, _: u32, _: Scan) -> Result<Vec<(Bytes, Bytes)>, Misuse> {
        none()
    }

    fn load(&self, _: u32) -> Result<Loaded, Misuse> {
        none()
    }

    fn store(&self, _: u32, _: &[u32], _: &Packed) -> Result<(), Misuse> {
        none()
    }

    fn now(&self, _: InvocationId) -> EventTime {
        EventTime(0)
    }

    fn random(&self, _: InvocationId, length: u32) -> Vec<u8> {
        vec![0; length as usize]
    }

    fn log(&self, _: Option<InvocationId>, _: LogLevel, _: &str) {}
}

#[cfg(test)]
mod tests;
