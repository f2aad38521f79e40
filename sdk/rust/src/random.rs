//! Randomness for crates that use getrandom 0.3: that of the invocation in hand,
//! the same on every re-run; in a transform the seed, the same for every batch.
//!
//! `weir build` sets `--cfg getrandom_backend="custom"`, which asks for this.

/// The function that getrandom looks for.
///
/// # Safety
/// `buffer` points to `length` bytes that may be written.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(
    buffer: *mut u8,
    length: usize,
) -> Result<(), getrandom::Error> {
    // SAFETY: getrandom gives a buffer of this length; it may be uninitialised, so
    // it is zeroed before it is seen as a slice.
    let buffer = unsafe {
        std::ptr::write_bytes(buffer, 0, length);
        std::slice::from_raw_parts_mut(buffer, length)
    };
    crate::host::fill_current(buffer);
    Ok(())
}
