//! Keyed state in memory: all cells of all keys of one unit.
//!
//! A key's bytes are stored once, in [`Keys`], and named by a slot from then on.
//! [`Cells`] has a column per cell, indexed by slot, and remembers what changed
//! since the last barrier. Writes of an invocation that has not ended are in its
//! [`Overlay`]; those of a batch in progress in [`BatchState`], which does one hash
//! lookup per event however many cells are loaded.
//!
//! Nothing here knows of files: the unit turns changes into rows.

mod batch;
mod cells;
mod keys;
mod overlay;
mod small;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use self::overlay::MapOverlay;
pub(crate) use self::{
    batch::BatchState,
    cells::Cells,
    keys::{Keys, Slot},
    overlay::{Overlay, scan},
};
