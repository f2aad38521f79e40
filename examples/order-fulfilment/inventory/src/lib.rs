//! The stock of each SKU: what came in is in stock, reserved or shipped, and nothing
//! else.
//!
//! Every handler may be asked the same twice, and does it once: what became of a line
//! is kept under the line.

use messages::{LineOf, Released, Reserved, Restock};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_sdk::{Counter, Ctx, Failure, Map, Result};

#[cfg(test)]
mod tests;

weir_sdk::handlers! {
    /// Keeps the stock of each SKU: received = stock + reserved + shipped. The key is
    /// the SKU.
    Inventory;

    handlers {
        /// Takes a delivery in.
        restock(event, call),
        /// Sets units aside for a line of an order, if there are enough.
        reserve(call),
        /// Puts a line's units back, unless they have shipped.
        release(call),
        /// Sends a line's units off. If the line was released meanwhile it stays so,
        /// and that is counted.
        ship(call),
    }
    cells {
        /// Units that ever came in.
        RECEIVED: Counter,
        /// Units that may be reserved.
        STOCK: Counter,
        /// Units set aside.
        RESERVED: Counter,
        /// Units sent off.
        SHIPPED: Counter,
        /// How often a line was to ship that had been released.
        LATE: Counter,
        /// What became of each line, by order and index.
        LINES: Map<String, Held>,
    }
}

/// A line's units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    pub quantity: u32,
    pub state: State,
}

/// Where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Reserved,
    Released,
    Shipped,
}

async fn restock(ctx: &Ctx, delivery: Restock) -> Result<i64> {
    RECEIVED.add(ctx, delivery.quantity.into())?;
    STOCK.add(ctx, delivery.quantity.into())
}

async fn reserve(ctx: &Ctx, of: LineOf) -> Result<Reserved> {
    let held = LINES.get(ctx, &name(&of))?;
    if held.is_some_and(|held| held.state != State::Released) {
        return Ok(Reserved { reserved: true });
    }
    let quantity = of.quantity;
    if STOCK.get(ctx)? < quantity.into() {
        return Ok(Reserved { reserved: false });
    }
    STOCK.add(ctx, -i64::from(quantity))?;
    RESERVED.add(ctx, quantity.into())?;
    LINES.put(ctx, &name(&of), &Held { quantity, state: State::Reserved })?;
    Ok(Reserved { reserved: true })
}

async fn release(ctx: &Ctx, of: LineOf) -> Result<Released> {
    let Some(Held { quantity, state }) = LINES.get(ctx, &name(&of))? else {
        return Ok(Released { released: false });
    };
    if state == State::Reserved {
        RESERVED.add(ctx, -i64::from(quantity))?;
        STOCK.add(ctx, quantity.into())?;
        LINES.put(ctx, &name(&of), &Held { quantity, state: State::Released })?;
    }
    Ok(Released { released: state != State::Shipped })
}

async fn ship(ctx: &Ctx, of: LineOf) -> Result<()> {
    let Some(Held { quantity, state }) = LINES.get(ctx, &name(&of))? else {
        return Err(Failure::terminal("unknown-line", format!("{} was never reserved", name(&of))));
    };
    match state {
        State::Shipped => {}
        State::Released => {
            LATE.add(ctx, 1)?;
        }
        State::Reserved => {
            RESERVED.add(ctx, -i64::from(quantity))?;
            SHIPPED.add(ctx, quantity.into())?;
            LINES.put(ctx, &name(&of), &Held { quantity, state: State::Shipped })?;
        }
    }
    Ok(())
}

/// The entry of a line.
fn name(of: &LineOf) -> String {
    format!("{}/{}", of.order_id, of.line)
}
