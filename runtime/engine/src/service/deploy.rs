//! A pipeline file becomes a revision that runs.
//!
//! | before | file | after |
//! |---|---|---|
//! | nothing | sound | revision 1 runs |
//! | any | the same as deployed | as before; a failed one is loaded again |
//! | up | sound | stopped at a commit, the new revision goes on from there, running or paused as before |
//! | down | sound | the new revision, still down: `resume` starts it |
//! | any | not sound, or it cannot be started | as before, and the answer says why |
//!
//! Everything that can be refused is refused before what runs is touched: modules
//! are loaded and tried first. A start that fails all the same puts the old
//! revision back.

use std::{collections::BTreeSet, sync::Arc};

use weir_core::{
    graph::Graph,
    ids::{NodeId, PipelineName, TopicName},
    plan::Plan,
    rows,
    spec::{Diagnostic, ModuleRef, Placed, Severity, read},
};
use weir_store::{Change, DomainName, Store};

use super::{
    Engine, Error, GraphView, ask, blocking, commit,
    lifecycle::owned,
    load::{Guests, service_domain},
    overview::{self, Base},
    pipeline::{Pipeline, PipelineStatus, Revision},
    record::{Document, Kept, Wanted, encode},
    resolve::Catalog,
};

/// What to do with what removed operators hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnOrphans {
    /// The deploy is refused.
    #[default]
    Refuse,
    /// State, waiting events and dead letters of removed operators are removed.
    Drop,
}

/// A revision that was deployed, or would be.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployed {
    /// The pipeline.
    pub name: PipelineName,
    /// Its revision.
    pub revision: u32,
    /// Was the pipeline not there before?
    pub created: bool,
    /// What it is doing.
    pub status: PipelineStatus,
    /// The graph that the file means.
    pub graph: GraphView,
    /// What may not be as it was meant.
    pub warnings: Vec<Diagnostic>,
}

struct Planned {
    document: Document,
    plan: Arc<Plan>,
    warnings: Vec<Diagnostic>,
}

impl Engine {
    /// Checks a file as [`Engine::deploy`] does, and changes nothing.
    ///
    /// # Errors
    /// [`Error::InvalidPipeline`] with every problem.
    pub async fn plan(&self, name: &PipelineName, file: &str) -> Result<Deployed, Error> {
        let planned = self.planned(name, file)?;
        let before = self.pipeline(name).ok();
        let revision = before.as_ref().and_then(|pipeline| pipeline.revision());
        let status = before.map_or(PipelineStatus::Stopped, |pipeline| pipeline.status().0);
        let number = match &revision {
            Some(old) if same(old, &planned.document) => old.number,
            Some(old) => old.number + 1,
            None => 1,
        };
        Ok(answer(name, number, revision.is_none(), status, planned))
    }

    /// Deploys a file as the next revision of a pipeline.
    ///
    /// # Errors
    /// [`Error::InvalidPipeline`] with every problem, [`Error::OrphanState`],
    /// [`Error::StartFailed`], or of the store. What ran before runs again then.
    pub async fn deploy(
        self: &Arc<Self>,
        name: &PipelineName,
        file: &str,
        orphans: OnOrphans,
    ) -> Result<Deployed, Error> {
        let (engine, name, file) = (self.clone(), name.clone(), file.to_owned());
        owned(async move {
            let _deploys = engine.deploys.read().await;
            // Before an entry is made, so that a bad file leaves none.
            let planned = engine.planned(&name, &file)?;
            let (pipeline, _change) =
                engine.to_change(|| Ok(engine.pipeline_or_new(&name))).await?;
            let result = engine.replace(&pipeline, planned, orphans).await;
            if pipeline.revision().is_none() {
                engine.forget(&name);
            }
            result
        })
        .await
    }

    async fn replace(
        self: &Arc<Self>,
        pipeline: &Arc<Pipeline>,
        planned: Planned,
        orphans: OnOrphans,
    ) -> Result<Deployed, Error> {
        let name = &pipeline.name;
        let old = pipeline.revision();
        let (status, _) = pipeline.status();
        if let Some(old) = &old
            && same(old, &planned.document)
        {
            if status == PipelineStatus::Failed {
                self.unload(pipeline).await?;
                self.start(pipeline).await?;
            }
            return Ok(answer(name, old.number, false, pipeline.status().0, planned));
        }
        let held = self.orphans(name, &planned.plan).await?;
        if orphans == OnOrphans::Refuse && !held.is_empty() {
            return Err(Error::OrphanState {
                held: held.into_iter().map(|orphan| orphan.text).collect(),
            });
        }
        let kept = match &old {
            Some(old) => old.kept,
            None => Kept { wanted: Wanted::Running, incarnation: self.new_incarnation().await? },
        };
        self.create_topics(&planned.plan).await?;
        let guests = self.guests(&planned.plan).await?;
        let was_up = kept.wanted != Wanted::Stopped;
        let number = match self.swap(pipeline, &planned, guests, kept, orphans).await {
            Ok(number) => number,
            Err(error) if old.is_some() && was_up => {
                let after = match self.start(pipeline).await {
                    Ok(()) => "the revision before goes on".to_owned(),
                    Err(again) => {
                        format!("and the revision before could not be started again: {again}")
                    }
                };
                return Err(match error {
                    Error::OrphanState { held } => Error::OrphanState { held },
                    error => Error::StartFailed(format!("{error}; {after}")),
                });
            }
            Err(error) => return Err(error),
        };
        let what = if old.is_some() { "a new revision" } else { "a new pipeline" };
        self.events.tell(name, "deployed", format!("{what}: revision {number}"));
        Ok(answer(name, number, old.is_none(), pipeline.status().0, planned))
    }

