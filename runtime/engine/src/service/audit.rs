//! The audit of a pipeline, as of its last commit.
//!
//! Each number was counted where it happened and came with a commit; nothing here
//! is computed from the others, it is only compared. It is read when somebody asks,
//! whenever a pipeline is loaded, and every [`EVERY`] for those that have committed
//! since; one that does not add up is an error in the log and an event, once.

use std::{collections::BTreeMap, sync::Weak, time::Duration};

use weir_core::{
    ids::{Epoch, NodeId, PipelineName, TopicName},
    plan::{NodeKind, Plan},
    rows::{self, PositionOf, PositionRow, Range},
    unit::Counts,
};
use weir_store::{DomainName, Store};

use super::{Engine, Error, blocking, pipeline::Pipeline};

/// From one look at the pipelines to the next.
const EVERY: Duration = Duration::from_secs(10);

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
    /// Per partition of the topic that it reads, the offset that is read next.
    pub position: Vec<(PositionOf, PositionRow)>,
    /// Records read, of this topic and of those that it was given before.
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

    /// What does not add up, in words.
    fn faults(&self) -> String {
        let operators = self.operators.iter().filter(|o| !o.balanced).map(|o| {
            let Counts { taken, ended, filtered, skipped, dead_lettered, late, shed } = o.counts;
            format!(
                "operator `{}` took {taken}, but ended {ended}, filtered {filtered}, skipped {skipped}, \
                 dead letters {dead_lettered}, late {late}, shed {shed}, waiting {}",
                o.id, o.waiting
            )
        });
        let edges = self.edges.iter().filter(|e| !e.balanced).map(|e| {
            let (sent, taken, queued) = (e.sent, e.taken, e.queued);
            format!(
                "`{}.{}` sent {sent} to `{}`, which took {taken}, with {queued} on the way",
                e.from, e.port, e.to
            )
        });
        let sources = self.sources.iter().filter(|s| !s.balanced).map(|s| {
            format!("the positions of the source `{}` are not what it read ({})", s.id, s.taken)
        });
        operators.chain(edges).chain(sources).collect::<Vec<_>>().join("; ")
    }
}

impl Engine {
    /// The audit of a pipeline.
    ///
    /// # Errors
    /// [`Error::NotFound`], or of the store.
    pub async fn audit(&self, name: &PipelineName) -> Result<Audit, Error> {
        let pipeline = self.pipeline(name)?;
        let plan = pipeline.deployed()?.plan.ok_or_else(|| {
            Error::StartFailed("its stored file cannot be read by this release".into())
        })?;
        let (store, name) = (self.store.clone(), name.clone());
        let audit = blocking(move || read(&store, &name, &plan)).await??;
        self.audited(&pipeline, &audit);
        Ok(audit)
    }

    /// Keeps what an audit said. The first that is not balanced is an error.
    pub(super) fn audited(&self, pipeline: &Pipeline, audit: &Audit) {
        let before = pipeline.set_audited(audit.epoch, audit.balanced);
        if before.unwrap_or(true) && !audit.balanced {
            let text =
                format!("the audit of epoch {} is NOT balanced: {}", audit.epoch, audit.faults());
            self.events.tell(&pipeline.name, "unbalanced", text);
        } else if before == Some(false) && audit.balanced {
            self.events.tell(&pipeline.name, "balanced", "the audit is balanced again");
        }
    }

    /// Audits what has committed since it was audited last.
    async fn audit_all(&self) {
        for pipeline in self.all() {
            let epoch = self.store.last_epoch(&DomainName::of_pipeline(&pipeline.name));
            if pipeline.plan().is_some() && pipeline.audited() != Some(epoch) {
                // One that commits too fast to be read is looked at again next time.
                if let Err(error) = self.audit(&pipeline.name).await {
                    tracing::debug!(pipeline = %pipeline.name, %error, "it was not audited");
                }
            }
        }
    }
}

/// Audits as long as the engine lives.
pub(super) async fn watch(engine: Weak<Engine>) {
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(engine) = engine.upgrade() else { return };
        engine.audit_all().await;
    }
}

/// Reads the audit rows of one commit.
pub(super) fn read(store: &Store, name: &PipelineName, plan: &Plan) -> Result<Audit, Error> {
    /// Commits are at least some milliseconds apart, a reading takes less.
    const TRIES: usize = 100;
    let domain = DomainName::of_pipeline(name);
    for _ in 0..TRIES {
        let epoch = store.last_epoch(&domain);
        // All tables of the audit are neighbours. Read in one epoch, they are of one commit.
        let (from, to) = (first_table(), rows::dead_letters().from);
        let rows = store.scan_all(&domain, &from, Some(&to)).collect::<Result<_, _>>()?;
        if store.last_epoch(&domain) == epoch {
            let topic_id = |name: &TopicName| store.topic(name).map(|topic| topic.id);
            return add_up(epoch, &rows, plan, topic_id);
        }
    }
    Err(Error::Unavailable(
        "the pipeline commits faster than its audit can be read; try again".into(),
    ))
}

type Table = BTreeMap<Vec<u8>, bytes::Bytes>;

fn add_up(
    epoch: Epoch,
    table: &Table,
    plan: &Plan,
    topic_id: impl Fn(&TopicName) -> Option<u64>,
) -> Result<Audit, Error> {
    let mut audit =
        Audit { balanced: true, epoch, operators: vec![], edges: vec![], sources: vec![] };
    for node in &plan.nodes {
        match &node.kind {
            NodeKind::Operator(_) => audit.operators.push(operator(table, &node.id)?),
            NodeKind::Source(reads) => {
                audit.sources.push(source(table, &node.id, topic_id(&reads.topic))?);
            }
            NodeKind::Sink(_) => {}
        }
    }
    let name = |index: u16| plan.nodes.get(usize::from(index)).map(|node| &node.id);
    for edge in &plan.edges {
        let (Some(from), Some(to)) = (name(edge.from), name(edge.to)) else { continue };
        let label = rows::edge_label(from, &edge.port_name, to);
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

/// `topic`: the id of the one that it reads.
fn source(table: &Table, id: &NodeId, topic: Option<u64>) -> Result<AuditSource, Error> {
    let mut position = within(table, rows::positions_of(id))
        .map(|(key, value)| rows::position(key, value).map_err(unreadable))
        .collect::<Result<Vec<_>, _>>()?;
    let balanced =
        position.iter().all(|(_, row)| row.start.0.checked_add(row.read) == Some(row.next.0));
    let taken = position.iter().map(|(_, row)| row.read).sum();
    position.retain(|(of, _)| Some(of.id) == topic);
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
