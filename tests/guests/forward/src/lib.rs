//! Gives every event on as it is.

use weir_sdk::{Event, Raw, RawBuf, Result};

weir_sdk::transform! {
    /// Gives every event on as it is.
    Forward;

    inputs {
        /// Anything.
        events: forward
    }
    outputs {
        /// The same.
        OUT: RawBuf
    }
}

fn forward(event: &Event<'_>, value: Raw<'_>) -> Result<()> {
    OUT.emit(event, &RawBuf(value.0.into()))
}
