//! Batches for a transform.

use std::{
    marker::PhantomData,
    ops::{Deref, DerefMut},
};

use super::{Emitted, Host, Input};
use crate::{
    Encode, Failure, Result, Transform,
    transform::{self, Batch},
};

/// An operator of type `O`, declared by [`transform!`](crate::transform), on a host in memory.
#[derive(Debug)]
pub struct TransformHost<O> {
    host: Host,
    operator: PhantomData<O>,
}

impl<O> Deref for TransformHost<O> {
    type Target = Host;

    fn deref(&self) -> &Host {
        &self.host
    }
}

impl<O> DerefMut for TransformHost<O> {
    fn deref_mut(&mut self) -> &mut Host {
        &mut self.host
    }
}

impl<O: Transform> TransformHost<O> {
    pub(super) fn new() -> Self {
        Self { host: Host::new(O::describe()), operator: PhantomData }
    }

    /// Gives the operator one event on its first input.
    ///
    /// # Errors
    /// The event's failure.
    pub fn event(&mut self, key: impl AsRef<[u8]>, value: &impl Encode) -> Result<()> {
        let failures = self.batch(vec![Input::new(key, value)])?;
        failures.into_iter().next().map_or(Ok(()), |(_, failure)| Err(failure))
    }

    /// Gives the operator a batch and gives the failures, by event. If there is
    /// one, the batch has left nothing behind, as on Weir, which then runs the
    /// others again.
    ///
    /// # Errors
    /// A failure of the whole batch.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn batch(&mut self, events: Vec<Input>) -> Result<Vec<(usize, Failure)>> {
        let mut batch = Batch { utf8: true, ..Batch::default() };
        self.memory.batch = events.iter().map(|event| event.key.clone()).collect();
        for (i, event) in events.into_iter().enumerate() {
            let port = self.description.inputs.iter().position(|input| input.name == event.port);
            let port = if event.port.is_empty() { Some(0) } else { port };
            batch.ports.push(port.unwrap_or_else(|| panic!("no input `{}`", event.port)) as u8);
            batch.timestamps.push(event.timestamp);
            match event.key {
                Some(key) => batch.keys.extend(key),
                None => batch.keyless.push(i as u32),
            }
            batch.key_ends.push(batch.keys.len() as u32);
            batch.utf8 &= std::str::from_utf8(&event.value).is_ok();
            batch.values.extend(event.value);
            batch.value_ends.push(batch.values.len() as u32);
            batch
                .headers
                .extend(event.headers.into_iter().map(|(name, value)| (i as u32, name, value)));
        }
        let timestamps = batch.timestamps.clone();

        let before = self.memory.state.clone();
        let result = self.memory.during(|| transform::process::<O>(batch));
        if !result.as_ref().is_ok_and(|output| output.failures.is_empty()) {
            self.memory.state = before;
        }
        let output = result?;
        if !output.failures.is_empty() {
            return Ok(output
                .failures
                .into_iter()
                .map(|(event, failure)| (event as usize, failure))
                .collect());
        }
        let part = |bytes: &[u8], ends: &[u32], i: usize| {
            let start = if i == 0 { 0 } else { ends[i - 1] as usize };
            bytes[start..ends[i] as usize].to_vec()
        };
        for (i, cause) in output.causes.iter().enumerate() {
            let cause = *cause as usize;
            let headers = output.headers.iter().filter(|(of, ..)| *of as usize == i);
            let port = self.port_name(output.ports.get(i).copied().unwrap_or_default());
            let key = match output.key_ends.is_empty() {
                true => self.memory.batch[cause].clone(),
                false => Some(part(&output.keys, &output.key_ends, i)),
            };
            self.outputs.push(Emitted {
                port,
                key,
                value: part(&output.values, &output.value_ends, i),
                timestamp: output.timestamps.get(i).copied().unwrap_or(timestamps[cause]),
                headers: headers.map(|(_, name, value)| (name.clone(), value.clone())).collect(),
            });
        }
        self.sends.extend(output.sends.into_iter().map(|(_, request)| request));
        Ok(Vec::new())
    }
}
