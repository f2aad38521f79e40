//! Confirmed orders into shipments, one per warehouse.

use std::{collections::BTreeMap, time::Duration};

use messages::{Confirmed, LineOf, Shipment};
use schemars::JsonSchema;
use serde::Deserialize;
use weir_sdk::{Event, Result};

weir_sdk::transform! {
    /// Makes one shipment per warehouse of each confirmed order, and tells the
    /// inventory that its lines ship.
    Shipping;
    config Config;

    inputs {
        /// Confirmed orders.
        confirmed: ship
    }
    outputs {
        /// Shipments.
        OUT: Shipment
    }
}

/// `config:` of the operator.
#[derive(Deserialize, JsonSchema)]
struct Config {
    /// Seconds from the confirmation until the lines leave the warehouse. Until then
    /// the order can be cancelled. At once by default.
    #[serde(default)]
    leaves_after: u64,
}

/// Where SKUs lie.
const WAREHOUSES: [&str; 3] = ["antwerp", "lyon", "turin"];

fn ship(event: &Event<'_>, order: Confirmed) -> Result<()> {
    let leaves_after = Duration::from_secs(weir_sdk::config::<Config>()?.leaves_after);
    let mut shipments: BTreeMap<&str, Shipment> = BTreeMap::new();
    for (index, line) in order.lines.into_iter().enumerate() {
        let order_id = order.order_id.clone();
        let of =
            LineOf { sku: line.sku.clone(), order_id, line: index as u32, quantity: line.quantity };
        event.send("inventory", "ship", &of).key(&line.sku).later(leaves_after)?;

        let warehouse = warehouse(&line.sku);
        let empty =
            || Shipment { order_id: of.order_id, warehouse: warehouse.into(), lines: Vec::new() };
        shipments.entry(warehouse).or_insert_with(empty).lines.push(line);
    }
    shipments.values().try_for_each(|shipment| OUT.emit(event, shipment))
}

/// The warehouse of a SKU: always the same.
fn warehouse(sku: &str) -> &'static str {
    let sum: usize = sku.bytes().map(usize::from).sum();
    WAREHOUSES[sum % WAREHOUSES.len()]
}

#[cfg(test)]
mod tests {
    use messages::Line;
    use weir_sdk::testing;

    use super::*;

    #[test]
    fn an_order_ships_once_from_each_warehouse_and_every_line_is_told() {
        let line = |sku: &str| Line { sku: sku.into(), quantity: 2, price: 5 };
        let lines = ["sku-1", "sku-2", "sku-3", "sku-4"].map(line);
        let order = Confirmed {
            order_id: "o".into(),
            customer_id: "c".into(),
            currency: "EUR".into(),
            amount: 40,
            lines: lines.to_vec(),
        };
        let mut host = testing::transform::<Shipping>();
        host.event("o", &order).unwrap();
        let shipments = host.take::<Shipment>("out");
        assert_eq!(shipments.len(), WAREHOUSES.len());
        assert_eq!(shipments.iter().map(|shipment| shipment.lines.len()).sum::<usize>(), 4);
        let sends = host.take_sends();
        let keys: Vec<_> =
            sends.iter().map(|send| send.key.as_deref().unwrap_or_default()).collect();
        assert_eq!(keys, [b"sku-1", b"sku-2", b"sku-3", b"sku-4"]);
        assert!(sends.iter().all(|send| send.operator == "inventory" && send.handler == "ship"));
    }
}