    /// Stops what runs, writes the new revision down and begins it.
    async fn swap(
        self: &Arc<Self>,
        pipeline: &Arc<Pipeline>,
        planned: &Planned,
        guests: Guests,
        kept: Kept,
        orphans: OnOrphans,
    ) -> Result<u32, Error> {
        let name = &pipeline.name;
        if pipeline.handle().is_some() {
            self.unload(pipeline).await?;
        }
        // Once more, now that nothing runs that could give an operator state.
        let held = self.orphans(name, &planned.plan).await?;
        if orphans == OnOrphans::Refuse && !held.is_empty() {
            return Err(Error::OrphanState {
                held: held.into_iter().map(|orphan| orphan.text).collect(),
            });
        }
        let built = match kept.wanted {
            Wanted::Stopped => None,
            Wanted::Running | Wanted::Paused => {
                Some(self.build(pipeline, planned.plan.clone(), guests, kept).await?)
            }
        };
        let (document, status) = (encode(&planned.document)?, encode(&kept)?);
        let entry =
            ask(|done| self.registry.put_pipeline(name, document, Some(status), done)).await?;
        pipeline.set_revision(Revision {
            number: entry.revision,
            file: planned.document.file.as_str().into(),
            pins: planned.document.pins.clone().into(),
            plan: Some(planned.plan.clone()),
            kept,
        });
        let dropped = drop_rows(&self.store, name, &held)?;
        match built {
            Some(built) => {
                self.begin(pipeline, built);
                if let (false, Some(handle)) = (dropped.is_empty(), pipeline.handle()) {
                    ask(|done| handle.amend(dropped, done)).await?;
                }
            }
            None => {
                pipeline.set_down();
                if !dropped.is_empty() {
                    commit(&self.store, DomainName::of_pipeline(name), dropped).await?;
                }
            }
        }
        if !held.is_empty() {
            let names: Vec<_> = held.iter().map(|orphan| orphan.operator.as_str()).collect();
            self.events.tell(
                name,
                "state-dropped",
                format!("what removed operators held is dropped: {}", names.join(", ")),
            );
        }
        Ok(entry.revision)
    }

    fn planned(&self, name: &PipelineName, file: &str) -> Result<Planned, Error> {
        let catalog = self.catalog()?;
        let graph = Graph::from_text(file, &|reference| catalog.resolve(reference, &[]));
        let conflicts = self.topic_conflicts(file);
        let graph = match graph {
            Ok(graph) if conflicts.is_empty() => graph,
            Ok(Graph { warnings: mut problems, .. }) | Err(mut problems) => {
                problems.extend(conflicts);
                problems.sort_by_key(|problem| (problem.line, problem.column));
                return Err(Error::InvalidPipeline(problems));
            }
        };
        if graph.pipeline != *name {
            return Err(Error::InvalidPipeline(vec![Diagnostic {
                severity: Severity::Error,
                line: 1,
                column: 1,
                path: "pipeline".into(),
                code: "name-differs".into(),
                message: format!(
                    "The file names the pipeline `{}`, the request `{name}`.",
                    graph.pipeline
                ),
                help: Some("use one name in both".into()),
            }]));
        }
        Ok(plan_of(graph, file))
    }

    /// Where the file gives a topic that is there another number of partitions: that
    /// cannot be changed.
    fn topic_conflicts(&self, file: &str) -> Vec<Diagnostic> {
        let spec = read(file).spec;
        let conflict = |(topic, wanted): (&Placed<TopicName>, &Placed<u32>)| {
            let has = self.store.topic(&topic.value)?.partitions.len();
            (has != wanted.value as usize).then(|| Diagnostic {
                severity: Severity::Error,
                line: wanted.place.line,
                column: wanted.place.column,
                path: wanted.path.clone(),
                code: "conflict".into(),
                message: format!("The topic `{}` exists with {has} partitions.", topic.value),
                help: Some(format!("write {has}, or leave it out")),
            })
        };
        spec.partitions().filter_map(conflict).collect()
    }

