use super::{keyed, picked};
use crate::batch::{Batch, Event, Origin};

fn batch() -> Batch {
    let mut batch = Batch::default();
    for (i, key) in [None, Some("a"), Some(""), None, Some("bc"), None].into_iter().enumerate() {
        let origin = Some(Origin { source: 1, partition: 2, offset: i as u64 });
        let value = format!("value {i}");
        batch.push(Event {
            timestamp: i as i64,
            key: key.map(str::as_bytes),
            value: value.as_bytes(),
            port: i as u8,
            origin,
        });
        if i % 2 == 0 {
            batch.push_header("h", &[i as u8]);
            batch.push_header("g", &[i as u8]);
        }
    }
    batch.hash_keys();
    batch
}

#[test]
fn what_is_picked_is_what_pushing_one_by_one_gives() {
    let all = batch();
    for mask in 0..64u32 {
        let pick: Vec<usize> = (0..6).filter(|event| mask & 1 << event != 0).collect();
        let mut expected = Batch::default();
        pick.iter().for_each(|event| expected.push_from(&all, *event));
        expected.hash_keys();
        let found = picked(&all, &pick);
        assert_eq!(found.len(), pick.len());
        for (i, event) in pick.iter().enumerate() {
            assert_eq!(found.event(i), all.event(*event), "event {event} of {pick:?}");
            assert!(
                found
                    .headers_of(i)
                    .map(|h| (&h.name, &h.value))
                    .eq(all.headers_of(*event).map(|h| (&h.name, &h.value)))
            );
        }
        assert_eq!(
            (found.hashes, found.keyless, found.headers),
            (expected.hashes, expected.keyless, expected.headers)
        );
    }
}

#[test]
fn only_events_with_a_key_are_left() {
    let left = keyed(&batch());
    assert_eq!(left.timestamps, [1, 2, 4]);
    assert!(left.keyless.is_empty());
    assert_eq!(left.key(1), Some(&b""[..]));
    assert_eq!(left.headers.iter().map(|header| header.event).collect::<Vec<_>>(), [1, 1, 2, 2]);
    assert_eq!(keyed(&left), left);
}
