//! What a unit is told when it is made.

use std::{collections::HashMap, sync::Arc, time::Duration};

use super::quota::Waiting;
use crate::{
    description::Description,
    ids::{NodeId, Shard},
    plan::{MissingKey, RetryPolicy, Runs},
    pointer::JsonPointer,
};

/// The deadline of a call that names none.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// How deep a chain of calls may be (rule P3).
pub const CHAIN_MAX: usize = 32;

/// Everything that a unit knows of its place.
#[derive(Clone, Debug)]
pub struct UnitConfig {
    /// Index of its node in the running plan.
    pub node: u16,
    /// Name of its node: ties it to its rows.
    pub id: NodeId,
    /// Unique in the plan (`Node::first_unit + shard`): a part of the ids that it
    /// gives.
    pub task: u16,
    /// Incarnation of the pipeline.
    pub incarnation: u32,
    /// Which of the operator's shards it is.
    pub shard: Shard,
    /// How many shards the operator has.
    pub shards: u16,
    /// What its module says of itself.
    pub description: Arc<Description>,
    /// The face that takes its events.
    pub runs: Runs,
    /// Must an event have a key? Always so for handlers.
    pub keyed: bool,
    /// What becomes of one that has none and must have one.
    pub missing_key: MissingKey,
    /// For dead letters: module and version, and its digest, as people read them.
    pub module: String,
    /// See [`UnitConfig::module`].
    pub digest: String,
    /// Retries.
    pub retry: RetryPolicy,
    /// How many invocations that were begun by events or sends, or by calls from
    /// outside, may run at once in this shard; at least 1.
    pub concurrency: usize,
    /// The deadline of a call that names none. Default [`DEADLINE`].
    pub deadline: Duration,
    /// The operators of the pipeline that can be called or sent to, by name.
    pub targets: Arc<HashMap<String, Target>>,
    /// Names of all nodes, by index in the running plan.
    pub nodes: Arc<[NodeId]>,
    /// Stable names of all stream edges, by index in the running plan, such as
    /// `orders.out -> order`. Counts are kept under them.
    pub edges: Arc<[String]>,
    /// Names of all source nodes' topics, by node index; empty where there is none.
    /// For dead letters.
    pub topics: Arc<[String]>,
    /// What waits at this operator, over all its shards.
    pub waiting: Arc<Waiting>,
    /// Bytes of what waits beyond which contents are spilled. Default 32 MiB.
    pub waiting_bytes: usize,
    /// Randomness of invocations is derived from it.
    pub seed: u64,
}

/// An operator that can be called.
#[derive(Clone, Debug)]
pub struct Target {
    /// Index of its node in the running plan.
    pub node: u16,
    /// What its module says of itself.
    pub description: Arc<Description>,
    /// Where the key is in the value of a call that names none.
    pub key: Option<JsonPointer>,
    /// What waits there, over all shards.
    pub waiting: Arc<Waiting>,
}
