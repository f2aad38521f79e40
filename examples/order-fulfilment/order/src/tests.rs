//! Orders against the real inventory and payment, each on a host in memory.

use std::{cell::RefCell, rc::Rc};

use inventory::Inventory;
use messages::Restock;
use payment::Payment;
use weir_sdk::{
    Request,
    testing::{self, HandlersHost},
};

use super::*;

struct Shop {
    orders: HandlersHost<Orders>,
    inventory: Rc<RefCell<HandlersHost<Inventory>>>,
    payment: Rc<RefCell<HandlersHost<Payment>>>,
}

impl Shop {
    /// Ten units of each of three SKUs, and a credit line of 1,000.00.
    fn new() -> Self {
        let mut orders = testing::handlers::<Orders>();
        let inventory = Rc::new(RefCell::new(testing::handlers::<Inventory>()));
        let payment = Rc::new(RefCell::new(testing::handlers::<Payment>()));
        for sku in ["a", "b", "c"] {
            inventory
                .borrow_mut()
                .event(sku, "restock", &Restock { sku: sku.into(), quantity: 10 })
                .unwrap();
        }
        for handler in ["reserve", "release", "ship"] {
            let inventory = Rc::clone(&inventory);
            orders.answer("inventory", handler, move |request: &Request| {
                inventory.borrow_mut().serve(request).map(weir_sdk::RawBuf)
            });
        }
        for handler in ["authorize", "refund"] {
            let payment = Rc::clone(&payment);
            orders.answer("payment", handler, move |request: &Request| {
                payment.borrow_mut().serve(request).map(weir_sdk::RawBuf)
            });
        }
        Self { orders, inventory, payment }
    }

    fn place(&mut self, id: &str, lines: &[(&str, u32)]) -> Outcome {
        self.place_with(id, "4111", lines)
    }

    fn place_with(&mut self, id: &str, card: &str, lines: &[(&str, u32)]) -> Outcome {
        let line = |(sku, quantity): &(&str, u32)| Line {
            sku: (*sku).into(),
            quantity: *quantity,
            price: 100,
        };
        let order = Order {
            order_id: id.into(),
            customer_id: "ann".into(),
            card: card.into(),
            currency: "EUR".into(),
            created_at: "2026-01-31T12:00:00Z".into(),
            lines: lines.iter().map(line).collect(),
        };
        self.orders.call(id, "place", &order).unwrap()
    }

    fn cancel(&mut self, id: &str) -> Result<Outcome> {
        self.orders.call(id, "cancel", &Cancel { order_id: id.into() })
    }

    fn ship(&mut self, id: &str, line: u32, sku: &str) {
        let of = LineOf { sku: sku.into(), order_id: id.into(), line, quantity: 0 };
        self.inventory.borrow_mut().call::<()>(sku, "ship", &of).unwrap();
    }

    /// Stock, reserved and shipped of a SKU.
    fn stock(&self, sku: &str) -> [i64; 3] {
        ["stock", "reserved", "shipped"].map(|cell| self.inventory.borrow().counter(sku, cell))
    }

    /// Authorized and refunded.
    fn money(&self) -> [i64; 2] {
        ["authorized", "refunded"].map(|cell| self.payment.borrow().counter("ann", cell))
    }
}

fn reason(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Rejected(rejected) => &rejected.reason,
        other => panic!("not rejected: {other:?}"),
    }
}

#[test]
fn an_order_that_can_be_had_is_confirmed_once() {
    let mut shop = Shop::new();
    for _ in 0..2 {
        let outcome = shop.place("o", &[("a", 2), ("b", 3), ("a", 1)]);
        assert!(matches!(outcome, Outcome::Confirmed(Confirmed { amount: 600, .. })));
    }
    assert_eq!((shop.stock("a"), shop.stock("b"), shop.money()), ([7, 3, 0], [7, 3, 0], [600, 0]));
    assert_eq!(shop.orders.take::<Confirmed>("confirmed").len(), 1);
    assert_eq!(shop.orders.counter("o", "repeated"), 1);
    assert_eq!(shop.orders.call::<Option<Outcome>>("x", "status", &()).unwrap(), None);
}

