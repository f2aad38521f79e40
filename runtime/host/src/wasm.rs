//! Bytes that should be WebAssembly: what they are, and whether they are valid.

use wasmparser::{Parser, Payload, Validator, WasmFeatures};

use crate::report::Problem;

const MAGIC: &[u8] = b"\0asm";

/// What valid bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A core module; with the metadata that makes it a component, or without.
    Core { metadata: bool },
    /// A component.
    Component,
}

/// Says what the bytes are.
///
/// # Errors
/// If they are no valid WebAssembly, the reason.
pub(crate) fn examine(bytes: &[u8]) -> Result<Shape, Problem> {
    if bytes.is_empty() {
        return Err(Problem::new(
            "empty",
            "The file is empty.",
            "Upload the .wasm file that your build wrote.",
        ));
    }
    if !bytes.starts_with(MAGIC) {
        if MAGIC.starts_with(bytes) {
            return Err(truncated(bytes.len()));
        }
        return Err(not_wasm(bytes));
    }
    let shape = match bytes.get(4..8) {
        None => return Err(truncated(bytes.len())),
        Some([1, 0, 0, 0]) => Shape::Core { metadata: has_metadata(bytes) },
        Some([_, _, 1, 0]) => Shape::Component,
        Some(version) => {
            return Err(Problem::new(
                "invalid",
                format!("The file has the unknown version {version:02x?} at offset 4."),
                "Build it anew; Weir runs core modules of version 1 and components.",
            ));
        }
    };
    match Validator::new_with_features(WasmFeatures::all()).validate_all(bytes) {
        Ok(_) => Ok(shape),
        Err(error) if error.message().contains("unexpected end") => Err(truncated(error.offset())),
        Err(error) => Err(Problem::new(
            "invalid",
            format!(
                "The file is not valid WebAssembly: {} at offset {}.",
                error.message(),
                error.offset()
            ),
            "Build it anew, and upload exactly the bytes that were built.",
        )),
    }
}

/// Bytes of the largest function in the core modules of a component. The time to
/// compile a function grows faster than its size.
pub(crate) fn largest_function(component: &[u8]) -> usize {
    let size = |payload| match payload {
        Ok(Payload::CodeSectionEntry(body)) => Some(body.range().len()),
        _ => None,
    };
    Parser::new(0).parse_all(component).filter_map(size).max().unwrap_or(0)
}

/// Bytes of memory that the core modules of a component ask for at the start.
pub(crate) fn memory_floor(component: &[u8]) -> u64 {
    let mut bytes: u64 = 0;
    for payload in Parser::new(0).parse_all(component) {
        if let Ok(Payload::MemorySection(memories)) = payload {
            for memory in memories.into_iter().flatten() {
                let page = 1_u64 << memory.page_size_log2.unwrap_or(16).min(16);
                bytes = bytes.saturating_add(memory.initial.saturating_mul(page));
            }
        }
    }
    bytes
}

/// Has a core module the metadata of which a component can be made?
fn has_metadata(bytes: &[u8]) -> bool {
    Parser::new(0).parse_all(bytes).any(|payload| {
        matches!(payload, Ok(Payload::CustomSection(section)) if section.name().starts_with("component-type"))
    })
}

fn truncated(offset: impl std::fmt::Display) -> Problem {
    Problem::new(
        "truncated",
        format!("The file ends too early, at offset {offset}."),
        "The upload or the build was cut off: send the whole file again.",
    )
}

fn not_wasm(bytes: &[u8]) -> Problem {
    let start =
        String::from_utf8_lossy(&bytes[..bytes.len().min(256)]).trim_start().to_ascii_lowercase();
    let (what, help) = if start.starts_with("(module")
        || start.starts_with("(component")
        || start.starts_with(";;")
    {
        ("WebAssembly in text form", "Turn it into bytes first, with `wasm-tools parse`.")
    } else if start.starts_with("<!doctype") || start.starts_with("<html") || start.starts_with('<')
    {
        (
            "an HTML or XML page",
            "It looks like an error page that was saved instead of the module: fetch it again.",
        )
    } else if bytes.starts_with(b"PK\x03\x04") {
        ("a zip archive", "Upload the .wasm file that is in it.")
    } else if bytes.starts_with(&[0x1f, 0x8b]) {
        ("gzip data", "Upload the file uncompressed.")
    } else if bytes.starts_with(b"\x7fELF")
        || bytes.starts_with(b"MZ")
        || bytes.starts_with(&[0xcf, 0xfa, 0xed, 0xfe])
    {
        (
            "a native program",
            "Build it for WebAssembly, for example with `--target wasm32-unknown-unknown`.",
        )
    } else {
        ("something else", "Upload the .wasm file that your build wrote.")
    };
    Problem::new("not-wasm", format!("The file is not WebAssembly but {what}."), help)
}

#[cfg(test)]
mod tests;
