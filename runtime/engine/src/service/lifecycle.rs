//! Pause, resume, stop, delete, and recovery at the start.
//!
//! | asked | down | starting, up | failed |
//! |---|---|---|---|
//! | pause | refused | takes nothing in | refused |
//! | resume | is loaded | takes in again | is loaded |
//! | stop | nothing | last commit, then down | down |
//! | delete | is gone | refused | refused |
//!
//! What is wanted is written before it is done, so that a crash in between ends in
//! what was asked. A change that was begun is carried out even if the asker goes
//! away.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::Duration,
};

use tokio::runtime::Handle;
use weir_core::{
    guest::GuestFactory,
    ids::{NodeId, PipelineName},
    plan::Plan,
};
use weir_store::{DomainName, PipelineEntry};

use super::{
    Engine, Error, Settings, Summary, ask, blocking, commit,
    deploy::plan_again,
    overview::Base,
    pipeline::{Pipeline, PipelineStatus, Revision},
    record::{Document, Kept, Wanted, decode, encode},
    resolve::Catalog,
};
use crate::{
    domain::{self, DomainConfig, DomainHandle, Status},
    shell,
};

/// How long a stop may take before the asker is told that it goes on without him:
/// what it waits for is a commit, and a full disk can hold that up.
const STOP: Duration = Duration::from_secs(30);

/// What becomes of the state of a deleted pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateAtDelete {
    /// It stays, for a pipeline of the same name.
    Keep,
    /// It is removed: state, positions, waiting events, dead letters.
    Drop,
}

pub(super) type Guests = HashMap<NodeId, Arc<dyn GuestFactory>>;

/// A pipeline that is built and not yet begun.
pub(super) struct Built {
    actors: Vec<Box<dyn crate::actor::Actor>>,
    handle: DomainHandle,
    base: Base,
}

impl Engine {
    /// Takes nothing more in; keeps everything.
    ///
    /// # Errors
    /// [`Error::WrongStatus`] if it is not loaded, [`Error::NotFound`], or of the
    /// store.
    pub async fn pause(self: &Arc<Self>, name: &PipelineName) -> Result<Summary, Error> {
        self.change(name, |engine, pipeline| async move {
            let Some(handle) = running(&pipeline) else {
                return Err(wrong(&pipeline, "only a loaded pipeline can be paused, `resume` loads it"));
            };
            engine.want(&pipeline, Wanted::Paused).await?;
            handle.pause();
            pipeline.until(|status| *status == Status::Paused).await;
            engine.events.tell(&pipeline.name, "paused", "it takes nothing in and keeps everything");
            Ok(())
        })
        .await
    }

    /// Takes in again after a pause; loads it after a stop or a failure.
    ///
    /// # Errors
    /// [`Error::StartFailed`], [`Error::NotFound`], or of the store.
    pub async fn resume(self: &Arc<Self>, name: &PipelineName) -> Result<Summary, Error> {
        self.change(name, |engine, pipeline| async move {
            engine.want(&pipeline, Wanted::Running).await?;
            if let Some(handle) = running(&pipeline) {
                handle.resume();
                pipeline.until(|status| *status == Status::Running).await;
                engine.events.tell(&pipeline.name, "resumed", "it takes in again");
                return Ok(());
            }
            engine.unload(&pipeline).await?;
            engine.start(&pipeline).await
        })
        .await
    }

    /// Works off what runs, makes a last commit and unloads it.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the last commit takes too long, [`Error::NotFound`],
    /// or of the store.
    pub async fn stop(self: &Arc<Self>, name: &PipelineName) -> Result<Summary, Error> {
        self.change(name, |engine, pipeline| async move {
            engine.want(&pipeline, Wanted::Stopped).await?;
            if pipeline.status().0 != PipelineStatus::Stopped || pipeline.handle().is_some() {
                engine.unload(&pipeline).await?;
                engine.events.tell(&pipeline.name, "stopped", "its last commit is made and it is unloaded");
            }
            Ok(())
        })
        .await
    }

    /// Deletes a stopped pipeline with all its revisions.
    ///
    /// # Errors
    /// [`Error::WrongStatus`] if it is not stopped, [`Error::NotFound`], or of the
    /// store.
    pub async fn delete_pipeline(self: &Arc<Self>, name: &PipelineName, state: StateAtDelete) -> Result<(), Error> {
        let (engine, pipeline) = (self.clone(), self.pipeline(name)?);
        owned(async move {
            let _change = pipeline.change.lock().await;
            pipeline.deployed()?;
            if pipeline.status().0 != PipelineStatus::Stopped {
                return Err(wrong(&pipeline, "stop it first"));
            }
            ask(|done| engine.registry.delete_pipeline(&pipeline.name, done)).await?;
            engine.forget(&pipeline.name);
            let kept = match state {
                StateAtDelete::Keep => "its state is kept for a pipeline of the same name",
                StateAtDelete::Drop => {
                    ask(|done| engine.store.clear_domain(&DomainName::of_pipeline(&pipeline.name), done)).await?;
                    "its state is removed"
                }
            };
            engine.events.tell(&pipeline.name, "deleted", kept);
            Ok(())
        })
        .await
    }

