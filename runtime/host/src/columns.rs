//! A batch as the guest is given it: by reference, copied once, into its memory.

use weir_core::batch::Batch;

use crate::bindings::transform::{Batch as Columns, EventHeaderParam as Header};

/// The headers of a batch, by reference.
pub(crate) fn headers(batch: &Batch) -> Vec<Header<'_>> {
    batch
        .headers
        .iter()
        .map(|header| Header { event: header.event, name: &header.name, value: &header.value })
        .collect()
}

/// A batch and its headers, by reference.
pub(crate) fn columns<'a>(batch: &'a Batch, headers: &'a [Header<'a>]) -> Columns<'a> {
    Columns {
        timestamps: &batch.timestamps,
        keys: &batch.keys,
        key_ends: &batch.key_ends,
        values: &batch.values,
        value_ends: &batch.value_ends,
        ports: &batch.ports,
        keyless: &batch.keyless,
        headers,
        utf8: is_utf8(batch),
    }
}

/// Is every value valid UTF-8? The column as a whole has to be, and no value may
/// begin within a character.
fn is_utf8(batch: &Batch) -> bool {
    let Ok(values) = std::str::from_utf8(&batch.values) else { return false };
    values.is_ascii() || batch.value_ends.iter().all(|&end| values.is_char_boundary(end as usize))
}

#[cfg(test)]
mod tests;
