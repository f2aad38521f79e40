//! A core module into a component.

use anyhow::{Context as _, Result, bail};
use wit_component::ComponentEncoder;

/// How a file of each kind begins: `\0asm`, version, layer.
const CORE: &[u8] = b"\0asm\x01\0\0\0";
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// Encodes a core module that has WIT metadata. A component stays as it is.
pub(super) fn encode(module: &[u8]) -> Result<Vec<u8>> {
    if module.starts_with(COMPONENT) {
        return Ok(module.to_vec());
    }
    if !module.starts_with(CORE) {
        bail!("what was compiled is no WebAssembly");
    }
    let (_, found) = wit_component::metadata::decode(module)
        .context("the module's WIT metadata cannot be read")?;
    let world = found.resolve.worlds.get(found.world);
    if world.is_none_or(|world| world.exports.is_empty()) {
        bail!(
            "what was compiled is no operator: declare one with `weir_sdk::transform!` or `weir_sdk::handlers!`"
        );
    }
    ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(|mut encoder| encoder.encode())
        .context("the module cannot be made a component")
}
