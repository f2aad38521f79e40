//! The durable rows of a domain that the view does not have yet.
//!
//! Commits go into a hash map: most rows are written many times before anybody asks
//! for their order. The first scan after that sorts them; so does settling.

use std::{
    collections::{BTreeMap, HashMap},
    iter::Peekable,
    ops::Bound,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;

/// What a row costs in memory beside its bytes.
const ROW_OVERHEAD: u64 = 96;

/// A row, or that there is none.
pub(super) type Row = (Vec<u8>, Option<Bytes>);

/// Newest first: `recent`, `sorted`, `frozen`.
#[derive(Default)]
pub(super) struct Overlay {
    recent: HashMap<Vec<u8>, Option<Bytes>>,
    sorted: BTreeMap<Vec<u8>, Option<Bytes>>,
    frozen: Arc<Frozen>,
}

/// What is on its way into the view; it does not change any more.
#[derive(Default)]
pub(super) struct Frozen {
    recent: HashMap<Vec<u8>, Option<Bytes>>,
    sorted: BTreeMap<Vec<u8>, Option<Bytes>>,
    merged: OnceLock<Vec<Row>>,
}

impl Overlay {
    /// Puts a row, and answers by how many bytes more and fewer there are.
    pub(super) fn put(&mut self, key: Vec<u8>, value: Option<Bytes>) -> (u64, u64) {
        let fixed = ROW_OVERHEAD + key.len() as u64;
        let size =
            |value: &Option<Bytes>| fixed + value.as_ref().map_or(0, |value| value.len() as u64);
        let added = size(&value);
        // A row that is in `sorted` too is counted twice: it takes space twice.
        let removed = self.recent.insert(key, value).map_or(0, |old| size(&old));
        (added, removed)
    }

    /// The row, if the overlay says anything of it.
    pub(super) fn get(&self, key: &[u8]) -> Option<&Option<Bytes>> {
        let active = self.recent.get(key).or_else(|| self.sorted.get(key));
        active.or_else(|| self.frozen.recent.get(key)).or_else(|| self.frozen.sorted.get(key))
    }

    /// Must [`Overlay::sort`] be called before a scan?
    pub(super) fn is_sorted(&self) -> bool {
        self.recent.is_empty()
    }

    /// Makes ready for scans.
    pub(super) fn sort(&mut self) {
        let mut recent: Vec<Row> = self.recent.drain().collect();
        recent.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        if self.sorted.is_empty() {
            self.sorted = recent.into_iter().collect();
        } else {
            self.sorted.extend(recent);
        }
    }

    /// Rows with `from <= key < to`, ascending, of a sorted overlay.
    pub(super) fn range<'a>(
        &'a self,
        from: &'a [u8],
        to: Option<&'a [u8]>,
    ) -> impl Iterator<Item = (&'a Vec<u8>, &'a Option<Bytes>)> {
        let bounds = (Bound::Included(from), to.map_or(Bound::Unbounded, Bound::Excluded));
        let frozen = self.frozen.rows();
        let start = frozen.partition_point(|(key, _)| key.as_slice() < from);
        let end =
            to.map_or(frozen.len(), |to| frozen.partition_point(|(key, _)| key.as_slice() < to));
        let frozen =
            frozen.get(start..end).unwrap_or_default().iter().map(|(key, value)| (key, value));
        Merged { newer: self.sorted.range::<[u8], _>(bounds).peekable(), older: frozen.peekable() }
    }

    /// Freezes all rows; what was frozen before must have been dropped.
    pub(super) fn freeze(&mut self) {
        let (recent, sorted) = (std::mem::take(&mut self.recent), std::mem::take(&mut self.sorted));
        self.frozen = Arc::new(Frozen { recent, sorted, merged: OnceLock::new() });
    }

    /// What is frozen.
    pub(super) fn frozen(&self) -> Arc<Frozen> {
        self.frozen.clone()
    }

    /// Drops what is frozen: the view has it.
    pub(super) fn drop_frozen(&mut self) -> Arc<Frozen> {
        std::mem::take(&mut self.frozen)
    }
}

impl Frozen {
    /// All rows, ascending. Sorted by the first who asks.
    pub(super) fn rows(&self) -> &[Row] {
        self.merged.get_or_init(|| {
            let mut recent: Vec<(&Vec<u8>, &Option<Bytes>)> = self.recent.iter().collect();
            recent.sort_unstable_by_key(|(key, _)| *key);
            let merged = Merged {
                newer: recent.into_iter().peekable(),
                older: self.sorted.iter().peekable(),
            };
            merged.map(|(key, value)| (key.clone(), value.clone())).collect()
        })
    }
}

/// Two ascending lists as one; of equal keys the newer row.
struct Merged<A: Iterator, B: Iterator> {
    newer: Peekable<A>,
    older: Peekable<B>,
}

impl<'a, A, B> Iterator for Merged<A, B>
where
    A: Iterator<Item = (&'a Vec<u8>, &'a Option<Bytes>)>,
    B: Iterator<Item = (&'a Vec<u8>, &'a Option<Bytes>)>,
{
    type Item = (&'a Vec<u8>, &'a Option<Bytes>);

    fn next(&mut self) -> Option<Self::Item> {
        match (self.newer.peek(), self.older.peek()) {
            (Some((newer, _)), Some((older, _))) if newer == older => {
                self.older.next();
                self.newer.next()
            }
            (Some((newer, _)), Some((older, _))) if older < newer => self.older.next(),
            (Some(_), _) => self.newer.next(),
            (None, _) => self.older.next(),
        }
    }
}
