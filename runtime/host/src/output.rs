//! What a guest gives away, checked before it is believed.

use weir_core::{
    batch::{Batch, BatchHeader},
    guest::Output,
};

use crate::{
    bindings::{
        transform::{EventFailure, EventHeaderResult as EventHeader, EventSend, Output as Raw},
        weir::operator::{invocation_types::Reply as RawReply, types},
    },
    convert,
    limits::Limits,
    trap::Fault,
};

/// Checks a transform's output and fills in what it left to the default.
///
/// # Errors
/// A fault that says which column breaks which rule.
pub(crate) fn complete(
    raw: Raw,
    input: &Batch,
    outputs: usize,
    limits: &Limits,
) -> Result<Output, Fault> {
    let n = raw.value_ends.len();
    check_size(size_of(&raw), limits)?;
    check_ends("value-ends", &raw.value_ends, raw.values.len())?;
    check_causes(&raw.causes, n, input.len())?;
    check_full("timestamps", raw.timestamps.len(), n)?;
    check_full("key-ends", raw.key_ends.len(), n)?;
    check_full("ports", raw.ports.len(), n)?;
    if raw.key_ends.is_empty() {
        if !raw.keys.is_empty() {
            return Err(Fault::garbage("`keys` has bytes, but `key-ends` is empty"));
        }
    } else {
        check_ends("key-ends", &raw.key_ends, raw.keys.len())?;
    }
    if let Some(port) = raw.ports.iter().find(|port| usize::from(**port) >= outputs.max(1)) {
        return Err(Fault::garbage(format!(
            "an output is for port {port}: the module declares {outputs} outputs"
        )));
    }
    if n > 0 && outputs == 0 {
        return Err(Fault::garbage("there are outputs, but the module declares none"));
    }
    let mut batch = Batch {
        timestamps: raw.timestamps,
        keys: raw.keys,
        key_ends: raw.key_ends,
        values: raw.values,
        value_ends: raw.value_ends,
        ports: raw.ports,
        headers: headers(raw.headers, n)?,
        ..Batch::default()
    };
    fill(&mut batch, &raw.causes, input);
    Ok(Output {
        batch,
        causes: raw.causes,
        failures: failures(raw.failures, input.len())?,
        sends: sends(raw.sends, input.len())?,
    })
}

/// Checks what an invocation gives away.
///
/// # Errors
/// A fault that says what breaks which rule.
pub(crate) fn check_reply(reply: &RawReply, outputs: usize, limits: &Limits) -> Result<(), Fault> {
    let header = |header: &types::Header| header.name.len() + header.value.len();
    let mut size = reply.value.len() as u64;
    for emission in &reply.emissions {
        if usize::from(emission.port) >= outputs {
            return Err(Fault::garbage(format!(
                "an emission is for port {}: the module declares {outputs} outputs",
                emission.port
            )));
        }
        let bytes = emission.value.len()
            + emission.key.as_ref().map_or(0, Vec::len)
            + emission.headers.iter().map(header).sum::<usize>();
        size += bytes as u64;
    }
    size += reply.sends.iter().map(request_size).sum::<u64>();
    check_size(size, limits)
}

/// Columns that the guest left empty are taken from the causes.
fn fill(batch: &mut Batch, causes: &[u32], input: &Batch) {
    let same = causes.len() == input.len() && causes.iter().zip(0..).all(|(cause, i)| *cause == i);
    if batch.timestamps.is_empty() {
        batch.timestamps = taken(&input.timestamps, causes, same);
    }
    if batch.key_ends.is_empty() {
        if same {
            batch.keys.clone_from(&input.keys);
            batch.key_ends.clone_from(&input.key_ends);
            batch.keyless.clone_from(&input.keyless);
        } else {
            take_keys(batch, causes, input);
        }
        if input.hashes.len() == input.len() {
            batch.hashes = taken(&input.hashes, causes, same);
        }
    }
    if batch.ports.is_empty() {
        batch.ports.resize(causes.len(), 0);
    }
    if input.origins.len() == input.len() {
        batch.origins = taken(&input.origins, causes, same);
    }
}

fn taken<T: Copy>(column: &[T], causes: &[u32], same: bool) -> Vec<T> {
    if same {
        column.to_vec()
    } else {
        causes.iter().map(|cause| column[*cause as usize]).collect()
    }
}

