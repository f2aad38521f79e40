//! Pages of rows: as much as one scan reads.

use bytes::Bytes;

use crate::Rows;

/// The most that one scan reads. The first row is read however large it is, so that who
/// asks for page after page gets to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The most rows.
    pub rows: usize,
    /// The most bytes of keys and values.
    pub bytes: usize,
}

impl Default for Page {
    /// So much that reading all of a domain takes few scans, and that its commits do not
    /// wait long for one.
    fn default() -> Self {
        Self { rows: 10_000, bytes: 8 << 20 }
    }
}

/// What a scan has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// Ascending by key.
    pub rows: Rows,
    /// Where the next page begins, if there are more rows in the range.
    pub next: Option<Vec<u8>>,
}

/// A page that fills up.
pub(super) struct Filling {
    page: Page,
    bytes: usize,
    found: Scanned,
}

impl Filling {
    pub(super) fn new(page: Page) -> Self {
        Self { page, bytes: 0, found: Scanned::default() }
    }

    /// Takes the next row, if there is room for it; without room the page is done.
    pub(super) fn take(&mut self, key: &[u8], value: Bytes) -> bool {
        let bytes = self.bytes.saturating_add(key.len()).saturating_add(value.len());
        let rows = self.found.rows.len();
        if rows > 0 && (rows >= self.page.rows || bytes > self.page.bytes) {
            self.found.next = Some(key.into());
            return false;
        }
        self.bytes = bytes;
        self.found.rows.push((key.into(), value));
        true
    }

    pub(super) fn done(self) -> Scanned {
        self.found
    }
}
