//! The engine as a service: modules, pipelines, topics and what can be asked of
//! them.
//!
//! An [`Engine`] owns the data directory, the threads of the store and every
//! running pipeline. What is asked of it is done by the methods that its parts add:
//!
//! | file | what |
//! |---|---|
//! | `modules` | upload, list, delete modules |
//! | `deploy` | pipeline file -> plan -> revision |
//! | `orphans` | what removed operators hold |
//! | `lifecycle` | pause, resume, stop, delete |
//! | `load` | load at the start and at a deploy, unload |
//! | `overview` | the graph with its figures, for one pipeline or all |
//! | `state`, `audit`, `dead_letters` | as of the last commit |
//! | `topics`, `ingest`, `tail` | records in and out |
//! | `calls` | calls and sends from outside |
//! | `live`, `events` | figures once a second, what happened to pipelines |
//!
//! It knows nothing of HTTP, and of WebAssembly only the trait [`Modules`].
//!
//! # Order of closing
//! Pipelines stop at a commit, each within [`Config::drain`]; then the store writes
//! what is queued and its threads end. A pipeline that does not make it loses
//! nothing: it goes on from its last commit.

mod audit;
mod calls;
mod dead_letters;
mod deploy;
mod error;
mod events;
mod ingest;
mod lifecycle;
mod live;
mod load;
mod loader;
mod modules;
mod orphans;
mod overview;
mod pipeline;
mod record;
mod resolve;
mod state;
mod tail;
mod topics;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use weir_core::{
    clock::Clock,
    ids::{Epoch, EventTime, PipelineName},
};
use weir_store::{
    Change, Commit, Disk, DomainName, Ingest, Options, Registry, Store, Threads, ViewKind,
};

pub use self::{
    audit::{Audit, AuditEdge, AuditOperator, AuditSource},
    calls::{CallRequest, Called, Delay, InvocationView, Request, SendRequest},
    dead_letters::{DeadLetterQuery, DeadLetters},
    deploy::Deployed,
    error::{Diagnostic, Error},
    events::Lifecycle,
    lifecycle::StateAtDelete,
    live::{Figures, LiveFeed},
    loader::{Checked, Modules, Settings},
    modules::{Module, Uploaded},
    orphans::{OnOrphans, Orphan},
    overview::{EdgeView, GraphView, NodeView, Overview, RevisionView, Summary},
    pipeline::PipelineStatus,
    state::{CellValue, KeyState, StatePage, StateQuery},
    tail::{Position, Tail},
    topics::{Page, ReadFrom, RecordOut, RecordQuery},
};
use self::{events::Events, live::Live, pipeline::Pipeline};
use crate::tuning::Tuning;

/// What an engine is made of.
pub struct Config {
    /// The data directory.
    pub dir: PathBuf,
    /// The files below it.
    pub disk: Arc<dyn Disk>,
    /// Where settled rows live.
    pub view: ViewKind,
    /// Sizes and times of the store.
    pub store: Options,
    /// Sizes and times of running pipelines.
    pub tuning: Tuning,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Runs modules.
    pub modules: Arc<dyn Modules>,
    /// How long each pipeline may take to stop when the engine closes.
    pub drain: Duration,
    /// Threads that run pipelines; by default as many as there are cores.
    pub workers: Option<usize>,
}

/// Everything that runs in one data directory.
pub struct Engine {
    clock: Arc<dyn Clock>,
    store: Arc<Store>,
    registry: Arc<Registry>,
    ingest: Arc<Ingest>,
    modules: Arc<dyn Modules>,
    tuning: Tuning,
    events: Events,
    live: Live,
    drain: Duration,
    pipelines: RwLock<BTreeMap<PipelineName, Arc<Pipeline>>>,
    /// Read by everything that makes a revision, written by what removes modules or
    /// topics, so that nothing goes while a deploy relies on it.
    deploys: tokio::sync::RwLock<()>,
    /// Gives incarnations one at a time.
    incarnations: tokio::sync::Mutex<()>,
    /// Threads for the tasks of pipelines, so that user code that takes its time
    /// does not hold up whoever asks. Gone after the close.
    workers: Workers,
    threads: Mutex<Option<Threads>>,
    background: Mutex<tokio::task::JoinSet<()>>,
}

/// A runtime of its own for pipelines; may be dropped anywhere.
struct Workers(Option<tokio::runtime::Runtime>, tokio::runtime::Handle);

impl Workers {
    fn new(threads: usize) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads.max(1))
            .thread_name("weir-pipeline")
            .enable_time()
            .build()?;
        let handle = runtime.handle().clone();
        Ok(Self(Some(runtime), handle))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Has everything that is deployed recovered?
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Yes.
    Ready,
    /// Not yet: these have not.
    Waiting(Vec<String>),
}

