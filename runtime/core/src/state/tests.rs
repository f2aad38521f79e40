use bytes::Bytes;
use proptest::prelude::*;
use std::collections::BTreeMap;

use super::{BatchState, Cells, Keys, MapOverlay, Overlay, scan};
use crate::{
    batch::{Batch, Event},
    description::{Cell, CellKind},
    guest::Scan,
    ids::hash_key,
};

fn cells() -> Cells {
    let cell = |kind| Cell { name: "c".into(), kind, version: 1, ttl_ms: None, schema: None };
    Cells::new(&[cell(CellKind::Value), cell(CellKind::Map)])
}

fn batch(keys: &[&str]) -> Batch {
    let mut batch = Batch::default();
    for key in keys {
        let key = (*key != "-").then_some(key.as_bytes());
        batch.push(Event { timestamp: 0, key, value: b"", port: 0, origin: None });
    }
    batch
}

fn changes(cells: &mut Cells, keys: &mut Keys) -> Vec<String> {
    let mut changes = Vec::new();
    cells.take_changes(keys, |keys, changed| {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let entry = changed.entry.map(|entry| format!("[{}]", text(entry))).unwrap_or_default();
        let value = changed.value.map_or("gone".into(), text);
        changes.push(format!("{}{entry}={value}", text(keys.key(changed.slot))));
    });
    changes.sort_unstable();
    changes
}

#[test]
fn a_batch_sees_each_key_once_and_its_own_writes() {
    let (mut keys, mut cells, mut state) = (Keys::default(), cells(), BatchState::default());
    let events = batch(&["a", "b", "-", "a"]);
    state.begin(2);
    let loaded = state.load(&mut keys, &cells, &events, 0);
    assert_eq!(loaded.slots, [0, 1, u32::MAX, 0]);
    assert_eq!(loaded.cells.ends, [0, 0]);
    state.put(0, 1, Some(b"two"));
    let loaded = state.load(&mut keys, &cells, &events, 0);
    assert_eq!((loaded.cells.values, loaded.cells.ends), (b"two".to_vec(), vec![0, 3]));
    state.merge(&mut cells, &mut keys);
    assert_eq!(keys.len(), 1, "a key without state is not kept");
    assert_eq!(changes(&mut cells, &mut keys), ["b=two"]);
    assert!(changes(&mut cells, &mut keys).is_empty(), "only changes since the last barrier");
}

#[test]
fn a_failed_batch_leaves_nothing() {
    let (mut keys, mut cells, mut state) = (Keys::default(), cells(), BatchState::default());
    let events = batch(&["a"]);
    state.begin(2);
    state.load(&mut keys, &cells, &events, 0);
    state.put(0, 0, Some(b"x"));
    state.map_mut(1, 0).put(Bytes::from_static(b"e"), Some(Bytes::from_static(b"x")));
    state.drop_writes(&mut keys);
    state.begin(2);
    assert_eq!(state.load(&mut keys, &cells, &events, 0).cells.values, b"");
    assert!(state.map(1, 0).is_none());
    state.merge(&mut cells, &mut keys);
    assert!(!cells.is_dirty());
    assert_eq!(keys.len(), 0);
}

#[test]
fn what_is_removed_is_handed_over_and_then_forgotten() {
    let (mut keys, mut cells) = (Keys::default(), cells());
    let slot = keys.intern(hash_key(b"a"), b"a");
    cells.set(&mut keys, 0, slot, Some(b"one"));
    cells.map_set(&mut keys, 1, slot, Bytes::from_static(b"e"), Some(Bytes::from_static(b"v")));
    assert_eq!(changes(&mut cells, &mut keys), ["a=one", "a[e]=v"]);
    let mut overlay = Overlay::default();
    overlay.put(0, None);
    overlay.map_mut(1).clear();
    overlay.apply(&mut cells, &mut keys, slot);
    assert_eq!(keys.len(), 1, "the change is still to be handed over");
    assert_eq!(changes(&mut cells, &mut keys), ["a=gone", "a[e]=gone"]);
    assert_eq!(keys.len(), 0);
}

#[test]
fn a_slot_is_used_again_for_another_key() {
    let (mut keys, mut cells) = (Keys::default(), cells());
    for round in 0..100 {
        let key = format!("key{round}");
        let slot = keys.intern(hash_key(key.as_bytes()), key.as_bytes());
        assert!(slot < 2);
        assert_eq!(cells.get(0, slot), None);
        cells.set(&mut keys, 0, slot, Some(key.as_bytes()));
        assert_eq!(changes(&mut cells, &mut keys), [format!("{key}={key}")]);
        cells.set(&mut keys, 0, slot, None);
        changes(&mut cells, &mut keys);
    }
}

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;
type Writes = Vec<(Vec<u8>, Option<Vec<u8>>)>;

fn model() -> impl Strategy<Value = (Entries, Writes, bool)> {
    let bytes = || prop::collection::vec(0u8..4, 0..3);
    let base = prop::collection::btree_map(bytes(), bytes(), 0..8);
    (base, prop::collection::vec((bytes(), prop::option::of(bytes())), 0..8), any::<bool>())
}

proptest! {
    #[test]
    fn a_scan_sees_the_entries_with_the_writes_on_top(
        (base, writes, cleared) in model(),
        start in prop::option::of(prop::collection::vec(0u8..4, 0..3)),
        end in prop::option::of(prop::collection::vec(0u8..4, 0..3)),
        backwards in any::<bool>(),
        limit in 0u32..6,
    ) {
        let mut expected = if cleared { Entries::new() } else { base.clone() };
        let mut over = MapOverlay::default();
        if cleared {
            over.clear();
        }
        for (key, value) in writes {
            over.put(key.clone().into(), value.clone().map(Bytes::from));
            match value {
                Some(value) => drop(expected.insert(key, value)),
                None => drop(expected.remove(&key)),
            }
        }
        let base = base.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        let within = |key: &Vec<u8>| start.as_ref().is_none_or(|start| key >= start) && end.as_ref().is_none_or(|end| key < end);
        let mut expected: Vec<_> = expected.into_iter().filter(|(key, _)| within(key)).collect();
        if backwards {
            expected.reverse();
        }
        expected.truncate(limit as usize);
        let asked = Scan { start: start.clone().map(Bytes::from), end: end.clone().map(Bytes::from), backwards, limit };
        let found: Vec<_> = scan(Some(&base), Some(&over), &asked).into_iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
        prop_assert_eq!(found, expected);
    }
}
