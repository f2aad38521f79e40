//! Keyed state, as of the last commit.

use std::collections::BTreeMap;

use bytes::Bytes;
use weir_core::{
    description::{CellKind, Description},
    ids::{KeyGroup, NodeId, PipelineName},
    plan::NodeKind,
    rows::{self, Range},
};
use weir_store::{DomainName, Page, Store};

use super::{Engine, Error, audit::unreadable, blocking};

/// Entries of one map or list that are shown; the rest is said to be cut.
const ENTRIES_MAX: usize = 1_000;
/// The most bytes of a page of keys, and of what is shown of one key.
const PAGE_BYTES: usize = 4 << 20;
/// What is read at once.
const STEP: Page = Page { rows: 512, bytes: PAGE_BYTES };

/// Which keys are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateQuery {
    /// Only this cell.
    pub cell: Option<String>,
    /// Only keys that begin so.
    pub prefix: Bytes,
    /// The last key of the page before.
    pub after: Option<Bytes>,
    /// At most so many keys.
    pub limit: usize,
}

/// The state of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyState {
    /// The key.
    pub key: Bytes,
    /// Its cells, by name.
    pub cells: BTreeMap<String, CellValue>,
    /// Cells of which not all is here: a key shows the first 1,000 entries of each, and
    /// 4 MiB in all.
    pub cut: Vec<String>,
}

/// A page of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatePage {
    /// In a fixed order that is not that of their bytes.
    pub keys: Vec<KeyState>,
    /// Are there more?
    pub more: bool,
}

/// What a cell holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellValue {
    /// One value.
    Value(Bytes),
    /// A number.
    Counter(i64),
    /// Entries, in order of their keys.
    Map(Vec<(Bytes, Bytes)>),
    /// Entries, in order.
    List(Vec<Bytes>),
}

impl Engine {
    /// The state of one key; without cells if it has none.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the pipeline or operator, or of the store.
    pub async fn state_of_key(
        &self,
        name: &PipelineName,
        operator: &str,
        key: Bytes,
    ) -> Result<KeyState, Error> {
        let reader = self.state_reader(name, operator, None)?;
        blocking(move || {
            let mut filling = Filling::new(1);
            reader.read(rows::cells_of_key(&reader.id, &key), &mut filling)?;
            Ok(filling.page.keys.pop().unwrap_or_else(|| KeyState::new(key)))
        })
        .await?
    }

    /// A page of keys that have state: as many as are asked for, but no more than make 4
    /// MiB.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the pipeline or operator, or of the store.
    pub async fn state(
        &self,
        name: &PipelineName,
        operator: &str,
        query: StateQuery,
    ) -> Result<StatePage, Error> {
        let reader = self.state_reader(name, operator, query.cell)?;
        blocking(move || {
            let mut filling = Filling::new(query.limit);
            let first = query.after.as_ref().map_or(0, |after| KeyGroup::of(after).0);
            for group in first..KeyGroup::COUNT {
                let mut range = rows::cells_of_group(&reader.id, KeyGroup(group), &query.prefix);
                if let Some(after) = &query.after
                    && group == first
                {
                    range = rows::after_key(range, &reader.id, after);
                }
                reader.read(range, &mut filling)?;
                if filling.page.more {
                    break;
                }
            }
            Ok(filling.page)
        })
        .await?
    }

    fn state_reader(
        &self,
        name: &PipelineName,
        operator: &str,
        cell: Option<String>,
    ) -> Result<Reader, Error> {
        let plan = self.pipeline(name)?.deployed()?.plan;
        let node = plan.as_ref().and_then(|plan| plan.node(operator));
        let (id, description) = match node.map(|node| (&node.id, &node.kind)) {
            Some((id, NodeKind::Operator(operator))) => (id.clone(), operator.description.clone()),
            _ => return Err(Error::not_found("operator", operator)),
        };
        if let Some(cell) = &cell
            && !description.cells.iter().any(|known| known.name == *cell)
        {
            return Err(Error::not_found("cell", cell));
        }
        Ok(Reader {
            store: self.store.clone(),
            domain: DomainName::of_pipeline(name),
            id,
            description,
            cell,
        })
    }
}

struct Reader {
    store: std::sync::Arc<Store>,
    domain: DomainName,
    id: NodeId,
    description: std::sync::Arc<Description>,
    cell: Option<String>,
}

