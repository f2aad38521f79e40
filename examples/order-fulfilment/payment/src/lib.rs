//! The account of each customer: a credit line, of which orders take and refunds
//! give back.
//!
//! What was done for an order is kept under the order, so that it is done once.

use messages::{Authorize, Authorized, Refund};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_sdk::{Counter, Ctx, Failure, Map, Result, Value};

#[cfg(test)]
mod tests;

weir_sdk::handlers! {
    /// Authorizes payments against each customer's credit line, and refunds them. The
    /// key is the customer.
    Payment;
    config Config;

    handlers {
        /// Takes an amount from the credit line, unless the card declines or the line
        /// is too short.
        authorize(call),
        /// Gives back a part of what an order took; once per order.
        refund(call),
    }
    cells {
        /// What is left of the credit line, in cents.
        CREDIT: Value<i64>,
        /// All that was ever authorized, in cents.
        AUTHORIZED: Counter,
        /// All that was ever refunded, in cents.
        REFUNDED: Counter,
        /// What each order took and got back.
        ORDERS: Map<String, Account>,
    }
}

/// `config:` of the operator.
#[derive(Deserialize, JsonSchema)]
pub struct Config {
    /// What a new customer may owe, in cents.
    #[serde(default = "a_thousand_euros")]
    pub credit_line: i64,
}

fn a_thousand_euros() -> i64 {
    100_000
}

/// One order's part, in cents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    pub authorized: i64,
    pub refunded: Option<i64>,
}

/// Cards that end like this decline.
const DECLINES: &str = "0002";

async fn authorize(ctx: &Ctx, payment: Authorize) -> Result<Authorized> {
    let declined = |reason: &str| Ok(Authorized { declined: Some(reason.into()) });
    if ORDERS.get(ctx, &payment.order_id)?.is_some() {
        return Ok(Authorized { declined: None });
    }
    if payment.amount < 0 {
        return Err(Failure::terminal("bad-amount", payment.amount));
    }
    if payment.card.ends_with(DECLINES) {
        return declined("card-declined");
    }
    let credit = credit(ctx)?;
    if payment.amount > credit {
        return declined("over-credit");
    }
    CREDIT.put(ctx, credit - payment.amount)?;
    AUTHORIZED.add(ctx, payment.amount)?;
    ORDERS.put(ctx, &payment.order_id, &Account { authorized: payment.amount, refunded: None })?;
    Ok(Authorized { declined: None })
}

async fn refund(ctx: &Ctx, refund: Refund) -> Result<()> {
    let Some(Account { authorized, refunded }) = ORDERS.get(ctx, &refund.order_id)? else {
        return Err(Failure::terminal(
            "unknown-order",
            format!("{} took nothing", refund.order_id),
        ));
    };
    if refunded.is_some() {
        return Ok(());
    }
    if !(0..=authorized).contains(&refund.amount) {
        return Err(Failure::terminal("bad-amount", format!("{} of {authorized}", refund.amount)));
    }
    CREDIT.put(ctx, credit(ctx)? + refund.amount)?;
    REFUNDED.add(ctx, refund.amount)?;
    ORDERS.put(ctx, &refund.order_id, &Account { authorized, refunded: Some(refund.amount) })
}

/// What is left of the credit line; that of a new customer is whole.
fn credit(ctx: &Ctx) -> Result<i64> {
    match CREDIT.get(ctx)? {
        Some(credit) => Ok(credit),
        None => Ok(weir_sdk::config::<Config>()?.credit_line),
    }
}
