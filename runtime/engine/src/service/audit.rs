//! The audit of a pipeline, as of its last commit.
//!
//! Each number was counted where it happened and came with a commit; nothing here
//! is computed from the others, it is only compared.

use std::collections::BTreeMap;

use weir_core::{
    ids::{Epoch, NodeId, Partition, PipelineName},
    plan::{NodeKind, Plan},
    rows::{self, PositionRow, Range},
    unit::Counts,
};
use weir_store::{DomainName, Store};

use super::{Engine, Error, blocking};

/// Everything that a pipeline has taken, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// Does everything add up?
    pub balanced: bool,
    /// The commit that it is of.
    pub epoch: Epoch,
    /// Per operator.
    pub operators: Vec<AuditOperator>,
    /// Per stream.
    pub edges: Vec<AuditEdge>,
    /// Per source.
    pub sources: Vec<AuditSource>,
}

/// `taken = ended + filtered + skipped + dead_lettered + late + shed + waiting`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditOperator {
    /// The operator.
    pub id: String,
    /// What was counted.
    pub counts: Counts,
    /// What was measured.
    pub waiting: u64,
    /// Does it add up?
    pub balanced: bool,
}

/// `sent = taken + queued`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEdge {
    /// The producer.
    pub from: String,
    /// The consumer.
    pub to: String,
    /// The producer's output.
    pub port: String,
    /// Events that the producer sent.
    pub sent: u64,
    /// Events that the consumer took.
    pub taken: u64,
    /// Events between them when the epoch ended.
    pub queued: u64,
    /// Does it add up?
    pub balanced: bool,
}

/// Per partition, begin + read = position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditSource {
    /// The source.
    pub id: String,
    /// Per partition, the offset that is read next.
    pub position: Vec<(Partition, PositionRow)>,
    /// Records read.
    pub taken: u64,
    /// Does it add up?
    pub balanced: bool,
}

impl Audit {
    /// One line for the log.
    pub(super) fn line(&self) -> String {
        let sum = |of: fn(&AuditOperator) -> u64| self.operators.iter().map(of).sum::<u64>();
        format!(
            "audit of epoch {}: {}; sources read {}; operators took {}, ended {}, dead letters {}, waiting {}",
            self.epoch,
            if self.balanced { "balanced" } else { "NOT balanced" },
            self.sources.iter().map(|source| source.taken).sum::<u64>(),
            sum(|o| o.counts.taken),
            sum(|o| o.counts.ended),
            sum(|o| o.counts.dead_lettered),
            sum(|o| o.waiting),
        )
    }
}

impl Engine {
    /// The audit of a pipeline.
    ///
    /// # Errors
    /// [`Error::NotFound`], or of the store.
    pub async fn audit(&self, name: &PipelineName) -> Result<Audit, Error> {
        let plan = self.pipeline(name)?.deployed()?.plan;
        let plan = plan.ok_or_else(|| {
            Error::StartFailed("its stored file cannot be read by this release".into())
        })?;
        let (store, name) = (self.store.clone(), name.clone());
        blocking(move || read(&store, &name, &plan)).await?
    }
}

/// Reads the audit rows of one commit.
pub(super) fn read(store: &Store, name: &PipelineName, plan: &Plan) -> Result<Audit, Error> {
    /// Commits are at least some milliseconds apart, a reading takes less.
    const TRIES: usize = 100;
    let domain = DomainName::of_pipeline(name);
    for _ in 0..TRIES {
        let epoch = store.last_epoch(&domain);
        // All tables of the audit are neighbours: one scan sees one commit.
        let from = first_table();
        let rows = store.scan(&domain, &from, Some(&rows::dead_letters().from), usize::MAX)?;
        if store.last_epoch(&domain) == epoch {
            return add_up(epoch, &rows.into_iter().collect(), plan);
        }
    }
    Err(Error::Unavailable(
        "the pipeline commits faster than its audit can be read; try again".into(),
    ))
}

type Table = BTreeMap<Vec<u8>, bytes::Bytes>;

fn add_up(epoch: Epoch, table: &Table, plan: &Plan) -> Result<Audit, Error> {
    let mut audit =
        Audit { balanced: true, epoch, operators: vec![], edges: vec![], sources: vec![] };
    for node in &plan.nodes {
        match &node.kind {
            NodeKind::Operator(_) => audit.operators.push(operator(table, &node.id)?),
            NodeKind::Source(_) => audit.sources.push(source(table, &node.id)?),
            NodeKind::Sink(_) => {}
        }
    }
    let name = |index: u16| plan.nodes.get(usize::from(index)).map(|node| &node.id);
    for edge in &plan.edges {
        let (Some(from), Some(to)) = (name(edge.from), name(edge.to)) else { continue };
        let label = format!("{from}.{} -> {to}", edge.port_name);
        let sent = edge_sum(table, rows::edges_sent_of(from), &label)?;
        let taken = edge_sum(table, rows::edges_taken_of(to), &label)?;
        let queued = edge_sum(table, rows::edges_queued_of(to), &label)?;
        audit.edges.push(AuditEdge {
            from: from.to_string(),
            to: to.to_string(),
            port: edge.port_name.to_string(),
            sent,
            taken,
            queued,
            balanced: taken.checked_add(queued) == Some(sent),
        });
    }
    audit.balanced = audit.operators.iter().all(|o| o.balanced)
        && audit.edges.iter().all(|e| e.balanced)
        && audit.sources.iter().all(|s| s.balanced);
    Ok(audit)
}

fn operator(table: &Table, id: &NodeId) -> Result<AuditOperator, Error> {
    let mut counts = Counts::default();
    let mut waiting = 0;
    for (_, value) in within(table, rows::counts_of(id)) {
        let row = rows::counts(value).map_err(unreadable)?;
        counts.add(&row.counts);
        waiting += row.waiting;
    }
    Ok(AuditOperator { id: id.to_string(), counts, waiting, balanced: counts.balanced(waiting) })
}

fn source(table: &Table, id: &NodeId) -> Result<AuditSource, Error> {
    let position = within(table, rows::positions_of(id))
        .map(|(key, value)| rows::position(key, value).map_err(unreadable))
        .collect::<Result<Vec<_>, _>>()?;
    let balanced =
        position.iter().all(|(_, row)| row.start.0.checked_add(row.read) == Some(row.next.0));
    let taken = position.iter().map(|(_, row)| row.read).sum();
    Ok(AuditSource { id: id.to_string(), position, taken, balanced })
}

fn edge_sum(table: &Table, range: Range, label: &str) -> Result<u64, Error> {
    let mut sum = 0;
    for (key, value) in within(table, range) {
        if rows::edge_name(key).map_err(unreadable)?.1 == label {
            sum += rows::number(value).map_err(unreadable)?;
        }
    }
    Ok(sum)
}

fn within(table: &Table, range: Range) -> impl Iterator<Item = (&Vec<u8>, &bytes::Bytes)> {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    table.range((Included(range.from), range.to.map_or(Unbounded, Excluded)))
}

/// The first byte of the first of the tables that the audit reads.
fn first_table() -> Vec<u8> {
    // Any name will do: all rows of a table begin with the same byte.
    "a".parse()
        .map(|id| rows::counts_of(&id).from.into_iter().take(1).collect())
        .unwrap_or_default()
}

pub(super) fn unreadable(error: rows::RowError) -> Error {
    Error::Defect(error.to_string())
}
