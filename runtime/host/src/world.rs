//! What a component exports and imports, held against what Weir runs.

use wasmparser::{Parser, Payload};
use weir_core::description::Face;

use crate::{
    engine::Kind,
    report::{ImportInfo, ImportStatus, Problem},
};

const PACKAGE: &str = "weir:operator/";

/// The version of the contract that this host speaks.
const VERSION: &str = "0.1.0";

/// Interfaces that the host gives to every operator, and those that only carry
/// types.
const GRANTED: [&str; 9] = [
    "batch-state",
    "call-futures",
    "calls",
    "context",
    "invocation-types",
    "invocations",
    "log",
    "state",
    "types",
];

/// Interfaces of the contract that this version does not give yet.
const UNSTABLE_IMPORTS: [&str; 2] = ["blocking-calls", "timers"];

const FACES: [(&str, Face); 7] = [
    ("transform", Face::Transform),
    ("handler", Face::Handler),
    ("blocking-handler", Face::BlockingHandler),
    ("timer", Face::Timer),
    ("on-failure", Face::OnFailure),
    ("migrate", Face::Migrate),
    ("aggregate", Face::Aggregate),
];

/// The outside of a component.
#[derive(Debug, Default)]
pub(crate) struct World {
    imports: Vec<String>,
    exports: Vec<String>,
}

impl World {
    /// Reads it off a valid component.
    pub(crate) fn of(component: &[u8]) -> Self {
        let mut world = Self::default();
        let mut depth = 0_u32;
        for payload in Parser::new(0).parse_all(component) {
            match payload {
                Ok(Payload::ComponentSection { .. } | Payload::ModuleSection { .. }) => depth += 1,
                Ok(Payload::End(_)) => depth = depth.saturating_sub(1),
                Ok(Payload::ComponentImportSection(section)) if depth == 0 => {
                    world.imports.extend(
                        section.into_iter().flatten().map(|import| import.name.name.to_owned()),
                    );
                }
                Ok(Payload::ComponentExportSection(section)) if depth == 0 => {
                    world.exports.extend(
                        section.into_iter().flatten().map(|export| export.name.name.to_owned()),
                    );
                }
                _ => {}
            }
        }
        world
    }

    /// Faces of this version of the contract, in the order of the enum.
    pub(crate) fn faces(&self) -> Vec<Face> {
        let exported =
            |name: &str| self.exports.iter().any(|export| ours(export) == Some((name, true)));
        FACES.iter().filter(|(name, _)| exported(name)).map(|(_, face)| *face).collect()
    }

    /// The engine that it needs.
    pub(crate) fn kind(&self) -> Kind {
        let waits = |name: &String| {
            matches!(
                ours(name),
                Some(("calls" | "call-futures" | "handler" | "timer" | "on-failure", _))
            )
        };
        if self.imports.iter().chain(&self.exports).any(waits) {
            Kind::Concurrent
        } else {
            Kind::Synchronous
        }
    }

    /// Every import, and whether the host gives it.
    pub(crate) fn imports(&self) -> Vec<ImportInfo> {
        let info = |name: &String| {
            let refusal = refusal(name);
            ImportInfo {
                name: name.clone(),
                status: if refusal.is_none() {
                    ImportStatus::Granted
                } else {
                    ImportStatus::Refused
                },
                help: refusal.and_then(|problem| problem.help),
            }
        };
        self.imports.iter().map(info).collect()
    }

