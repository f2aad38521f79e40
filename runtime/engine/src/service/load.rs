//! Loading a pipeline as of its last commit, and unloading it at one.
//!
//! Loading is in steps, so that a deploy can do all that may fail before it touches
//! what runs: factories of guests, the build from the store, and only then the
//! begin. At the start of the engine everything that is deployed is loaded, in the
//! background.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::Duration,
};

use weir_core::{guest::GuestFactory, ids::NodeId, plan::Plan};
use weir_store::{DomainName, PipelineEntry};

use super::{
    Audit, Engine, Error, Settings, blocking, commit,
    deploy::plan_again,
    overview::Base,
    pipeline::{Pipeline, Revision},
    record::{Document, Kept, Wanted, decode},
    resolve::Catalog,
};
use crate::{
    domain::{self, DomainConfig, DomainHandle, Status},
    shell,
};

/// How long a stop may take before the asker is told that it goes on without him:
/// what it waits for is a commit, and a full disk can hold that up.
const STOP: Duration = Duration::from_secs(30);

pub(super) type Guests = HashMap<NodeId, Arc<dyn GuestFactory>>;

/// A pipeline that is built and not yet begun.
pub(super) struct Built {
    actors: Vec<Box<dyn crate::actor::Actor>>,
    handle: DomainHandle,
    audit: Audit,
}

impl Engine {
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
                        starts.push(pipeline.name.clone());
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
            for name in starts {
                let found = engine.to_change(|| engine.pipeline(&name)).await;
                let Ok((pipeline, _change)) = found else { continue };
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
        let stored = stored
            .ok_or_else(|| Error::Defect(format!("revision {} is missing", entry.revision)))?;
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
                Error::StartFailed(
                    "its stored file cannot be read by this release; deploy it again".into(),
                )
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
                self.events.tell(
                    &pipeline.name,
                    "failed",
                    format!("it could not be started: {reason}"),
                );
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
                let settings =
                    Settings { config: operator.config.clone(), limits: operator.limits };
                let failed = |why: String| {
                    Error::StartFailed(format!("operator `{}` ({pin}): {why}", node.id))
                };
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
            let (actors, handle) =
                domain::build(config).map_err(|e| Error::StartFailed(e.to_string()))?;
            tracing::info!(pipeline = %name, "{}", audit.line());
            Ok(Built { actors, handle, audit })
        })
        .await?
    }

    /// Begins to step what was built.
    pub(super) fn begin(self: &Arc<Self>, pipeline: &Arc<Pipeline>, built: Built) {
        let Built { actors, handle, audit } = built;
        let crew = shell::spawn(actors, &handle, &self.clock, self.workers());
        let engine = Arc::downgrade(self);
        let name = pipeline.name.clone();
        let notice = std::sync::Mutex::new(None);
        let watched = handle.clone();
        pipeline.set_up(handle, crew, Base::of(&audit));
        self.audited(pipeline, &audit);
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
                return Err(Error::Unavailable(format!(
                    "pipeline `{}` is still stopping; ask again later",
                    pipeline.name
                )));
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
}

pub(super) fn service_domain() -> Result<DomainName, Error> {
    "service".parse().map_err(|e: weir_store::InvalidDomain| Error::Defect(e.to_string()))
}
