use std::sync::Arc;

use super::*;

#[test]
fn what_nobody_takes_any_more_is_dropped() {
    let mailbox = Mailbox::new(Signal::new());
    let (before, after) = (Arc::new(()), Arc::new(()));
    mailbox.post(before.clone());
    mailbox.clone().close();
    mailbox.post(after.clone());
    assert!(mailbox.is_empty() && mailbox.pop().is_none());
    assert_eq!((Arc::strong_count(&before), Arc::strong_count(&after)), (1, 1));
}