impl Engine {
    /// Opens the data directory and begins to recover every deployed pipeline in
    /// the background: see [`Engine::readiness`].
    ///
    /// Call it within a tokio runtime.
    ///
    /// # Errors
    /// If the directory cannot be opened: locked, damaged, of another format.
    pub async fn open(config: Config) -> Result<Arc<Self>, Error> {
        let Config { dir, disk, view, store: options, tuning, clock, modules, drain, workers } =
            config;
        let store_clock = clock.clone();
        let store = blocking(move || Store::open(&dir, disk, view, store_clock, options)).await??;
        let threads =
            store.spawn().map_err(|e| Error::Unavailable(format!("cannot start a thread: {e}")))?;
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let workers = Workers::new(workers.unwrap_or_else(cores))
            .map_err(|e| Error::Unavailable(format!("cannot start a thread: {e}")))?;
        let engine = Arc::new(Self {
            workers,
            events: Events::new(clock.clone()),
            live: Live::default(),
            registry: Arc::new(Registry::new(store.clone())),
            ingest: Ingest::new(store.clone()),
            clock,
            store,
            modules,
            tuning,
            drain,
            pipelines: RwLock::default(),
            deploys: tokio::sync::RwLock::default(),
            incarnations: tokio::sync::Mutex::default(),
            threads: Mutex::new(Some(threads)),
            background: Mutex::default(),
        });
        engine.recover().await?;
        engine.in_background(expire_dedupe(engine.ingest.clone()));
        engine.in_background(audit::watch(Arc::downgrade(&engine)));
        Ok(engine)
    }

    /// Stops every pipeline at a commit and closes the store. What is asked
    /// afterwards is [`Error::Unavailable`].
    pub async fn close(&self) {
        let mut background = std::mem::take(&mut *lock(&self.background));
        background.shutdown().await;
        let mut stops = tokio::task::JoinSet::new();
        for pipeline in self.all() {
            let drain = self.drain;
            stops.spawn(async move { pipeline.close(drain).await });
        }
        while stops.join_next().await.is_some() {}
        let threads = lock(&self.threads).take();
        if let Some(threads) = threads {
            let _ = blocking(move || drop(threads)).await;
        }
    }

    /// Is everything that is deployed up again?
    #[must_use]
    pub fn readiness(&self) -> Readiness {
        let waiting: Vec<_> = self
            .all()
            .iter()
            .filter_map(|pipeline| Some(format!("{}: {}", pipeline.name, pipeline.unready()?)))
            .collect();
        if waiting.is_empty() { Readiness::Ready } else { Readiness::Waiting(waiting) }
    }

    /// The wall clock, for records that come without a time.
    #[must_use]
    pub fn wall(&self) -> EventTime {
        self.clock.now().wall
    }

    fn all(&self) -> Vec<Arc<Pipeline>> {
        self.pipelines.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    fn pipeline(&self, name: &PipelineName) -> Result<Arc<Pipeline>, Error> {
        let pipelines = self.pipelines.read().unwrap_or_else(PoisonError::into_inner);
        pipelines.get(name).cloned().ok_or_else(|| Error::not_found("pipeline", name))
    }

    /// The pipeline of this name, or a new one that is not deployed yet.
    fn pipeline_or_new(&self, name: &PipelineName) -> Arc<Pipeline> {
        let mut pipelines = self.pipelines.write().unwrap_or_else(PoisonError::into_inner);
        pipelines
            .entry(name.clone())
            .or_insert_with(|| Arc::new(Pipeline::new(name.clone())))
            .clone()
    }

    /// The pipeline that `find` finds, and the right to change it. One that was
    /// deleted while its turn came is looked for anew: two entries of one name would
    /// write to one domain.
    async fn to_change(
        &self,
        find: impl Fn() -> Result<Arc<Pipeline>, Error>,
    ) -> Result<(Arc<Pipeline>, tokio::sync::OwnedMutexGuard<()>), Error> {
        loop {
            let pipeline = find()?;
            let change = pipeline.change.clone().lock_owned().await;
            if self.pipeline(&pipeline.name).is_ok_and(|now| Arc::ptr_eq(&now, &pipeline)) {
                return Ok((pipeline, change));
            }
        }
    }

    /// Drops the entry of a pipeline that is not deployed.
    fn forget(&self, name: &PipelineName) {
        self.pipelines.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    fn workers(&self) -> &tokio::runtime::Handle {
        &self.workers.1
    }

    /// Lets work run until it ends or the engine closes.
    fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut background = lock(&self.background);
        while background.try_join_next().is_some() {}
        background.spawn(work);
    }
}

async fn expire_dedupe(ingest: Arc<Ingest>) {
    let mut ticks = tokio::time::interval(Duration::from_secs(300));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let ingest = ingest.clone();
        if let Ok(Err(error)) = blocking(move || ingest.expire()).await {
            tracing::warn!(%error, "old idempotency keys could not be removed");
        }
    }
}

/// Runs something that may block on a thread that may.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        if error.is_panic() {
            Error::Defect("a task panicked; the log has the place".into())
        } else {
            Error::Unavailable("the engine is closing".into())
        }
    })
}

/// Asks the store something that it answers by a callback.
async fn ask<T: Send + 'static, E: Send + 'static>(
    question: impl FnOnce(Box<dyn FnOnce(Result<T, E>) + Send>),
) -> Result<T, Error>
where
    Error: From<E>,
{
    let (sender, answer) = tokio::sync::oneshot::channel();
    question(Box::new(move |result| {
        let _ = sender.send(result);
    }));
    Ok(answer.await.map_err(|_| store_is_closed())??)
}

/// Commits rows outside of any running pipeline.
async fn commit(store: &Store, domain: DomainName, rows: Vec<Change>) -> Result<(), Error> {
    let commit = Commit { domain, epoch: Epoch(0), rows, appends: Vec::new() };
    ask(|done| store.submit(commit, done)).await.map(|_| ())
}

fn store_is_closed() -> Error {
    Error::Unavailable("the store is closed".into())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
