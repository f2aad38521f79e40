use weir_core::description::Description;

use super::{Facts, MARK, open, seal};
use crate::engine::Kind;

fn facts() -> Facts {
    Facts {
        kind: Kind::Concurrent,
        size: 10,
        compile_ms: 20,
        memory_floor: 30,
        description: Description { doc: "d".into(), ..Description::default() },
    }
}

#[test]
fn what_was_sealed_opens() {
    let bytes = seal(&facts(), b"code").unwrap();
    assert_eq!(open(&bytes), Some((facts(), &b"code"[..])));
    assert!(bytes.starts_with(MARK));
}

#[test]
fn damage_anywhere_is_found() {
    let bytes = seal(&facts(), b"code").unwrap();
    for i in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[i] ^= 1;
        assert_eq!(open(&damaged), None, "byte {i}");
        assert_eq!(open(&bytes[..i]), None, "cut at {i}");
    }
}
