//! Which face of a module an operator runs, and which handler or input port takes
//! a stream.

use crate::{
    description::{Description, Face, Handler, Port},
    plan::{ModulePin, Runs},
    spec::{
        InputSpec, OperatorSpec, Placed,
        diagnostic::{Problems, list, suggest},
    },
};

/// The face that the operator runs.
///
/// A module with both faces runs its handlers where the file names one of them or
/// has no input, else its transform.
pub(super) fn runs(
    spec: &OperatorSpec,
    pin: &ModulePin,
    description: &Description,
    problems: &mut Problems,
) -> Option<Runs> {
    let module = spec.module.as_ref()?;
    match (description.has(Face::Transform), description.has(Face::Handler)) {
        (true, false) => Some(Runs::Transform),
        (false, true) => Some(Runs::Handlers),
        (true, true) => {
            let names_handler = |input: &InputSpec| {
                input
                    .entry
                    .as_ref()
                    .is_some_and(|entry| description.handler(&entry.value).is_some())
            };
            let handlers = spec.handler.is_some() || spec.inputs.iter().all(names_handler);
            Some(if handlers { Runs::Handlers } else { Runs::Transform })
        }
        (false, false) => {
            problems
                .error(
                    module.place,
                    &module.path,
                    "not-yet",
                    format!("`{pin}` has neither of the faces `transform` and `handler`; no other runs in this version."),
                )
                .help("use a module that exports one of them");
            None
        }
    }
}

/// The entries for all inputs of an operator: per input the index of the handler
/// or port. `None` where there is none; a problem then says why.
pub(super) fn find(
    spec: &OperatorSpec,
    pin: &ModulePin,
    description: &Description,
    runs: Runs,
    problems: &mut Problems,
) -> Vec<Option<u32>> {
    let unnamed = spec.inputs.iter().find(|input| input.entry.is_none()).map(|input| &input.stream);
    let default = match runs {
        Runs::Handlers => {
            default_handler(spec, pin, &description.handlers, unnamed.is_some(), problems)
        }
        Runs::Transform => default_port(spec, pin, &description.inputs, unnamed, problems),
    };
    let mut find = |entry: &Placed<String>| match runs {
        Runs::Handlers => handler(entry, pin, &description.handlers, true, problems),
        Runs::Transform => port(entry, pin, &description.inputs, problems),
    };
    spec.inputs.iter().map(|input| input.entry.as_ref().map_or(default, &mut find)).collect()
}

fn default_handler(
    spec: &OperatorSpec,
    pin: &ModulePin,
    handlers: &[Handler],
    needed: bool,
    problems: &mut Problems,
) -> Option<u32> {
    if let Some(name) = &spec.handler {
        if !needed {
            problems
                .warning(
                    name.place,
                    &name.path,
                    "no-effect",
                    "`handler` has no effect: no stream leads to it.",
                )
                .help("add `input`, or remove `handler`: a call names the handler itself");
        }
        return handler(name, pin, handlers, needed, problems);
    }
    if !needed {
        return None;
    }
    let takers: Vec<_> =
        handlers.iter().enumerate().filter(|(_, handler)| handler.takes_events).collect();
    match takers.as_slice() {
        [(index, _)] => u32::try_from(*index).ok(),
        [] => {
            problems
                .error(
                    spec.id.place,
                    &spec.id.path,
                    "no-events",
                    format!("No handler of `{pin}` takes events."),
                )
                .help("remove `input`, or let a handler of the module take events");
            None
        }
        _ => {
            let names =
                list(takers.iter().map(|(_, handler)| handler.name.as_str())).unwrap_or_default();
            problems
                .error(
                    spec.id.place,
                    &spec.id.path,
                    "ambiguous-handler",
                    format!("More than one handler of `{pin}` takes events: {names}."),
                )
                .help("name one with `handler:`, or give each its streams: `input: { handler: stream }`");
            None
        }
    }
}

fn handler(
    name: &Placed<String>,
    pin: &ModulePin,
    handlers: &[Handler],
    takes_events: bool,
    problems: &mut Problems,
) -> Option<u32> {
    let Some(index) = handlers.iter().position(|handler| handler.name == name.value) else {
        let known = handlers.iter().map(|handler| handler.name.as_str());
        problems
            .error(
                name.place,
                &name.path,
                "unknown-handler",
                format!("`{pin}` has no handler `{}`.", name.value),
            )
            .help(suggest(&name.value, known, "the module has no handlers"));
        return None;
    };
    if takes_events && handlers.get(index).is_some_and(|handler| !handler.takes_events) {
        let takers = handlers
            .iter()
            .filter(|handler| handler.takes_events)
            .map(|handler| handler.name.as_str());
        problems
            .error(
                name.place,
                &name.path,
                "no-events",
                format!("The handler `{}` of `{pin}` takes calls only, no events.", name.value),
            )
            .help(list(takers).map_or("no handler of it takes events".into(), |names| {
                format!("events go to {names}")
            }));
        return None;
    }
    u32::try_from(index).ok()
}

fn default_port(
    spec: &OperatorSpec,
    pin: &ModulePin,
    ports: &[Port],
    needed: Option<&Placed<crate::spec::StreamRef>>,
    problems: &mut Problems,
) -> Option<u32> {
    if let Some(name) = &spec.handler {
        problems
            .error(
                name.place,
                &name.path,
                "unknown-handler",
                format!("`{pin}` is a transform and has no handlers."),
            )
            .help("remove `handler`");
    }
    let stream = needed?;
    if ports.len() > 1 {
        let names = list(ports.iter().map(|port| port.name.as_str())).unwrap_or_default();
        problems
            .error(
                stream.place,
                &stream.path,
                "ambiguous-port",
                format!("`{pin}` has more than one input: {names}."),
            )
            .help("give each its streams: `input: { port: stream }`");
        return None;
    }
    Some(0)
}

fn port(
    name: &Placed<String>,
    pin: &ModulePin,
    ports: &[Port],
    problems: &mut Problems,
) -> Option<u32> {
    let index = ports.iter().position(|port| port.name == name.value);
    if index.is_none() {
        let known = ports.iter().map(|port| port.name.as_str());
        problems
            .error(
                name.place,
                &name.path,
                "unknown-port",
                format!("`{pin}` has no input `{}`.", name.value),
            )
            .help(suggest(
                &name.value,
                known,
                "its only input has no name: write the stream alone",
            ));
    }
    index.and_then(|index| u32::try_from(index).ok())
}