fn take_keys(batch: &mut Batch, causes: &[u32], input: &Batch) {
    batch.key_ends.reserve(causes.len());
    for (i, cause) in causes.iter().enumerate() {
        match input.key(*cause as usize) {
            Some(key) => batch.keys.extend_from_slice(key),
            None => batch.keyless.push(i as u32),
        }
        batch.key_ends.push(batch.keys.len() as u32);
    }
}

fn headers(raw: Vec<EventHeader>, n: usize) -> Result<Vec<BatchHeader>, Fault> {
    if !raw.is_sorted_by_key(|header| header.event) {
        return Err(Fault::garbage("`headers` does not ascend by event"));
    }
    if let Some(last) = raw.last().filter(|last| last.event as usize >= n) {
        return Err(Fault::garbage(format!("a header is of output {}: there are {n}", last.event)));
    }
    let header =
        |raw: EventHeader| BatchHeader { event: raw.event, name: raw.name, value: raw.value };
    Ok(raw.into_iter().map(header).collect())
}

fn failures(
    raw: Vec<EventFailure>,
    events: usize,
) -> Result<Vec<(u32, weir_core::failure::Failure)>, Fault> {
    if let Some(failure) = raw.iter().find(|failure| failure.event as usize >= events) {
        return Err(Fault::garbage(format!(
            "a failure is of event {}: the batch has {events}",
            failure.event
        )));
    }
    let mut failures: Vec<_> =
        raw.into_iter().map(|raw| (raw.event, convert::failure(raw.failure))).collect();
    failures.sort_by_key(|(event, _)| *event);
    failures.dedup_by_key(|(event, _)| *event);
    Ok(failures)
}

fn sends(
    raw: Vec<EventSend>,
    events: usize,
) -> Result<Vec<(u32, weir_core::guest::Request)>, Fault> {
    if !raw.is_sorted_by_key(|send| send.event) {
        return Err(Fault::garbage("`sends` does not ascend by event"));
    }
    if let Some(last) = raw.last().filter(|last| last.event as usize >= events) {
        return Err(Fault::garbage(format!(
            "a send is of event {}: the batch has {events}",
            last.event
        )));
    }
    Ok(raw.into_iter().map(|raw| (raw.event, convert::request(raw.request))).collect())
}

fn check_full(column: &str, length: usize, n: usize) -> Result<(), Fault> {
    if length == 0 || length == n {
        return Ok(());
    }
    Err(Fault::garbage(format!("`{column}` has {length} elements for {n} outputs")))
}

fn check_ends(column: &str, ends: &[u32], bytes: usize) -> Result<(), Fault> {
    if !ends.is_sorted() {
        return Err(Fault::garbage(format!("`{column}` does not ascend")));
    }
    let last = ends.last().map_or(0, |end| *end as usize);
    if last != bytes {
        return Err(Fault::garbage(format!("`{column}` ends at {last}, its bytes at {bytes}")));
    }
    Ok(())
}

fn check_causes(causes: &[u32], n: usize, events: usize) -> Result<(), Fault> {
    if causes.len() != n {
        return Err(Fault::garbage(format!(
            "`causes` has {} elements for {n} outputs",
            causes.len()
        )));
    }
    if !causes.is_sorted() {
        return Err(Fault::garbage("`causes` does not ascend"));
    }
    match causes.last() {
        Some(last) if *last as usize >= events => {
            Err(Fault::garbage(format!("`causes` names event {last}: the batch has {events}")))
        }
        _ => Ok(()),
    }
}

fn size_of(raw: &Raw) -> u64 {
    let columns = raw.keys.len() + raw.values.len() + 17 * raw.causes.len();
    let headers: usize =
        raw.headers.iter().map(|header| header.name.len() + header.value.len()).sum();
    columns as u64
        + headers as u64
        + raw.sends.iter().map(|send| request_size(&send.request)).sum::<u64>()
}

fn request_size(request: &types::Request) -> u64 {
    let bytes = request.value.len()
        + request.key.as_ref().map_or(0, Vec::len)
        + request.operator.len()
        + request.handler.len();
    bytes as u64
}

fn check_size(size: u64, limits: &Limits) -> Result<(), Fault> {
    if size <= limits.output_bytes {
        return Ok(());
    }
    Err(Fault::output(size, limits.output_bytes))
}
