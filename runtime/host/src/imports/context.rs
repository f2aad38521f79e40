//! Configuration, time and randomness.

use sha2::{Digest, Sha256};
use wasmtime::component::Resource;

use super::{RANDOM_MAX, check_length};
use crate::{
    bindings::weir::operator::{context, invocations},
    data::Data,
    invocations::Handle,
};

impl invocations::HostInvocation for Data {
    fn drop(&mut self, handle: Resource<Handle>) -> wasmtime::Result<()> {
        self.invocations.dropped(&handle);
        Ok(())
    }
}

impl invocations::Host for Data {}

impl context::Host for Data {
    fn config(&mut self) -> wasmtime::Result<String> {
        Ok(self.config.as_ref().to_owned())
    }

    fn seed(&mut self, length: u32) -> wasmtime::Result<Vec<u8>> {
        check_length("the seed that was asked for", length as usize, RANDOM_MAX as usize)?;
        Ok(seed(&self.digest.0, length as usize))
    }

    fn now(&mut self, inv: Resource<Handle>) -> wasmtime::Result<i64> {
        Ok(self.invocations.open(&inv).map_or(0, |open| self.effects.now(open.id).0))
    }

    fn random(&mut self, inv: Resource<Handle>, length: u32) -> wasmtime::Result<Vec<u8>> {
        check_length("the randomness that was asked for", length as usize, RANDOM_MAX as usize)?;
        let mut bytes = match self.invocations.open(&inv) {
            Some(open) => self.effects.random(open.id, length),
            None => Vec::new(),
        };
        bytes.resize(length as usize, 0);
        Ok(bytes)
    }
}

/// The digest, hashed with a counter, as often as needed.
fn seed(digest: &[u8; 32], length: usize) -> Vec<u8> {
    let block =
        |n: u32| Sha256::new().chain_update(digest).chain_update(n.to_be_bytes()).finalize();
    (0..).flat_map(block).take(length).collect()
}
