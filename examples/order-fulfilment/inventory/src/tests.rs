use weir_sdk::testing::{self, HandlersHost};

use super::*;

const SKU: &str = "sku-1";

fn host(stock: u32) -> HandlersHost<Inventory> {
    let mut host = testing::handlers::<Inventory>();
    host.event(SKU, "restock", &Restock { sku: SKU.into(), quantity: stock }).unwrap();
    host
}

fn line(line: u32, quantity: u32) -> LineOf {
    LineOf { sku: SKU.into(), order_id: "o".into(), line, quantity }
}

/// Received, stock, reserved, shipped, late.
fn figures(host: &HandlersHost<Inventory>) -> [i64; 5] {
    let figures =
        ["received", "stock", "reserved", "shipped", "late"].map(|cell| host.counter(SKU, cell));
    assert_eq!(figures[0], figures[1] + figures[2] + figures[3]);
    figures
}

#[test]
fn units_are_set_aside_as_long_as_there_are_enough() {
    let mut host = host(5);
    assert!(host.call::<Reserved>(SKU, "reserve", &line(0, 3)).unwrap().reserved);
    assert!(!host.call::<Reserved>(SKU, "reserve", &line(1, 3)).unwrap().reserved);
    assert_eq!(figures(&host), [5, 2, 3, 0, 0]);
}

#[test]
fn everything_that_is_asked_twice_is_done_once() {
    let mut host = host(5);
    for _ in 0..2 {
        assert!(host.call::<Reserved>(SKU, "reserve", &line(0, 3)).unwrap().reserved);
        assert!(host.call::<Reserved>(SKU, "reserve", &line(1, 1)).unwrap().reserved);
    }
    assert_eq!(figures(&host), [5, 1, 4, 0, 0]);
    for _ in 0..2 {
        assert!(host.call::<Released>(SKU, "release", &line(0, 0)).unwrap().released);
        host.call::<()>(SKU, "ship", &line(1, 0)).unwrap();
    }
    assert_eq!(figures(&host), [5, 4, 0, 1, 0]);
}

#[test]
fn a_late_shipment_of_a_released_line_changes_nothing_and_is_counted() {
    let mut host = host(5);
    host.call::<Reserved>(SKU, "reserve", &line(0, 3)).unwrap();
    host.call::<Released>(SKU, "release", &line(0, 0)).unwrap();
    host.call::<()>(SKU, "ship", &line(0, 0)).unwrap();
    assert_eq!(figures(&host), [5, 5, 0, 0, 1]);
}

#[test]
fn a_line_that_has_shipped_is_not_released() {
    let mut host = host(5);
    host.call::<Reserved>(SKU, "reserve", &line(0, 3)).unwrap();
    host.call::<()>(SKU, "ship", &line(0, 0)).unwrap();
    assert!(!host.call::<Released>(SKU, "release", &line(0, 0)).unwrap().released);
    assert!(!host.call::<Released>(SKU, "release", &line(9, 0)).unwrap().released);
    assert_eq!(figures(&host), [5, 2, 0, 3, 0]);
}

#[test]
fn a_line_that_was_never_reserved_cannot_ship() {
    let mut host = host(5);
    assert!(host.call::<()>(SKU, "ship", &line(0, 0)).unwrap_err().is("unknown-line"));
}
