//! The host's side of the contract's imports, one file per interface.
//!
//! What is wrong with an argument becomes a [`Fault`], which traps. A handle whose
//! invocation has ended is no fault: reads give nothing, writes do nothing.

mod batch_state;
mod calls;
mod context;
mod log;
mod state;

use wasmtime::component::{HasSelf, Linker};

use crate::{bindings::weir::operator, data::Data, engine::Kind, trap::Fault};

/// Bytes of a value of a cell, or of a request.
const VALUE_MAX: usize = 1 << 20;

/// Bytes of the key of an entry.
const ENTRY_KEY_MAX: usize = 1 << 10;

/// Bytes of randomness or seed at once.
const RANDOM_MAX: u32 = 4_096;

/// Entries that one scan gives.
const SCAN_MAX: u32 = 1_024;

/// Gives a linker all imports that its engine can run.
pub(crate) fn link(linker: &mut Linker<Data>, kind: Kind) -> wasmtime::Result<()> {
    fn data(data: &mut Data) -> &mut Data {
        data
    }
    operator::types::add_to_linker::<_, HasSelf<Data>>(linker, data)?;
    operator::invocations::add_to_linker::<_, HasSelf<Data>>(linker, data)?;
    operator::invocation_types::add_to_linker::<_, HasSelf<Data>>(linker, data)?;
    operator::context::add_to_linker::<_, HasSelf<Data>>(linker, data)?;
    operator::log::add_to_linker::<_, HasSelf<Data>>(linker, data)?;
    operator::state::add_to_linker::<_, HasSelf<Data>>(linker, data)?;
    operator::batch_state::add_to_linker::<_, HasSelf<Data>>(linker, data)?;
    if kind == Kind::Concurrent {
        operator::calls::add_to_linker::<_, HasSelf<Data>>(linker, data)?;
        operator::call_futures::add_to_linker::<_, HasSelf<Data>>(linker, data)?;
    }
    Ok(())
}

impl operator::types::Host for Data {}

impl operator::invocation_types::Host for Data {}

fn check_value(value: &[u8]) -> Result<(), Fault> {
    check_length("a value", value.len(), VALUE_MAX)
}

fn check_entry_key(key: &[u8]) -> Result<(), Fault> {
    check_length("the key of an entry", key.len(), ENTRY_KEY_MAX)
}

fn check_length(what: &str, length: usize, max: usize) -> Result<(), Fault> {
    if length <= max {
        return Ok(());
    }
    Err(Fault::misuse(format!("{what} has {length} bytes and may have {max}")))
}