impl Reader {
    /// Adds the keys of a range until the page is full.
    fn read(&self, range: Range, filling: &mut Filling) -> Result<(), Error> {
        let mut next = Some(range.from);
        while let Some(from) = next {
            if range.to.as_ref().is_some_and(|to| *to <= from) {
                return Ok(());
            }
            let step = self.store.scan(&self.domain, &from, range.to.as_deref(), STEP)?;
            next = step.next;
            let mut rows = step.rows.iter().peekable();
            while let Some((place, value)) = rows.next() {
                let row = rows::cell(place, value).map_err(unreadable)?;
                let skip = behind(place, row.entry.len());
                let asked = self.cell.as_ref().is_none_or(|cell| *cell == row.cell);
                let took = match asked {
                    true => filling.take(self.kind(&row), row),
                    false => Took::NotOfCell,
                };
                match took {
                    Took::Row => {}
                    Took::NotOfCell => {
                        // What is left of the cell is not even read.
                        while rows.next_if(|(place, _)| *place < skip).is_some() {}
                        if rows.peek().is_none() {
                            next = next.map(|next| next.max(skip));
                        }
                    }
                    Took::NotOfPage => return Ok(()),
                }
            }
        }
        Ok(())
    }

    fn kind(&self, row: &rows::CellRow) -> CellKind {
        let declared =
            self.description.cells.iter().find(|cell| cell.name == row.cell).map(|cell| cell.kind);
        // Of a cell that the module has no more, what can be told from the row.
        declared.unwrap_or(if row.entry.is_empty() { CellKind::Value } else { CellKind::Map })
    }
}

/// Where the cell after that of a row begins: the rest of a large map is not read.
fn behind(row: &[u8], entry: usize) -> Vec<u8> {
    let mut cell = row.get(..row.len().saturating_sub(entry)).unwrap_or(row).to_vec();
    // The name of the cell ends with a 0.
    if let Some(end) = cell.last_mut() {
        *end = 1;
    }
    cell
}

/// What became of a row.
#[derive(Debug)]
enum Took {
    Row,
    /// It is left out, and so is what is left of its cell.
    NotOfCell,
    /// The page is full.
    NotOfPage,
}

/// A page that fills up.
struct Filling {
    page: StatePage,
    limit: usize,
    bytes: usize,
}

impl Filling {
    fn new(limit: usize) -> Self {
        Self { page: StatePage::default(), limit, bytes: 0 }
    }

    /// Takes a row. Of the first key of a page as much is kept as there is room for; any
    /// other is in it as a whole.
    fn take(&mut self, kind: CellKind, row: rows::CellRow) -> Took {
        let size = row.key.len() + row.cell.len() + row.entry.len() + row.value.len();
        let room = self.page.keys.is_empty() || self.bytes + size <= PAGE_BYTES;
        let keys = &mut self.page.keys;
        if keys.last().is_none_or(|last| last.key != row.key) {
            if keys.len() >= self.limit.max(1) || !room {
                self.page.more = true;
                return Took::NotOfPage;
            }
            keys.push(KeyState::new(row.key.clone().into()));
        } else if !room && keys.len() > 1 {
            keys.pop();
            self.page.more = true;
            return Took::NotOfPage;
        }
        let Some(state) = keys.last_mut() else { return Took::NotOfPage };
        if !room || state.entries(&row.cell) >= ENTRIES_MAX {
            state.cut.push(row.cell);
            return Took::NotOfCell;
        }
        self.bytes += size;
        state.add(kind, row);
        Took::Row
    }
}

impl KeyState {
    fn new(key: Bytes) -> Self {
        Self { key, cells: BTreeMap::new(), cut: Vec::new() }
    }

    fn entries(&self, cell: &str) -> usize {
        match self.cells.get(cell) {
            Some(CellValue::Map(entries)) => entries.len(),
            Some(CellValue::List(entries)) => entries.len(),
            Some(CellValue::Value(_) | CellValue::Counter(_)) | None => 0,
        }
    }

    fn add(&mut self, kind: CellKind, row: rows::CellRow) {
        let value = match (kind, <[u8; 8]>::try_from(row.value.as_ref())) {
            (CellKind::Counter, Ok(bytes)) => CellValue::Counter(i64::from_be_bytes(bytes)),
            (CellKind::Value | CellKind::Counter, _) => CellValue::Value(row.value),
            (CellKind::Map, _) => match self.cells.remove(&row.cell) {
                Some(CellValue::Map(mut entries)) => {
                    entries.push((row.entry, row.value));
                    CellValue::Map(entries)
                }
                _ => CellValue::Map(vec![(row.entry, row.value)]),
            },
            (CellKind::List, _) => match self.cells.remove(&row.cell) {
                Some(CellValue::List(mut entries)) => {
                    entries.push(row.value);
                    CellValue::List(entries)
                }
                _ => CellValue::List(vec![row.value]),
            },
        };
        self.cells.insert(row.cell, value);
    }
}

#[cfg(test)]
mod tests;
