//! Adds up amounts by key.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_sdk::{Counter, Event, Failure, Result};

weir_sdk::transform! {
    /// Adds up amounts by key.
    {{type}};

    inputs {
        /// Payments to add. The key says what they are added up by.
        payments: add
    }
    outputs {
        /// The sum so far, after each payment.
        TOTALS: Total
    }
    cells {
        /// The sum so far.
        SUM: Counter
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Payment {
    /// In cents.
    pub amount: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Total {
    pub key: String,
    /// In cents.
    pub total: i64,
}

/// Runs once per event. What it does takes effect only if it returns ok.
fn add(event: &Event<'_>, payment: Payment) -> Result<()> {
    if payment.amount <= 0 {
        return Err(Failure::terminal("bad-amount", format!("{} is no amount to pay", payment.amount)));
    }
    let total = SUM.add(event, payment.amount)?;
    TOTALS.emit(event, &Total { key: event.key_str()?.into(), total })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_add_up_by_key() {
        let mut host = weir_sdk::testing::transform::<{{type}}>();
        host.event("ann", &Payment { amount: 300 }).unwrap();
        host.event("bob", &Payment { amount: 100 }).unwrap();
        host.event("ann", &Payment { amount: 200 }).unwrap();
        let totals = host.take::<Total>("totals");
        assert_eq!(totals[2], Total { key: "ann".into(), total: 500 });
        assert_eq!(host.counter("bob", "sum"), 100);
    }

    #[test]
    fn a_bad_amount_fails_for_good_and_changes_nothing() {
        let mut host = weir_sdk::testing::transform::<{{type}}>();
        let failure = host.event("ann", &Payment { amount: -1 }).unwrap_err();
        assert!(failure.is_terminal() && failure.is("bad-amount"));
        assert_eq!(host.counter("ann", "sum"), 0);
    }
}
