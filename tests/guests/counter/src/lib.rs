//! Counts the events of each key.

use schemars::JsonSchema;
use serde::Serialize;
use weir_sdk::{Counter, Event, Raw, Result};

weir_sdk::transform! {
    /// Counts the events of each key.
    Count;

    inputs {
        /// Anything with a key.
        events: count
    }
    outputs {
        /// The key and its count so far.
        OUT: Counted
    }
    cells {
        /// Events so far.
        COUNT: Counter
    }
}

/// How often a key has come.
#[derive(Serialize, JsonSchema)]
struct Counted {
    key: String,
    count: i64,
}

fn count(event: &Event<'_>, _value: Raw<'_>) -> Result<()> {
    let key = event.key_str()?.to_string();
    let count = COUNT.add(event, 1)?;
    OUT.emit(event, &Counted { key, count })
}
