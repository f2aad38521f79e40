//! Parts of a batch, copied by stretches of columns.

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::batch::{Batch, BatchHeader};

/// The events of these stretches, which ascend and do not overlap.
pub(super) fn stretches(batch: &Batch, stretches: impl Iterator<Item = Range<usize>>) -> Batch {
    let mut to = Batch::default();
    for stretch in stretches.filter(|stretch| !stretch.is_empty()) {
        copy(batch, stretch, &mut to);
    }
    to
}

/// The events that `pick` names, ascending.
pub(super) fn picked(batch: &Batch, pick: &[usize]) -> Batch {
    stretches(batch, pick.chunk_by(|a, b| a + 1 == *b).map(|run| run[0]..run[run.len() - 1] + 1))
}

/// The events that have a key.
pub(super) fn keyed(batch: &Batch) -> Batch {
    let keyless = || batch.keyless.iter().map(|event| *event as usize);
    let starts = std::iter::once(0).chain(keyless().map(|event| event + 1));
    let ends = keyless().chain(std::iter::once(batch.len()));
    stretches(batch, starts.zip(ends).map(|(start, end)| start..end))
}

fn copy(from: &Batch, events: Range<usize>, to: &mut Batch) {
    let base = to.len();
    to.timestamps.extend_from_slice(&from.timestamps[events.clone()]);
    column(&from.keys, &from.key_ends, &events, &mut to.keys, &mut to.key_ends);
    column(&from.values, &from.value_ends, &events, &mut to.values, &mut to.value_ends);
    if !from.ports.is_empty() {
        to.ports.extend_from_slice(&from.ports[events.clone()]);
    }
    if !from.hashes.is_empty() {
        to.hashes.extend_from_slice(&from.hashes[events.clone()]);
    }
    if !from.origins.is_empty() {
        to.origins.extend_from_slice(&from.origins[events.clone()]);
    }
    let moved = |event: u32| event - events.start as u32 + base as u32;
    let within = |event: u32| events.contains(&(event as usize));
    let first = from.keyless.partition_point(|event| (*event as usize) < events.start);
    to.keyless.extend(
        from.keyless[first..].iter().take_while(|event| within(**event)).map(|event| moved(*event)),
    );
    let first = from.headers.partition_point(|header| (header.event as usize) < events.start);
    let headers = from.headers[first..].iter().take_while(|header| within(header.event));
    to.headers
        .extend(headers.map(|header| BatchHeader { event: moved(header.event), ..header.clone() }));
}

fn column(
    bytes: &[u8],
    ends: &[u32],
    events: &Range<usize>,
    to: &mut Vec<u8>,
    to_ends: &mut Vec<u32>,
) {
    let start = if events.start == 0 { 0 } else { ends[events.start - 1] };
    let base = to.len() as u32;
    to.extend_from_slice(&bytes[start as usize..ends[events.end - 1] as usize]);
    to_ends.extend(ends[events.clone()].iter().map(|end| end - start + base));
}