    /// Loads everything that is deployed, in the background.
    pub(super) async fn recover(self: &Arc<Self>) -> Result<(), Error> {
        let registry = self.registry.clone();
        let entries = blocking(move || registry.pipelines()).await??;
        let catalog = self.catalog()?;
        let mut starts = Vec::new();
        for entry in entries {
            let pipeline = self.pipeline_or_new(&entry.name);
            match self.read_revision(&entry, &catalog) {
                Ok(revision) => {
                    let wanted = revision.kept.wanted;
                    pipeline.set_revision(revision);
                    if wanted == Wanted::Stopped {
                        pipeline.set_base(self.base_of(&pipeline).await);
                    } else {
                        pipeline.set_starting();
                        starts.push(pipeline);
                    }
                }
                Err(error) => {
                    self.events.tell(&pipeline.name, "failed", error.to_string());
                    pipeline.set_failed(error.to_string());
                }
            }
        }
        let engine = self.clone();
        self.in_background(async move {
            for pipeline in starts {
                let _change = pipeline.change.lock().await;
                // Not if somebody was quicker with a stop or a new revision.
                if pipeline.handle().is_none() && pipeline.unready().is_some() {
                    // The event and the phase tell of a failure.
                    let _ = engine.start(&pipeline).await;
                }
            }
        });
        Ok(())
    }

    fn read_revision(&self, entry: &PipelineEntry, catalog: &Catalog) -> Result<Revision, Error> {
        let kept: Kept = decode("the status of the pipeline", &entry.status)?;
        let stored = self.registry.revision(&entry.name, entry.revision)?;
        let stored = stored.ok_or_else(|| Error::Defect(format!("revision {} is missing", entry.revision)))?;
        let document: Document = decode("the revision", &stored.document)?;
        let plan = plan_again(&document, catalog);
        if let Err(error) = &plan {
            tracing::error!(pipeline = %entry.name, %error, "its stored file cannot be read");
        }
        Ok(Revision {
            number: entry.revision,
            file: document.file.into(),
            pins: document.pins.into(),
            plan: plan.ok(),
            kept,
        })
    }

    /// Loads the deployed revision and begins it. On failure the phase says why.
    pub(super) async fn start(self: &Arc<Self>, pipeline: &Arc<Pipeline>) -> Result<(), Error> {
        pipeline.set_starting();
        let started = async {
            let revision = pipeline.deployed()?;
            let plan = revision.plan.ok_or_else(|| {
                Error::StartFailed("its stored file cannot be read by this release; deploy it again".into())
            })?;
            let guests = self.guests(&plan).await?;
            self.create_topics(&plan).await?;
            self.build(pipeline, plan, guests, revision.kept).await
        }
        .await;
        match started {
            Ok(built) => {
                self.begin(pipeline, built);
                Ok(())
            }
            Err(error) => {
                let reason = error.to_string();
                self.events.tell(&pipeline.name, "failed", format!("it could not be started: {reason}"));
                pipeline.set_failed(&reason);
                Err(Error::StartFailed(reason))
            }
        }
    }

    /// A factory per operator, each tried once.
    pub(super) async fn guests(&self, plan: &Arc<Plan>) -> Result<Guests, Error> {
        let (modules, registry, plan) = (self.modules.clone(), self.registry.clone(), plan.clone());
        blocking(move || {
            let mut guests = Guests::new();
            for (node, operator) in plan.operators() {
                let pin = &operator.module;
                let bytes = || registry.module_bytes(&pin.digest).map_err(|e| e.to_string());
                let settings = Settings { config: operator.config.clone(), limits: operator.limits };
                let failed = |why: String| Error::StartFailed(format!("operator `{}` ({pin}): {why}", node.id));
                let factory = modules.factory(pin.digest, &bytes, &settings).map_err(failed)?;
                let tried = factory.instantiate(Arc::new(super::resolve::NoEffects));
                tried.map_err(|trap| failed(format!("no instance can be made: {trap}")))?;
                guests.insert(node.id.clone(), factory);
            }
            Ok(guests)
        })
        .await?
    }

    /// Loads a pipeline as of its last commit.
    pub(super) async fn build(
        &self,
        pipeline: &Pipeline,
        plan: Arc<Plan>,
        guests: Guests,
        kept: Kept,
    ) -> Result<Built, Error> {
        // What an earlier load of it has queued is durable, or refused, before it is
        // read again.
        commit(&self.store, service_domain()?, Vec::new()).await?;
        let config = DomainConfig {
            name: pipeline.name.clone(),
            plan: plan.clone(),
            incarnation: kept.incarnation,
            guests,
            store: self.store.clone(),
            clock: self.clock.clone(),
            seed: RandomState::new().hash_one(0),
            tuning: self.tuning.clone(),
            paused: kept.wanted == Wanted::Paused,
        };
        let store = self.store.clone();
        let name = pipeline.name.clone();
        blocking(move || {
            let audit = super::audit::read(&store, &name, &plan)?;
            let (actors, handle) = domain::build(config).map_err(|e| Error::StartFailed(e.to_string()))?;
            tracing::info!(pipeline = %name, "{}", audit.line());
            Ok(Built { actors, handle, base: Base::of(&audit) })
        })
        .await?
    }

