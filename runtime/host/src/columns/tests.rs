use weir_core::batch::{Batch, Event};

use super::is_utf8;

fn batch(values: &[&[u8]]) -> Batch {
    let mut batch = Batch::default();
    for value in values {
        batch.push(Event { timestamp: 0, key: None, value, port: 0, origin: None });
    }
    batch
}

#[test]
fn values_are_utf8_only_if_each_of_them_is() {
    assert!(is_utf8(&batch(&[b"plain", b"text"])));
    assert!(is_utf8(&batch(&["schön".as_bytes(), "größer".as_bytes()])));
    assert!(!is_utf8(&batch(&[b"\xff"])));
    // Two halves of one character: the column is valid, the values are not.
    assert!(!is_utf8(&batch(&[b"\xc3", b"\xb6"])));
}
