//! The host's side of the contract: on WebAssembly the imports, elsewhere a host
//! in memory, so that operators run in plain unit tests. Both have the same
//! functions.

use std::{any::Any, cell::RefCell, rc::Rc};

use crate::Result;

#[cfg(not(target_arch = "wasm32"))]
mod memory;
#[cfg(target_arch = "wasm32")]
mod wasm;

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use memory::*;
#[cfg(target_arch = "wasm32")]
pub(crate) use wasm::*;
#[cfg(target_arch = "wasm32")]
pub use wasm::{bindings, exports};

/// One cell's values for the distinct keys of a batch.
pub(crate) struct Loaded {
    /// Per event, the index of its key's value.
    pub(crate) slots: Vec<u32>,
    /// All values, end to end.
    pub(crate) values: Vec<u8>,
    /// Where each ends.
    pub(crate) ends: Vec<u32>,
}

thread_local! {
    /// What the configuration was read as.
    static CONFIG: RefCell<Option<Rc<dyn Any>>> = const { RefCell::new(None) };
}

/// The configuration, read on first use.
pub(crate) fn config<T: 'static>(read: impl FnOnce(&str) -> Result<T>) -> Result<Rc<T>> {
    let known = CONFIG.with_borrow(Clone::clone).and_then(|config| config.downcast::<T>().ok());
    if let Some(config) = known {
        return Ok(config);
    }
    let config = Rc::new(read(&config_text())?);
    CONFIG.set(Some(config.clone()));
    Ok(config)
}
