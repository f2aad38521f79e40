//! Records in and out.

use bytes::Bytes;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema},
};
use weir_core::ids::EventTime;
use weir_engine::service::RecordOut;
use weir_store::NewRecord;

use super::payload::{Key, Value, optional_key};

/// A record to be appended.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordIn {
    /// Decides the partition; without one the partitions take turns.
    #[serde(default, deserialize_with = "optional_key")]
    pub key: Option<Key>,
    /// The value; its JSON text is stored byte for byte.
    pub value: Value,
    /// Event time in milliseconds since the Unix epoch; default: now.
    #[serde(default)]
    pub timestamp: Option<i64>,
    /// Names and values.
    #[serde(default)]
    pub headers: Option<HeadersIn>,
    /// The partition, if it is not to follow from the key.
    #[serde(default)]
    pub partition: Option<u32>,
}

/// Headers of a record to be appended: by name, a value or an array of values.
#[derive(Debug, Default)]
pub struct HeadersIn(pub Vec<(String, Bytes)>);

impl<'de> Deserialize<'de> for HeadersIn {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let members = IndexMap::<String, &RawValue>::deserialize(from)?;
        let mut headers = Vec::with_capacity(members.len());
        for (name, raw) in members {
            let values: Vec<&RawValue> = match raw.get().as_bytes().first() {
                Some(b'[') => serde_json::from_str(raw.get()).map_err(D::Error::custom)?,
                _ => vec![raw],
            };
            for value in values {
                let value = Key::from_json(value.get()).map_err(|_| {
                    D::Error::custom(format!(
                        "header `{name}` is neither a string, another scalar, nor an object with the one member `base64`"
                    ))
                })?;
                headers.push((name.clone(), value.map(|value| value.0).unwrap_or_default()));
            }
        }
        Ok(Self(headers))
    }
}

impl PartialSchema for HeadersIn {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .description(Some("By name, a string, `{\"base64\": \"..\"}`, or an array of them for a name that is repeated."))
            .into()
    }
}

impl ToSchema for HeadersIn {}

/// A record.
#[derive(Debug, Serialize, ToSchema)]
pub struct Record {
    /// Its partition.
    pub partition: u32,
    /// Its offset there.
    pub offset: u64,
    /// Event time in milliseconds since the Unix epoch.
    pub timestamp: i64,
    /// Its key; `null`: none.
    pub key: Option<Key>,
    /// Its value.
    pub value: Value,
    /// Its headers: by name, the value, or an array of values of a name that is
    /// repeated.
    #[schema(value_type = Object)]
    pub headers: HeadersOut,
}

/// Headers of a record that is read.
#[derive(Debug, Default)]
pub struct HeadersOut(pub Vec<(String, Bytes)>);

impl Serialize for HeadersOut {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum OneOrMore {
            One(Key),
            More(Vec<Key>),
        }
        let mut members: IndexMap<&str, OneOrMore> = IndexMap::with_capacity(self.0.len());
        for (name, value) in &self.0 {
            let value = Key(value.clone());
            match members.entry(name) {
                indexmap::map::Entry::Vacant(place) => {
                    place.insert(OneOrMore::One(value));
                }
                indexmap::map::Entry::Occupied(mut place) => {
                    let before = std::mem::replace(place.get_mut(), OneOrMore::More(Vec::new()));
                    let mut values = match before {
                        OneOrMore::One(first) => vec![first],
                        OneOrMore::More(values) => values,
                    };
                    values.push(value);
                    place.insert(OneOrMore::More(values));
                }
            }
        }
        members.serialize(to)
    }
}

/// A page of records.
#[derive(Debug, Serialize, ToSchema)]
pub struct RecordPage {
    /// By partition, then offset.
    pub records: Vec<Record>,
    /// Give it as `after` for the next page; absent if there are no more records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Records that are durable.
#[derive(Debug, Serialize, ToSchema)]
pub struct Appended {
    /// In the order of the request.
    pub records: Vec<Place>,
}

/// Where a record is.
#[derive(Debug, Serialize, ToSchema)]
pub struct Place {
    /// Its partition.
    pub partition: u32,
    /// Its offset there.
    pub offset: u64,
}

impl RecordIn {
    /// As the store takes it.
    #[must_use]
    pub fn into_new(self, now: EventTime) -> NewRecord {
        NewRecord {
            key: self.key.map(|key| key.0),
            value: self.value.0,
            timestamp: self.timestamp.map_or(now, EventTime),
            headers: self.headers.unwrap_or_default().0,
            partition: self.partition.map(weir_core::ids::Partition),
        }
    }
}

impl From<RecordOut> for Record {
    fn from(record: RecordOut) -> Self {
        Self {
            partition: record.partition.0,
            offset: record.offset.0,
            timestamp: record.timestamp.0,
            key: record.key.map(Key),
            value: Value(record.value),
            headers: HeadersOut(record.headers),
        }
    }
}