#[test]
fn a_line_that_cannot_be_had_releases_the_others() {
    let mut shop = Shop::new();
    let outcome = shop.place("o", &[("a", 2), ("b", 3), ("c", 11)]);
    assert_eq!(reason(&outcome), "out-of-stock");
    assert_eq!([shop.stock("a"), shop.stock("b"), shop.stock("c")], [[10, 0, 0]; 3]);
    assert_eq!(shop.money(), [0, 0]);
    assert_eq!(shop.orders.take::<Rejected>("rejected").len(), 1);
}

#[test]
fn a_card_that_declines_releases_every_line() {
    let mut shop = Shop::new();
    assert_eq!(reason(&shop.place_with("o", "4000-0002", &[("a", 2), ("b", 3)])), "card-declined");
    assert_eq!([shop.stock("a"), shop.stock("b")], [[10, 0, 0]; 2]);
}

#[test]
fn what_is_no_order_is_rejected_without_a_call() {
    let mut shop = Shop::new();
    assert_eq!(reason(&shop.place("o", &[])), "bad-order");
    assert_eq!(reason(&shop.place("p", &[("a", 0)])), "bad-order");
    assert!(shop.orders.take_calls().is_empty());
}

#[test]
fn cancelling_releases_and_refunds_what_has_not_shipped_once() {
    let mut shop = Shop::new();
    shop.place("o", &[("a", 2), ("b", 3)]);
    shop.ship("o", 0, "a");
    for _ in 0..2 {
        let Outcome::Cancelled(cancelled) = shop.cancel("o").unwrap() else {
            panic!("not cancelled")
        };
        assert_eq!((cancelled.released, cancelled.refunded), (vec![1], 300));
    }
    // The shipment of the released line comes late.
    shop.ship("o", 1, "b");
    assert_eq!(
        (shop.stock("a"), shop.stock("b"), shop.money()),
        ([8, 0, 2], [10, 0, 0], [500, 300])
    );
    assert_eq!(shop.orders.take::<Cancelled>("cancelled").len(), 1);
    assert_eq!(shop.inventory.borrow().counter("b", "late"), 1);
}

#[test]
fn an_order_that_is_unknown_rejected_or_shipped_cannot_be_cancelled() {
    let mut shop = Shop::new();
    assert!(shop.cancel("o").unwrap_err().is("unknown-order"));
    shop.place("o", &[("a", 11)]);
    assert!(shop.cancel("o").unwrap_err().is("not-confirmed"));
    shop.place("p", &[("a", 1)]);
    shop.ship("p", 0, "a");
    assert!(shop.cancel("p").unwrap_err().is("shipped"));
    assert_eq!(shop.money(), [100, 0]);
}

#[test]
fn a_release_or_refund_that_fails_is_sent_later() {
    let mut shop = Shop::new();
    shop.orders.answer("inventory", "release", |_| {
        Err::<(), _>(Failure::terminal("deadline", "too slow"))
    });
    assert_eq!(reason(&shop.place("o", &[("a", 1), ("b", 11)])), "out-of-stock");
    let sends = shop.orders.take_sends();
    assert_eq!(
        (sends.len(), sends[0].handler.as_str(), sends[0].key.as_deref()),
        (1, "release", Some(b"a".as_slice()))
    );

    let mut shop = Shop::new();
    shop.orders
        .answer("payment", "refund", |_| Err::<(), _>(Failure::terminal("deadline", "too slow")));
    shop.place("o", &[("a", 1)]);
    shop.cancel("o").unwrap();
    let sends = shop.orders.take_sends();
    assert_eq!((sends.len(), sends[0].handler.as_str()), (1, "refund"));
}
