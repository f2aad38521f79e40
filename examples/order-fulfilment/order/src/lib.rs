//! Orders from placing to cancelling.
//!
//! An order holds its key while it waits for answers, so placing and cancelling the
//! same order never overlap. Its outcome is kept, so an order that comes twice is
//! placed once.

use messages::{
    Authorize, Authorized, Cancelled, Confirmed, Line, LineOf, Order, Refund, Rejected, Released,
    Reserved,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_sdk::{Counter, Ctx, Failure, Result, Value};

#[cfg(test)]
mod tests;

weir_sdk::handlers! {
    /// Places orders all or nothing, and cancels what has not shipped. The key is the
    /// order's id.
    Orders;

    handlers {
        /// Reserves every line, then the money; if one of them cannot be had, what was
        /// reserved is released and the order rejected.
        place(event, call),
        /// Releases the lines that have not shipped and refunds their value.
        cancel(call),
        /// Replies with the order's outcome.
        status(read),
    }
    outputs {
        /// Orders that are reserved and paid for.
        CONFIRMED: Confirmed,
        /// Orders that came to nothing.
        REJECTED: Rejected,
        /// Confirmed orders of which lines were released and refunded.
        CANCELLED: Cancelled,
    }
    cells {
        /// The order and what became of it.
        OUTCOME: Value<Outcome>,
        /// How often the order came again.
        REPEATED: Counter,
    }
}

/// What became of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Outcome {
    Rejected(Rejected),
    Confirmed(Confirmed),
    Cancelled(Cancelled),
}

/// `order.cancel`: the key is the order's id.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Cancel {
    pub order_id: String,
}

async fn place(ctx: &Ctx, order: Order) -> Result<Outcome> {
    if let Some(outcome) = OUTCOME.get(ctx)? {
        REPEATED.add(ctx, 1)?;
        return Ok(outcome);
    }
    let outcome = match take(ctx, &order).await? {
        Ok(amount) => {
            let Order { order_id, customer_id, currency, lines, .. } = order;
            let confirmed = Confirmed { order_id, customer_id, currency, amount, lines };
            CONFIRMED.emit(ctx, &confirmed)?;
            Outcome::Confirmed(confirmed)
        }
        Err(reason) => {
            let Order { order_id, customer_id, .. } = order;
            let rejected = Rejected { order_id, customer_id, reason };
            REJECTED.emit(ctx, &rejected)?;
            Outcome::Rejected(rejected)
        }
    };
    OUTCOME.put(ctx, outcome.clone())?;
    Ok(outcome)
}

async fn cancel(ctx: &Ctx, _cancel: Cancel) -> Result<Outcome> {
    let confirmed = match OUTCOME.get(ctx)? {
        None => return Err(Failure::terminal("unknown-order", "there is no such order")),
        Some(Outcome::Rejected(_)) => {
            return Err(Failure::terminal("not-confirmed", "the order was rejected"));
        }
        Some(cancelled @ Outcome::Cancelled(_)) => return Ok(cancelled),
        Some(Outcome::Confirmed(confirmed)) => confirmed,
    };
    let Confirmed { order_id, customer_id, lines, .. } = confirmed;
    let mut released = Vec::new();
    let mut refunded = 0;
    for (index, line) in lines.iter().enumerate() {
        // A line whose release fails stays reserved, and ships.
        let of = line_of(&order_id, index, line);
        let reply = ctx.call::<Released>("inventory", "release", &of).key(&line.sku).await;
        if reply.is_ok_and(|reply| reply.released) {
            released.push(of.line);
            refunded += line.amount().unwrap_or_default();
        }
    }
    if released.is_empty() {
        return Err(Failure::terminal("shipped", "every line has shipped"));
    }
    let refund =
        Refund { customer_id: customer_id.clone(), order_id: order_id.clone(), amount: refunded };
    if ctx.call::<()>("payment", "refund", &refund).key(&customer_id).await.is_err() {
        // The lines are released, so the money must go back, if not now then later.
        ctx.send("payment", "refund", &refund).key(&customer_id).now()?;
    }
    let cancelled = Cancelled { order_id, customer_id, released, refunded };
    CANCELLED.emit(ctx, &cancelled)?;
    let outcome = Outcome::Cancelled(cancelled);
    OUTCOME.put(ctx, outcome.clone())?;
    Ok(outcome)
}

async fn status(ctx: &Ctx, _nothing: Option<Cancel>) -> Result<Option<Outcome>> {
    OUTCOME.get(ctx)
}

/// Takes all that an order needs, or nothing; gives the amount, or the reason why not.
async fn take(ctx: &Ctx, order: &Order) -> Result<std::result::Result<i64, String>> {
    let Some(amount) = amount(order) else { return Ok(Err("bad-order".into())) };
    let mut reserved = 0;
    let reason = loop {
        let Some(line) = order.lines.get(reserved) else {
            match authorize(ctx, order, amount).await {
                None => return Ok(Ok(amount)),
                Some(reason) => break reason,
            }
        };
        match reserve(ctx, order, reserved, line).await {
            None => reserved += 1,
            Some(reason) => break reason,
        }
    };
    for (index, line) in order.lines.iter().enumerate().take(reserved) {
        let of = line_of(&order.order_id, index, line);
        if ctx.call::<Released>("inventory", "release", &of).key(&line.sku).await.is_err() {
            // It must not stay reserved, if not now then later.
            ctx.send("inventory", "release", &of).key(&line.sku).now()?;
        }
    }
    Ok(Err(reason))
}

/// Reserves a line, or gives the reason why not. A call that fails has done nothing
/// at the callee.
async fn reserve(ctx: &Ctx, order: &Order, index: usize, line: &Line) -> Option<String> {
    let of = line_of(&order.order_id, index, line);
    match ctx.call("inventory", "reserve", &of).key(&line.sku).await {
        Ok(Reserved { reserved: true }) => None,
        Ok(Reserved { reserved: false }) => Some("out-of-stock".into()),
        Err(failure) => Some(failure.code),
    }
}

/// Authorizes the amount, or gives the reason why not.
async fn authorize(ctx: &Ctx, order: &Order, amount: i64) -> Option<String> {
    let payment = Authorize {
        customer_id: order.customer_id.clone(),
        order_id: order.order_id.clone(),
        card: order.card.clone(),
        amount,
    };
    match ctx.call("payment", "authorize", &payment).key(&order.customer_id).await {
        Ok(Authorized { declined }) => declined,
        Err(failure) => Some(failure.code),
    }
}

fn line_of(order_id: &str, index: usize, line: &Line) -> LineOf {
    LineOf {
        sku: line.sku.clone(),
        order_id: order_id.into(),
        line: index as u32,
        quantity: line.quantity,
    }
}

/// What the order costs; none if it is no order.
fn amount(order: &Order) -> Option<i64> {
    let good = |line: &&Line| line.quantity > 0 && line.price >= 0;
    if order.lines.is_empty() || !order.lines.iter().all(|line| good(&line)) {
        return None;
    }
    order.lines.iter().try_fold(0_i64, |sum, line| sum.checked_add(line.amount()?))
}
