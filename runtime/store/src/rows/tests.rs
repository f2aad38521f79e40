use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Op {
    Put(u8, Vec<u8>, u8),
    Remove(u8, Vec<u8>),
    Settle,
    /// As if the process had ended while settling: the view has the rows, not the
    /// position.
    Reopen,
}

fn op() -> impl Strategy<Value = Op> {
    let key = || prop::collection::vec(0..3u8, 0..4);
    prop_oneof![
        6 => (0..2u8, key(), any::<u8>()).prop_map(|(domain, key, value)| Op::Put(domain, key, value)),
        3 => (0..2u8, key()).prop_map(|(domain, key)| Op::Remove(domain, key)),
        2 => Just(Op::Settle),
        1 => Just(Op::Reopen),
    ]
}

fn page() -> impl Strategy<Value = Page> {
    (0..20usize, 0..60usize).prop_map(|(rows, bytes)| Page { rows, bytes })
}

fn domain(number: u8) -> DomainName {
    ["a", "a/b"][number as usize].parse().unwrap()
}

fn check(view: &Arc<dyn View>, ops: &[Op], from: &[u8], to: Option<&[u8]>, page: Page) {
    let mut model: BTreeMap<(u8, Vec<u8>), u8> = BTreeMap::new();
    let mut position = 0;
    let mut rows = RowStore::new(view.clone(), 0);
    let mut unsettled = Vec::new();
    for op in ops {
        let (number, key, value) = match op {
            Op::Put(number, key, value) => (number, key, Some(*value)),
            Op::Remove(number, key) => (number, key, None),
            Op::Settle => {
                assert_eq!(rows.settle().unwrap(), position);
                assert_eq!(view.position(), Some(position));
                assert_eq!(rows.unsettled_bytes(), 0);
                unsettled.clear();
                continue;
            }
            Op::Reopen => {
                rows = RowStore::new(view.clone(), view.position().unwrap_or(0));
                for (position, domain, change) in &unsettled {
                    let commit: (DomainName, Epoch, Vec<Change>) =
                        (DomainName::clone(domain), Epoch(*position), vec![Change::clone(change)]);
                    rows.apply(*position, std::iter::once(commit));
                }
                continue;
            }
        };
        position += 1;
        match value {
            Some(value) => model.insert((*number, key.clone()), value),
            None => model.remove(&(*number, key.clone())),
        };
        let change =
            Change { key: key.clone(), value: value.map(|value| Bytes::copy_from_slice(&[value])) };
        unsettled.push((position, domain(*number), change.clone()));
        rows.apply(position, std::iter::once((domain(*number), Epoch(position), vec![change])));
        assert_eq!(rows.epoch(&domain(*number)), Epoch(position));
    }
    for number in 0..2 {
        let mut expected: Vec<(Vec<u8>, u8)> = model
            .iter()
            .filter(|((of, key), _)| {
                *of == number && key.as_slice() >= from && to.is_none_or(|to| key.as_slice() < to)
            })
            .map(|((_, key), value)| (key.clone(), *value))
            .collect();
        let mut bytes = 0;
        let rows_that_fit = expected.iter().take_while(|(key, _)| {
            bytes += key.len() + 1;
            bytes <= page.bytes
        });
        let fit = rows_that_fit.count().min(page.rows).max(1).min(expected.len());
        let next = expected.get(fit).map(|(key, _)| key.clone());
        expected.truncate(fit);
        let found = rows.scan(&domain(number), from, to, page).unwrap();
        assert_eq!(found.next, next);
        let found: Vec<(Vec<u8>, u8)> =
            found.rows.into_iter().map(|(key, value)| (key, value[0])).collect();
        assert_eq!(found, expected);
        for (key, value) in expected {
            assert_eq!(
                rows.get(&domain(number), &key).unwrap(),
                Some(Bytes::copy_from_slice(&[value]))
            );
        }
        assert_eq!(rows.get(&domain(number), b"never").unwrap(), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_in_memory_are_as_a_plain_map(
        ops in prop::collection::vec(op(), 0..60),
        from in prop::collection::vec(0..3u8, 0..3),
        to in prop::option::of(prop::collection::vec(0..3u8, 0..3)),
        page in page(),
    ) {
        let view: Arc<dyn View> = Arc::new(MemoryView::default());
        check(&view, &ops, &from, to.as_deref(), page);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_in_sled_are_as_a_plain_map(
        ops in prop::collection::vec(op(), 0..60),
        from in prop::collection::vec(0..3u8, 0..3),
        to in prop::option::of(prop::collection::vec(0..3u8, 0..3)),
        page in page(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let (view, why) = SledView::open(dir.path(), 1 << 20).unwrap();
        prop_assert_eq!(why, Some("it was missing".to_owned()));
        let view: Arc<dyn View> = Arc::new(view);
        check(&view, &ops, &from, to.as_deref(), page);
    }
}

/// A view that fails for a while.
#[derive(Default)]
struct Failing(MemoryView, std::sync::atomic::AtomicBool);

impl View for Failing {
    fn position(&self) -> Option<u64> {
        self.0.position()
    }
    fn get(&self, domain: &DomainName, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.0.get(domain, key)
    }
    fn scan(
        &self,
        domain: &DomainName,
        from: &[u8],
        to: Option<&[u8]>,
        visit: &mut view::Visit<'_>,
    ) -> Result<(), StoreError> {
        self.0.scan(domain, from, to, visit)
    }
    fn settle(
        &self,
        rows: &mut dyn Iterator<Item = view::Settled<'_>>,
        position: u64,
    ) -> Result<(), StoreError> {
        if self.1.load(Ordering::Relaxed) {
            return Err(StoreError::Full);
        }
        self.0.settle(rows, position)
    }
    fn clear(&self) -> Result<(), StoreError> {
        self.0.clear()
    }
}

#[test]
fn what_could_not_be_settled_is_settled_later() {
    let view = Arc::new(Failing::default());
    let rows = RowStore::new(view.clone(), 0);
    let put = |position, key: &str| {
        let change = Change { key: key.into(), value: Some(Bytes::from(key.to_owned())) };
        rows.apply(position, std::iter::once((domain(0), Epoch(position), vec![change])));
    };
    put(1, "a");
    view.1.store(true, Ordering::Relaxed);
    assert!(rows.settle().is_err());
    put(2, "b");
    assert!(rows.settle().is_err());
    assert_eq!(rows.scan(&domain(0), b"", None, Page::default()).unwrap().rows.len(), 2);
    view.1.store(false, Ordering::Relaxed);
    assert_eq!(rows.settle().unwrap(), 1);
    assert_eq!(rows.settle().unwrap(), 2);
    assert_eq!(rows.scan(&domain(0), b"", None, Page::default()).unwrap().rows.len(), 2);
    assert_eq!(view.0.get(&domain(0), b"b").unwrap(), Some("b".into()));
}

/// In MB.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// sled keeps for ever much of what large batches replace.
#[cfg(target_os = "linux")]
#[test]
fn settling_the_same_rows_again_takes_no_more_memory() {
    let dir = tempfile::tempdir().unwrap();
    let (view, _) = SledView::open(dir.path(), 16 << 20).unwrap();
    let rows = RowStore::new(Arc::new(view), 0);
    let settle = |position: u64| {
        let changes = (0..100_000_u64).map(|row| Change {
            key: row.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes().to_vec(),
            value: Some(Bytes::copy_from_slice(&position.to_be_bytes())),
        });
        rows.apply(position, std::iter::once((domain(0), Epoch(position), changes.collect())));
        assert_eq!(rows.settle().unwrap(), position);
        resident()
    };
    settle(1);
    let before = settle(2);
    settle(3);
    let after = settle(4);
    assert!(after < before + 64, "{before} MB became {after} MB");
}
