//! Counts the bids of each bidder in a Nexmark stream: the query of the bench.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_sdk::{Counter, Event, Result};

weir_sdk::transform! {
    /// Counts the bids of each bidder. The key is the bidder.
    BidCount;

    inputs {
        /// Persons, auctions and bids; only bids are counted.
        events: count
    }
    outputs {
        /// The bidder and the count so far.
        OUT: Counted
    }
    cells {
        /// Bids so far.
        COUNT: Counter
    }
}

/// What is needed of a Nexmark event.
#[derive(Deserialize, JsonSchema)]
struct Nexmark {
    bid: Option<Bid>,
}

#[derive(Deserialize, JsonSchema)]
struct Bid {
    bidder: u64,
}

/// How often a bidder has bid.
#[derive(Serialize, JsonSchema)]
struct Counted {
    bidder: u64,
    count: i64,
}

fn count(event: &Event<'_>, nexmark: Nexmark) -> Result<()> {
    let Some(Bid { bidder }) = nexmark.bid else { return Ok(()) };
    let count = COUNT.add(event, 1)?;
    OUT.emit(event, &Counted { bidder, count })
}
