//! What the four operators say to each other. Amounts are in cents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An order as it comes in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Order {
    pub order_id: String,
    pub customer_id: String,
    pub card: String,
    pub currency: String,
    /// RFC 3339.
    pub created_at: String,
    pub lines: Vec<Line>,
}

/// So many units of one SKU, each at this price.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    pub sku: String,
    pub quantity: u32,
    pub price: i64,
}

impl Line {
    /// What the line costs, if that is a number.
    pub fn amount(&self) -> Option<i64> {
        self.price.checked_mul(i64::from(self.quantity))
    }
}

/// `inventory.reserve`, `inventory.release` and `inventory.ship`: a line of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineOf {
    pub sku: String,
    pub order_id: String,
    /// Index of the line in its order.
    pub line: u32,
    /// Of a reservation: the units. Else what was reserved counts.
    #[serde(default)]
    pub quantity: u32,
}

/// The reply of `inventory.reserve`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reserved {
    /// False: there are too few, and nothing was set aside.
    pub reserved: bool,
}

/// The reply of `inventory.release`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Released {
    /// False: the line has shipped, or was never reserved.
    pub released: bool,
}

/// A delivery of units, by the topic `restock`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Restock {
    pub sku: String,
    pub quantity: u32,
}

/// `payment.authorize`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Authorize {
    pub customer_id: String,
    pub order_id: String,
    pub card: String,
    pub amount: i64,
}

/// The reply of `payment.authorize`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Authorized {
    /// Why not, such as `card-declined`; absent if it is.
    pub declined: Option<String>,
}

/// `payment.refund`: a part of what was authorized for an order, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refund {
    pub customer_id: String,
    pub order_id: String,
    pub amount: i64,
}

/// An order that is reserved and paid for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Confirmed {
    pub order_id: String,
    pub customer_id: String,
    pub currency: String,
    pub amount: i64,
    pub lines: Vec<Line>,
}

/// An order that came to nothing; it holds no stock and no money.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rejected {
    pub order_id: String,
    pub customer_id: String,
    /// Such as `out-of-stock`.
    pub reason: String,
}

/// A confirmed order of which lines were released and refunded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cancelled {
    pub order_id: String,
    pub customer_id: String,
    /// Indexes of the lines that had not shipped.
    pub released: Vec<u32>,
    pub refunded: i64,
}

/// What one warehouse sends for an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shipment {
    pub order_id: String,
    pub warehouse: String,
    pub lines: Vec<Line>,
}