    /// Everything in it that Weir cannot run.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        let mut problems: Vec<_> = self.imports.iter().filter_map(|name| refusal(name)).collect();
        let other = self.exports.iter().find_map(|export| match ours(export) {
            Some((_, false)) => Some(wrong_version(export)),
            _ => None,
        });
        let faces = self.faces();
        let runs = faces.iter().any(|face| matches!(face, Face::Transform | Face::Handler));
        let descriptor =
            self.exports.iter().any(|export| ours(export) == Some(("descriptor", true)));
        if !runs && let Some(face) = faces.first() {
            problems.push(unstable_face(*face));
        } else if let Some(problem) = other.filter(|_| !runs || !descriptor) {
            problems.push(problem);
        } else if !runs {
            problems.push(self.wrong("It exports no face of an operator"));
        }
        if !descriptor
            && (runs || !faces.is_empty())
            && !problems.iter().any(|p| p.code == "wrong-version")
        {
            problems
                .push(self.wrong("It has a face, but does not export `weir:operator/descriptor`"));
        }
        problems
    }

    fn wrong(&self, what: &str) -> Problem {
        let exports = if self.exports.is_empty() {
            "nothing".to_owned()
        } else {
            self.exports.iter().map(|export| format!("`{export}`")).collect::<Vec<_>>().join(", ")
        };
        let known = if self.exports.iter().any(|e| e.starts_with("wasi:cli/run")) {
            " That is a command, not an operator."
        } else if self.exports.iter().any(|e| e.starts_with("wasi:http/incoming-handler")) {
            " That is an HTTP server, not an operator."
        } else {
            ""
        };
        Problem::new(
            "wrong-world",
            format!("{what}. It exports {exports}.{known}"),
            format!(
                "Build it against the world `transform-operator` or `handler-operator` of weir:operator@{VERSION}; \
                 the SDKs do so."
            ),
        )
    }
}

/// The interface that a name of our package means, and whether it is of the
/// version that this host speaks.
fn ours(name: &str) -> Option<(&str, bool)> {
    let rest = name.strip_prefix(PACKAGE)?;
    let (interface, version) = rest.split_once('@').unwrap_or((rest, ""));
    Some((interface, version == VERSION))
}

/// Why the host does not give an import; none if it does.
fn refusal(name: &str) -> Option<Problem> {
    match ours(name) {
        Some((interface, true)) if GRANTED.contains(&interface) => None,
        Some((interface, true)) if UNSTABLE_IMPORTS.contains(&interface) => Some(Problem::new(
            "unstable-import",
            format!("It imports `{name}`, which this version of Weir does not run yet."),
            match interface {
                "timers" => {
                    "Leave timers out. A send with a delay (`after-ms`) can often take their place."
                }
                _ => "Import `calls`, or `call-futures` where the language has no async imports.",
            },
        )),
        Some((_, false)) => Some(wrong_version(name)),
        Some((interface, true)) => Some(Problem::new(
            "unknown-import",
            format!(
                "It imports `{name}`, and weir:operator@{VERSION} has no interface `{interface}`."
            ),
            "Build it against the WIT files of this version of Weir.",
        )),
        None => Some(Problem::new(
            "unknown-import",
            format!("It imports `{name}`, which Weir does not give to operators."),
            foreign_help(name),
        )),
    }
}

fn foreign_help(name: &str) -> &'static str {
    if name.starts_with("wasi:") {
        match name.split(['/', '@']).next() {
            Some("wasi:filesystem" | "wasi:sockets") => {
                "Operators have no files and no network. Build for wasm32-unknown-unknown, or stub WASI out \
                 (componentize-py and componentize-qjs: --stub-wasi)."
            }
            Some("wasi:clocks" | "wasi:random") => {
                "Time and randomness come from `weir:operator/context`, where they are recorded. Build for \
                 wasm32-unknown-unknown, or stub WASI out (--stub-wasi)."
            }
            Some("wasi:http") => "This version of Weir gives operators no HTTP. Leave it out.",
            _ => {
                "Build for wasm32-unknown-unknown, or stub WASI out (componentize-py and componentize-qjs: --stub-wasi)."
            }
        }
    } else {
        "Leave it out, or link what it needs into the component (for example with `wac plug`)."
    }
}

fn wrong_version(name: &str) -> Problem {
    let version = name.split_once('@').map_or("no version", |(_, version)| version);
    Problem::new(
        "wrong-version",
        format!("It uses `{name}`: this host speaks weir:operator@{VERSION}, not {version}."),
        format!(
            "Build it with an SDK for weir:operator@{VERSION}, or use a version of Weir that speaks {version}."
        ),
    )
}

fn unstable_face(face: Face) -> Problem {
    let name = FACES.iter().find(|(_, other)| *other == face).map_or("", |(name, _)| *name);
    Problem::new(
        "unstable-face",
        format!("Its only face is `{name}`, which this version of Weir does not run yet."),
        "Export `transform` or `handler` as well.",
    )
}

#[cfg(test)]
mod tests;
