//! Keyed state.

use indexmap::IndexMap;
use serde::{Serialize, Serializer, ser::SerializeMap};
use utoipa::ToSchema;
use weir_engine::service::{CellValue, KeyState};

use super::payload::{Key, Value};

/// The state of one key, as of the last commit.
#[derive(Debug, Serialize, ToSchema)]
pub struct StateOfKey {
    /// The key.
    pub key: Key,
    /// By name: a value as it is, a counter as a number, a map as an object, a list
    /// as an array.
    #[schema(value_type = Object)]
    pub cells: IndexMap<String, Cell>,
    /// Cells of which not all is here: a key shows the first 1,000 entries of each, and
    /// 4 MiB in all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<String>,
}

/// A page of keys.
#[derive(Debug, Serialize, ToSchema)]
pub struct StateList {
    /// In a fixed order that is not that of their bytes.
    pub keys: Vec<StateOfKey>,
    /// Give it as `after` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What a cell holds.
#[derive(Debug)]
pub struct Cell(CellValue);

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            CellValue::Value(bytes) => Value(bytes.clone()).serialize(to),
            CellValue::Counter(number) => number.serialize(to),
            CellValue::List(entries) => {
                to.collect_seq(entries.iter().map(|entry| Value(entry.clone())))
            }
            CellValue::Map(entries) => {
                let mut map = to.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(&Key(key.clone()).to_text(), &Value(value.clone()))?;
                }
                map.end()
            }
        }
    }
}

impl From<KeyState> for StateOfKey {
    fn from(state: KeyState) -> Self {
        let cells = state.cells.into_iter().map(|(name, value)| (name, Cell(value))).collect();
        Self { key: Key(state.key), cells, cut: state.cut }
    }
}
