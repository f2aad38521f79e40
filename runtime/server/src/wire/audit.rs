//! The audit.

use serde::Serialize;
use utoipa::ToSchema;
use weir_engine::service::{Audit as Found, AuditEdge, AuditOperator, AuditSource};

/// Everything that a pipeline has taken and what became of it, as of its last
/// commit.
#[derive(Debug, Serialize, ToSchema)]
pub struct Audit {
    /// Does everything add up?
    pub balanced: bool,
    /// The commit that it is of.
    pub epoch: u64,
    /// `taken = ended + filtered + skipped + dead_lettered + late + shed + waiting`.
    pub operators: Vec<OperatorAudit>,
    /// `sent = taken + queued`.
    pub edges: Vec<EdgeAudit>,
    /// Per source.
    pub sources: Vec<SourceAudit>,
}

/// Of an operator.
#[derive(Debug, Serialize, ToSchema)]
#[expect(missing_docs, reason = "the words of the contract, explained at `Audit`")]
pub struct OperatorAudit {
    pub id: String,
    pub taken: u64,
    pub ended: u64,
    pub filtered: u64,
    pub skipped: u64,
    pub dead_lettered: u64,
    pub late: u64,
    pub shed: u64,
    pub waiting: u64,
    pub balanced: bool,
}

/// Of a stream.
#[derive(Debug, Serialize, ToSchema)]
#[expect(missing_docs, reason = "the words of the contract, explained at `Audit`")]
pub struct EdgeAudit {
    pub from: String,
    pub to: String,
    pub port: String,
    pub sent: u64,
    pub taken: u64,
    pub queued: u64,
    pub balanced: bool,
}

/// Of a source.
#[derive(Debug, Serialize, ToSchema)]
pub struct SourceAudit {
    /// The source.
    pub id: String,
    /// Per partition of the topic that it reads, the offset that is read next.
    pub position: Vec<SourcePosition>,
    /// Records read, of this topic and of those that it was given before.
    pub taken: u64,
    /// Is, in each partition, begin + read = position?
    pub balanced: bool,
}

/// How far a partition is read.
#[derive(Debug, Serialize, ToSchema)]
pub struct SourcePosition {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: u32,
    /// The offset that is read next.
    pub offset: u64,
    /// Where the source began.
    pub start: u64,
}

impl From<Found> for Audit {
    fn from(audit: Found) -> Self {
        Self {
            balanced: audit.balanced,
            epoch: audit.epoch.0,
            operators: audit.operators.into_iter().map(OperatorAudit::from).collect(),
            edges: audit.edges.into_iter().map(EdgeAudit::from).collect(),
            sources: audit.sources.into_iter().map(SourceAudit::from).collect(),
        }
    }
}

impl From<AuditOperator> for OperatorAudit {
    fn from(operator: AuditOperator) -> Self {
        let counts = operator.counts;
        Self {
            id: operator.id,
            taken: counts.taken,
            ended: counts.ended,
            filtered: counts.filtered,
            skipped: counts.skipped,
            dead_lettered: counts.dead_lettered,
            late: counts.late,
            shed: counts.shed,
            waiting: operator.waiting,
            balanced: operator.balanced,
        }
    }
}

impl From<AuditEdge> for EdgeAudit {
    fn from(edge: AuditEdge) -> Self {
        Self {
            from: edge.from,
            to: edge.to,
            port: edge.port,
            sent: edge.sent,
            taken: edge.taken,
            queued: edge.queued,
            balanced: edge.balanced,
        }
    }
}

impl From<AuditSource> for SourceAudit {
    fn from(source: AuditSource) -> Self {
        let position = source.position.into_iter().map(|(of, row)| SourcePosition {
            topic: of.topic.to_string(),
            partition: of.partition.0,
            offset: row.next.0,
            start: row.start.0,
        });
        Self {
            id: source.id,
            position: position.collect(),
            taken: source.taken,
            balanced: source.balanced,
        }
    }
}