    /// A number that no pipeline of this data directory had before.
    async fn new_incarnation(&self) -> Result<u32, Error> {
        const KEY: &[u8] = b"incarnation";
        let _one = self.incarnations.lock().await;
        let domain = service_domain()?;
        let last = self
            .store
            .get(&domain, KEY)?
            .and_then(|row| row.as_ref().try_into().ok().map(u32::from_be_bytes));
        let next = last.unwrap_or(0) + 1;
        let change = Change { key: KEY.to_vec(), value: Some(next.to_be_bytes().to_vec().into()) };
        commit(&self.store, domain, vec![change]).await?;
        Ok(next)
    }

    /// Operators that hold something and are not in the plan.
    async fn orphans(&self, name: &PipelineName, plan: &Arc<Plan>) -> Result<Vec<Orphan>, Error> {
        let (store, name, plan) = (self.store.clone(), name.clone(), plan.clone());
        blocking(move || find_orphans(&store, &name, &plan)).await?
    }
}

struct Orphan {
    operator: String,
    text: String,
}

/// Looks for the owner of the first row after each owner's rows, table by table.
fn find_orphans(store: &Store, name: &PipelineName, plan: &Plan) -> Result<Vec<Orphan>, Error> {
    let domain = DomainName::of_pipeline(name);
    let operators: BTreeSet<&str> = plan.operators().map(|(node, _)| node.id.as_str()).collect();
    let mut orphans: Vec<Orphan> = Vec::new();
    let mut from = Vec::new();
    loop {
        let Some((key, _)) = store.scan(&domain, &from, None, 1)?.into_iter().next() else {
            return Ok(orphans);
        };
        let Some((table, owner)) = rows::owner_of(&key) else {
            // A table without owners: on to the next one.
            from = vec![key.first().copied().unwrap_or(u8::MAX).saturating_add(1)];
            if from == [u8::MAX] {
                return Ok(orphans);
            }
            continue;
        };
        let holds = match table {
            "cells" => Some("state"),
            "waiting" | "journals" => Some("events that wait"),
            "outbox" => Some("sends that are not delivered"),
            _ => None,
        };
        if let Some(what) = holds
            && !operators.contains(owner)
            && !orphans.iter().any(|orphan| orphan.operator == owner)
        {
            orphans.push(Orphan {
                operator: owner.into(),
                text: format!("operator `{owner}` is not in the file but still holds {what}"),
            });
        }
        // Rows of one owner in one table: table, name, 0, ..
        from = [&key[..1], owner.as_bytes(), &[1]].concat();
    }
}

/// The removal of every row that these operators own.
fn drop_rows(store: &Store, name: &PipelineName, orphans: &[Orphan]) -> Result<Vec<Change>, Error> {
    let domain = DomainName::of_pipeline(name);
    let mut changes = Vec::new();
    for orphan in orphans {
        let id: NodeId = orphan
            .operator
            .parse()
            .map_err(|e: weir_core::ids::InvalidName| Error::Defect(e.to_string()))?;
        for range in rows::operator_ranges(&id) {
            let rows = store.scan(&domain, &range.from, range.to.as_deref(), usize::MAX)?;
            changes.extend(rows.into_iter().map(|(key, _)| Change { key, value: None }));
        }
    }
    Ok(changes)
}

/// The plan of a stored revision, with the modules that it was applied with.
pub(super) fn plan_again(document: &Document, catalog: &Catalog) -> Result<Arc<Plan>, Error> {
    let resolve = |reference: &ModuleRef| catalog.resolve(reference, &document.pins);
    let graph = Graph::from_text(&document.file, &resolve).map_err(Error::InvalidPipeline)?;
    Ok(plan_of(graph, &document.file).plan)
}

fn plan_of(graph: Graph, file: &str) -> Planned {
    let warnings = graph.warnings.clone();
    let plan = Arc::new(Plan::from(graph));
    let mut pins: Vec<_> = plan.operators().map(|(_, operator)| operator.module.clone()).collect();
    pins.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    pins.dedup();
    Planned { document: Document { file: file.into(), pins }, plan, warnings }
}

fn same(old: &Revision, new: &Document) -> bool {
    *old.file == *new.file && *old.pins == *new.pins
}

fn answer(
    name: &PipelineName,
    revision: u32,
    created: bool,
    status: PipelineStatus,
    planned: Planned,
) -> Deployed {
    let graph = overview::graph(&planned.plan, &Base::default(), None, &[]);
    Deployed { name: name.clone(), revision, created, status, graph, warnings: planned.warnings }
}
