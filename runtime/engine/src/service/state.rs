//! Keyed state, as of the last commit.

use std::collections::BTreeMap;

use bytes::Bytes;
use weir_core::{
    description::{CellKind, Description},
    ids::{KeyGroup, NodeId, PipelineName},
    plan::NodeKind,
    rows::{self, Range},
};
use weir_store::{DomainName, Store};

use super::{Engine, Error, audit::unreadable, blocking};

/// Entries of one map or list that are shown; the rest is said to be cut.
const ENTRIES_MAX: usize = 1_000;
/// Rows that are read at once.
const STEP: usize = 512;

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
    /// Cells of which not all entries are here.
    pub cut: Vec<String>,
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
            let mut keys = Vec::new();
            reader.read(rows::cells_of_key(&reader.id, &key), 1, &mut keys)?;
            Ok(keys.pop().unwrap_or_else(|| KeyState::new(key)))
        })
        .await?
    }

    /// A page of keys that have state, in a fixed order that is not that of their
    /// bytes. With fewer than `limit` keys there are no more.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the pipeline or operator, or of the store.
    pub async fn state(
        &self,
        name: &PipelineName,
        operator: &str,
        query: StateQuery,
    ) -> Result<Vec<KeyState>, Error> {
        let reader = self.state_reader(name, operator, query.cell)?;
        blocking(move || {
            let mut keys = Vec::new();
            let first = query.after.as_ref().map_or(0, |after| KeyGroup::of(after).0);
            for group in first..KeyGroup::COUNT {
                let mut range = rows::cells_of_group(&reader.id, KeyGroup(group), &query.prefix);
                if let Some(after) = &query.after
                    && group == first
                {
                    range = rows::after_key(range, &reader.id, after);
                }
                reader.read(range, query.limit, &mut keys)?;
                if keys.len() >= query.limit {
                    break;
                }
            }
            Ok(keys)
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
    /// Adds the keys of a range until there are `limit`.
    fn read(&self, mut range: Range, limit: usize, keys: &mut Vec<KeyState>) -> Result<(), Error> {
        loop {
            if range.to.as_ref().is_some_and(|to| *to <= range.from) {
                return Ok(());
            }
            let step = self.store.scan(&self.domain, &range.from, range.to.as_deref(), STEP)?;
            let Some((last, _)) = step.last() else { return Ok(()) };
            let next = [last.as_slice(), &[0]].concat();
            let full = step.len() == STEP;
            let mut behind_cell = next.clone();
            for (row, value) in &step {
                let place = row;
                let row = rows::cell(row, value).map_err(unreadable)?;
                behind_cell = behind(place, row.entry.len());
                if self.cell.as_ref().is_some_and(|cell| *cell != row.cell) {
                    continue;
                }
                if keys.last().is_none_or(|last| last.key != row.key) {
                    if keys.len() >= limit {
                        return Ok(());
                    }
                    keys.push(KeyState::new(row.key.clone().into()));
                }
                if let Some(last) = keys.last_mut() {
                    last.add(self.kind(&row), row);
                }
            }
            if !full {
                return Ok(());
            }
            range.from =
                if keys.last().is_some_and(|key| !key.cut.is_empty()) { behind_cell } else { next };
        }
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

impl KeyState {
    fn new(key: Bytes) -> Self {
        Self { key, cells: BTreeMap::new(), cut: Vec::new() }
    }

    fn add(&mut self, kind: CellKind, row: rows::CellRow) {
        let value = match (kind, <[u8; 8]>::try_from(row.value.as_ref())) {
            (CellKind::Counter, Ok(bytes)) => CellValue::Counter(i64::from_be_bytes(bytes)),
            (CellKind::Value | CellKind::Counter, _) => CellValue::Value(row.value),
            (CellKind::Map, _) => match self.cells.remove(&row.cell) {
                Some(CellValue::Map(mut entries)) => {
                    if self.room(&row.cell, entries.len()) {
                        entries.push((row.entry, row.value));
                    }
                    CellValue::Map(entries)
                }
                _ => CellValue::Map(vec![(row.entry, row.value)]),
            },
            (CellKind::List, _) => match self.cells.remove(&row.cell) {
                Some(CellValue::List(mut entries)) => {
                    if self.room(&row.cell, entries.len()) {
                        entries.push(row.value);
                    }
                    CellValue::List(entries)
                }
                _ => CellValue::List(vec![row.value]),
            },
        };
        self.cells.insert(row.cell, value);
    }

    fn room(&mut self, cell: &str, entries: usize) -> bool {
        if entries >= ENTRIES_MAX && !self.cut.iter().any(|cut| cut == cell) {
            self.cut.push(cell.into());
        }
        entries < ENTRIES_MAX
    }
}
