//! Names, positions and ids. Each is a type of its own; `Display` is the form
//! that people see and `FromStr` the only way in from text.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

/// Why a text is not the name that it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid {what}: {rule}")]
pub struct InvalidName {
    what: &'static str,
    text: String,
    rule: &'static str,
}

impl InvalidName {
    /// What to write instead.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        self.rule
    }
}

const NAME_RULE: &str =
    "use 1 to 63 of the characters a-z, 0-9, `-` and `_`, and begin with a letter or digit";

fn is_name(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
        && text.as_bytes()[0].is_ascii_alphanumeric()
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(Arc<str>);

        impl $type {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $type {
            type Err = InvalidName;
            fn from_str(text: &str) -> Result<Self, InvalidName> {
                if is_name(text) {
                    Ok(Self(text.into()))
                } else {
                    let text = text.chars().take(80).collect();
                    Err(InvalidName { what: $what, text, rule: NAME_RULE })
                }
            }
        }

        impl TryFrom<String> for $type {
            type Error = InvalidName;
            fn try_from(text: String) -> Result<Self, InvalidName> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> String {
                name.0.to_string()
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }
    };
}

name!(
    /// The name of a pipeline.
    PipelineName, "pipeline name"
);
name!(
    /// The id of a source, operator or sink in a pipeline file. The three share
    /// one name space, and the id ties an operator to its state over revisions.
    NodeId, "node id"
);
name!(
    /// The name of a topic.
    TopicName, "topic name"
);
name!(
    /// The name of a module, without its version.
    ModuleName, "module name"
);

/// The sha256 of a module's bytes as they were uploaded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleDigest(pub [u8; 32]);

impl fmt::Display for ModuleDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ModuleDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ModuleDigest {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let invalid = || InvalidName {
            what: "module digest",
            text: text.chars().take(80).collect(),
            rule: "write `sha256:` and 64 hexadecimal digits",
        };
        let hex = text.strip_prefix("sha256:").ok_or_else(invalid)?;
        if hex.len() != 64 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(invalid());
        }
        let mut digest = [0; 32];
        for (i, byte) in digest.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).map_err(|_| invalid())?;
        }
        Ok(Self(digest))
    }
}

impl Serialize for ModuleDigest {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ModuleDigest {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

macro_rules! number {
    ($(#[$doc:meta])* $type:ident($of:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $type(pub $of);

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

number!(
    /// The interval between two commits of a domain; the first one is 1. Epoch n
    /// is durable with commit n.
    Epoch(u64)
);
number!(
    /// The place of a record in its partition, from 0 without gaps.
    Offset(u64)
);
number!(
    /// A partition of a topic, from 0.
    Partition(u32)
);
number!(
    /// Milliseconds since the Unix epoch, UTC. Negative times are legal.
    EventTime(i64)
);
number!(
    /// A part of an operator, from 0: a contiguous range of key groups that one
    /// task owns.
    Shard(u16)
);

impl Epoch {
    /// The epoch after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The unit of ownership: the hash of the key's bytes modulo [`KeyGroup::COUNT`].
/// Fixed for ever, since stored state is laid out by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyGroup(pub u8);

impl KeyGroup {
    /// How many key groups there are.
    pub const COUNT: u8 = 128;

    /// The group of a key.
    #[must_use]
    pub fn of(key: &[u8]) -> Self {
        Self::of_hash(hash_key(key))
    }

    /// The group of a key whose [`hash_key`] is known.
    #[must_use]
    pub fn of_hash(hash: u64) -> Self {
        Self((hash % u64::from(Self::COUNT)) as u8)
    }

    /// The shard that owns this group when there are `shards` of them: ranges as
    /// equal as can be, in order.
    #[must_use]
    pub fn shard(self, shards: u16) -> Shard {
        Shard((u32::from(self.0) * u32::from(shards) / u32::from(Self::COUNT)) as u16)
    }
}

/// The hash of a key that decides its group and its partition: XXH3, 64 bits,
/// seed 0. Fixed for ever.
#[must_use]
pub fn hash_key(key: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(key)
}

/// An invocation, unique in its pipeline and stable over attempts and restarts.
///
/// From the high bits down: incarnation of the pipeline (32), epoch in which it
/// began (48), task (16), sequence in that epoch (32). An epoch that was not
/// committed may be numbered again after a crash, and so may its invocations:
/// nothing outside the commit domain has seen them.
///
/// Where people read it (JSON) it is its `Display` text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InvocationId(pub u128);

impl InvocationId {
    /// Puts an id together from its parts.
    #[must_use]
    pub fn new(incarnation: u32, epoch: Epoch, task: u16, sequence: u32) -> Self {
        Self(
            u128::from(incarnation) << 96
                | u128::from(epoch.0 & 0xffff_ffff_ffff) << 48
                | u128::from(task) << 32
                | u128::from(sequence),
        )
    }

    /// The epoch in which it began.
    #[must_use]
    pub fn epoch(self) -> Epoch {
        Epoch((self.0 >> 48) as u64 & 0xffff_ffff_ffff)
    }
}

impl fmt::Display for InvocationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "inv_{:032x}", self.0)
    }
}

impl fmt::Debug for InvocationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for InvocationId {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        text.strip_prefix("inv_")
            .filter(|hex| hex.len() == 32)
            .and_then(|hex| u128::from_str_radix(hex, 16).ok())
            .map(Self)
            .ok_or_else(|| InvalidName {
                what: "invocation id",
                text: text.chars().take(80).collect(),
                rule: "write `inv_` and 32 hexadecimal digits",
            })
    }
}

impl Serialize for InvocationId {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() { to.collect_str(self) } else { self.0.serialize(to) }
    }
}

impl<'de> Deserialize<'de> for InvocationId {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        if !from.is_human_readable() {
            return u128::deserialize(from).map(Self);
        }
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A call or a send: the n-th request of its invocation, asked for the r-th time
/// after refusals in which the callee never began (rule P9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallId {
    /// The invocation that asks.
    pub caller: InvocationId,
    /// Which of its requests, from 0 in the order in which the guest made them.
    pub n: u32,
    /// How many refusals were dropped before, by retries of the caller.
    pub r: u32,
}
