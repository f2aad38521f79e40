//! Settings of a node that mean the same in the file and in the plan, each with
//! its default.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::units::{ByteSize, millis};
use crate::ids::EventTime;

/// Where a source begins that has no committed position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// With the oldest record that the topic has.
    #[default]
    Earliest,
    /// With the first record that is appended after the pipeline began.
    Latest,
    /// With the first record of each partition whose timestamp is not before this.
    Timestamp(EventTime),
    /// With this offset in each partition.
    Offset(u64),
}

/// How a source decides that no earlier event is to be expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watermark {
    /// How much an event may lag behind the newest of its partition. Default 0.
    #[serde(with = "millis", rename = "bound_ms")]
    pub bound: Duration,
    /// After so long without a record a partition no longer holds the watermark.
    /// Default 30 s.
    #[serde(with = "millis", rename = "idle_ms")]
    pub idle: Duration,
}

impl Default for Watermark {
    fn default() -> Self {
        Self { bound: Duration::ZERO, idle: Duration::from_secs(30) }
    }
}

/// When a failed event is tried again, and what becomes of it in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// All attempts, the first one included; at least 1. Default 10.
    pub attempts: u32,
    /// Pause before the second attempt; it doubles with each. Default 50 ms.
    #[serde(with = "millis", rename = "first_ms")]
    pub first: Duration,
    /// The longest pause. Default 60 s.
    #[serde(with = "millis", rename = "max_ms")]
    pub max: Duration,
    /// After the last attempt. Default: a dead letter.
    pub then: Exhausted,
    /// Does the key stay blocked after a dead letter until it is resolved?
    /// Default: no.
    pub block_key: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 10,
            first: Duration::from_millis(50),
            max: Duration::from_secs(60),
            then: Exhausted::DeadLetter,
            block_key: false,
        }
    }
}

/// What becomes of an event whose attempts are used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exhausted {
    /// It is kept as a dead letter.
    #[default]
    DeadLetter,
    /// It is dropped and counted.
    Skip,
    /// The pipeline stops.
    Halt,
}

/// What becomes of an event that has no key where the operator's `key` points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingKey {
    /// It is a dead letter `no-key`.
    #[default]
    DeadLetter,
    /// It goes no further, and is counted as filtered.
    Skip,
}

/// What one instance of an operator may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// All memories of the instance together. Default 64 MiB; 256 MiB for Python
    /// and JavaScript.
    pub memory: ByteSize,
    /// CPU time of a stretch without a pause. Default 1 s.
    #[serde(with = "millis", rename = "cpu_ms")]
    pub cpu: Duration,
    /// Wall time of an invocation, durable waits excepted. Default 2 min.
    #[serde(with = "millis", rename = "wall_ms")]
    pub wall: Duration,
    /// What one invocation or one batch may give away. Default 16 MiB.
    pub output: ByteSize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: ByteSize::mib(64),
            cpu: Duration::from_secs(1),
            wall: Duration::from_secs(120),
            output: ByteSize::mib(16),
        }
    }
}