    /// Begins to step what was built.
    pub(super) fn begin(self: &Arc<Self>, pipeline: &Arc<Pipeline>, built: Built) {
        let Built { actors, handle, base } = built;
        let crew = shell::spawn(actors, &handle, &self.clock, self.workers());
        let engine = Arc::downgrade(self);
        let name = pipeline.name.clone();
        let notice = std::sync::Mutex::new(None);
        let watched = handle.clone();
        pipeline.set_up(handle, crew, base);
        let paused = watched.health().status == Status::Paused;
        let text = if paused { "it is loaded and paused" } else { "it runs" };
        self.events.tell(&pipeline.name, "started", text);
        let told = Arc::downgrade(pipeline);
        watched.watch(Box::new(move |health| {
            if let Some(pipeline) = told.upgrade() {
                pipeline.said.send_replace(Some(health.status.clone()));
            }
            let Some(engine) = engine.upgrade() else { return };
            if let Status::Failed(reason) = &health.status {
                engine.events.tell(&name, "failed", reason.clone());
            }
            let mut last = super::lock(&notice);
            if *last != health.notice {
                match &health.notice {
                    Some(text) => engine.events.tell(&name, "hindered", text.clone()),
                    None => engine.events.tell(&name, "recovered", "it goes on"),
                }
                last.clone_from(&health.notice);
            }
        }));
    }

    /// Stops what is loaded at a commit and unloads it.
    pub(super) async fn unload(&self, pipeline: &Pipeline) -> Result<(), Error> {
        if let Some(handle) = pipeline.handle() {
            handle.stop();
            if let Some(crew) = pipeline.take_crew() {
                // Polled by reference, so that a stop that takes too long is not torn.
                let mut join = Box::pin(crew.join());
                if tokio::time::timeout(STOP, &mut join).await.is_err() {
                    let notice = handle.health().notice;
                    self.in_background(join);
                    return Err(Error::Unavailable(format!(
                        "pipeline `{}` is stopping, but its last commit is not made yet{}; ask again later",
                        pipeline.name,
                        notice.map(|notice| format!(" ({notice})")).unwrap_or_default()
                    )));
                }
            } else if !matches!(handle.health().status, Status::Stopped | Status::Failed(_)) {
                return Err(Error::Unavailable(format!("pipeline `{}` is still stopping; ask again later", pipeline.name)));
            }
        }
        pipeline.set_down();
        pipeline.set_base(self.base_of(pipeline).await);
        Ok(())
    }

    async fn base_of(&self, pipeline: &Pipeline) -> Base {
        let Some(plan) = pipeline.plan() else { return Base::default() };
        let (store, name) = (self.store.clone(), pipeline.name.clone());
        match blocking(move || super::audit::read(&store, &name, &plan)).await {
            Ok(Ok(audit)) => Base::of(&audit),
            _ => Base::default(),
        }
    }

    /// Writes down what is wanted.
    pub(super) async fn want(&self, pipeline: &Pipeline, wanted: Wanted) -> Result<(), Error> {
        let kept = Kept { wanted, ..pipeline.deployed()?.kept };
        ask(|done| {
            // An encoding of two plain members does not fail.
            let status = encode(&kept).unwrap_or_default();
            self.registry.set_pipeline_status(&pipeline.name, status, done);
        })
        .await?;
        pipeline.set_kept(kept);
        Ok(())
    }

    /// Carries out one change of a pipeline, to its end.
    async fn change<F>(
        self: &Arc<Self>,
        name: &PipelineName,
        work: impl FnOnce(Arc<Self>, Arc<Pipeline>) -> F + Send + 'static,
    ) -> Result<Summary, Error>
    where
        F: Future<Output = Result<(), Error>> + Send,
    {
        let (engine, pipeline) = (self.clone(), self.pipeline(name)?);
        owned(async move {
            let _change = pipeline.change.lock().await;
            pipeline.deployed()?;
            work(engine.clone(), pipeline.clone()).await?;
            Ok(engine.overview(&pipeline.name)?.summary)
        })
        .await
    }
}

/// Runs to its end even if the asker goes away.
pub(super) async fn owned<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    match Handle::current().spawn(work).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => Err(Error::Defect("a task panicked; the log has the place".into())),
        Err(_) => Err(Error::Unavailable("the engine is closing".into())),
    }
}

pub(super) fn service_domain() -> Result<DomainName, Error> {
    "service".parse().map_err(|e: weir_store::InvalidDomain| Error::Defect(e.to_string()))
}

/// The handle of a pipeline that is up and well.
pub(super) fn running(pipeline: &Pipeline) -> Option<DomainHandle> {
    pipeline.handle().filter(|handle| matches!(handle.health().status, Status::Running | Status::Paused))
}

fn wrong(pipeline: &Pipeline, help: &'static str) -> Error {
    Error::WrongStatus { pipeline: pipeline.name.to_string(), status: pipeline.status().0.as_str(), help }
}
