use weir_sdk::testing::{self, HandlersHost};

use super::*;

const CUSTOMER: &str = "c";

fn host(credit_line: i64) -> HandlersHost<Payment> {
    let mut host = testing::handlers::<Payment>();
    host.config(&std::collections::BTreeMap::from([("credit_line", credit_line)]));
    host
}

fn pay(host: &mut HandlersHost<Payment>, order: &str, card: &str, amount: i64) -> Option<String> {
    let payment = Authorize {
        customer_id: CUSTOMER.into(),
        order_id: order.into(),
        card: card.into(),
        amount,
    };
    host.call::<Authorized>(CUSTOMER, "authorize", &payment).unwrap().declined
}

fn refund(host: &mut HandlersHost<Payment>, order: &str, amount: i64) -> Result<()> {
    host.call(
        CUSTOMER,
        "refund",
        &Refund { customer_id: CUSTOMER.into(), order_id: order.into(), amount },
    )
}

/// Credit, authorized, refunded.
fn figures(host: &HandlersHost<Payment>) -> (Option<i64>, i64, i64) {
    (
        host.value(CUSTOMER, "credit"),
        host.counter(CUSTOMER, "authorized"),
        host.counter(CUSTOMER, "refunded"),
    )
}

#[test]
fn an_order_takes_from_the_credit_line_once() {
    let mut host = host(1000);
    assert_eq!(pay(&mut host, "a", "4111", 400), None);
    assert_eq!(pay(&mut host, "a", "4111", 400), None);
    assert_eq!(figures(&host), (Some(600), 400, 0));
}

#[test]
fn a_card_declines_and_a_credit_line_ends() {
    let mut host = host(1000);
    assert_eq!(pay(&mut host, "a", "4000-0002", 1).as_deref(), Some("card-declined"));
    assert_eq!(pay(&mut host, "b", "4111", 1001).as_deref(), Some("over-credit"));
    assert_eq!(figures(&host), (None, 0, 0));
}

#[test]
fn a_refund_gives_back_once_and_never_more_than_was_taken() {
    let mut host = host(1000);
    pay(&mut host, "a", "4111", 400);
    assert!(refund(&mut host, "a", 401).unwrap_err().is("bad-amount"));
    refund(&mut host, "a", 300).unwrap();
    refund(&mut host, "a", 300).unwrap();
    assert!(refund(&mut host, "b", 1).unwrap_err().is("unknown-order"));
    assert_eq!(figures(&host), (Some(900), 400, 300));
}
