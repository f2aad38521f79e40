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

use std::sync::Arc;

use weir_core::{
    graph::Graph,
    ids::{PipelineName, TopicName},
    plan::Plan,
    spec::{Diagnostic, ModuleRef, Placed, Severity, read},
};
use weir_store::{Change, DomainName};

use super::{
    Engine, Error, GraphView, ask, commit,
    lifecycle::owned,
    load::{Guests, service_domain},
    orphans::{OnOrphans, Orphan},
    overview::{self, Base},
    pipeline::{Pipeline, PipelineStatus, Revision},
    record::{Document, Kept, Wanted, encode},
    resolve::Catalog,
};

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
    /// What is dropped with operators that are gone, or would be.
    pub dropped: Vec<Orphan>,
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
    /// [`Error::InvalidPipeline`] with every problem, [`Error::OrphanState`].
    pub async fn plan(
        &self,
        name: &PipelineName,
        file: &str,
        on_orphans: OnOrphans,
    ) -> Result<Deployed, Error> {
        let planned = self.planned(name, file)?;
        let dropped = self.orphans(name, &planned.plan, on_orphans).await?;
        let before = self.pipeline(name).ok();
        let revision = before.as_ref().and_then(|pipeline| pipeline.revision());
        let status = before.map_or(PipelineStatus::Stopped, |pipeline| pipeline.status().0);
        let number = match &revision {
            Some(old) if same(old, &planned.document) => old.number,
            Some(old) => old.number + 1,
            None => 1,
        };
        Ok(answer(name, number, revision.is_none(), status, planned, dropped))
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
        on_orphans: OnOrphans,
    ) -> Result<Deployed, Error> {
        let (engine, name, file) = (self.clone(), name.clone(), file.to_owned());
        owned(async move {
            let _deploys = engine.deploys.read().await;
            // Before an entry is made, so that a bad file leaves none.
            let planned = engine.planned(&name, &file)?;
            let (pipeline, _change) =
                engine.to_change(|| Ok(engine.pipeline_or_new(&name))).await?;
            let result = engine.replace(&pipeline, planned, on_orphans).await;
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
        on_orphans: OnOrphans,
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
            return Ok(answer(name, old.number, false, pipeline.status().0, planned, Vec::new()));
        }
        self.orphans(name, &planned.plan, on_orphans).await?;
        let kept = match &old {
            Some(old) => old.kept,
            None => Kept { wanted: Wanted::Running, incarnation: self.new_incarnation().await? },
        };
        self.create_topics(&planned.plan).await?;
        let guests = self.guests(&planned.plan).await?;
        let was_up = kept.wanted != Wanted::Stopped;
        let (number, dropped) = match self.swap(pipeline, &planned, guests, kept, on_orphans).await
        {
            Ok(swapped) => swapped,
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
        Ok(answer(name, number, old.is_none(), pipeline.status().0, planned, dropped))
    }

    /// Stops what runs, writes the new revision down and begins it.
    async fn swap(
        self: &Arc<Self>,
        pipeline: &Arc<Pipeline>,
        planned: &Planned,
        guests: Guests,
        kept: Kept,
        on_orphans: OnOrphans,
    ) -> Result<(u32, Vec<Orphan>), Error> {
        let name = &pipeline.name;
        if pipeline.handle().is_some() {
            self.unload(pipeline).await?;
        }
        // Once more, now that nothing runs that could give an operator state.
        let held = self.orphans(name, &planned.plan, on_orphans).await?;
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
        let dropped = self.rows_of(name, &held).await?;
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
            let each: Vec<_> = held.iter().map(Orphan::line).collect();
            self.events.tell(
                name,
                "state-dropped",
                format!("what removed operators held is dropped: {}", each.join("; ")),
            );
        }
        Ok((entry.revision, held))
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
    dropped: Vec<Orphan>,
) -> Deployed {
    let graph = overview::graph(&planned.plan, &Base::default(), None, &[]);
    let warnings = planned.warnings;
    Deployed { name: name.clone(), revision, created, status, graph, warnings, dropped }
}
