//! Pause, resume, stop, delete.
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

use std::sync::Arc;

use tokio::runtime::Handle;
use weir_core::ids::PipelineName;
use weir_store::DomainName;

use super::{
    Engine, Error, Summary, ask,
    pipeline::{Pipeline, PipelineStatus},
    record::{Kept, Wanted, encode},
};
use crate::domain::{DomainHandle, Status};

/// What becomes of the state of a deleted pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateAtDelete {
    /// It stays, for a pipeline of the same name.
    Keep,
    /// It is removed: state, positions, waiting events, dead letters.
    Drop,
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
                return Err(wrong(
                    &pipeline,
                    "only a loaded pipeline can be paused, `resume` loads it",
                ));
            };
            engine.want(&pipeline, Wanted::Paused).await?;
            handle.pause();
            pipeline.until(|status| *status == Status::Paused).await;
            engine.events.tell(
                &pipeline.name,
                "paused",
                "it takes nothing in and keeps everything",
            );
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
                engine.events.tell(
                    &pipeline.name,
                    "stopped",
                    "its last commit is made and it is unloaded",
                );
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
    pub async fn delete_pipeline(
        self: &Arc<Self>,
        name: &PipelineName,
        state: StateAtDelete,
    ) -> Result<(), Error> {
        let (engine, name) = (self.clone(), name.clone());
        owned(async move {
            let (pipeline, _change) = engine.to_change(|| engine.pipeline(&name)).await?;
            pipeline.deployed()?;
            if pipeline.status().0 != PipelineStatus::Stopped {
                return Err(wrong(&pipeline, "stop it first"));
            }
            ask(|done| engine.registry.delete_pipeline(&pipeline.name, done)).await?;
            let kept = match state {
                StateAtDelete::Keep => Ok("its state is kept for a pipeline of the same name"),
                StateAtDelete::Drop => {
                    let domain = DomainName::of_pipeline(&pipeline.name);
                    ask(|done| engine.store.clear_domain(&domain, done))
                        .await
                        .map(|_| "its state is removed")
                }
            };
            // Only now may a new pipeline take the name.
            engine.forget(&pipeline.name);
            let kept = kept?;
            engine.events.tell(&pipeline.name, "deleted", kept);
            Ok(())
        })
        .await
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
        let (engine, name) = (self.clone(), name.clone());
        owned(async move {
            let (pipeline, _change) = engine.to_change(|| engine.pipeline(&name)).await?;
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
        Err(error) if error.is_panic() => {
            Err(Error::Defect("a task panicked; the log has the place".into()))
        }
        Err(_) => Err(Error::Unavailable("the engine is closing".into())),
    }
}

/// The handle of a pipeline that is up and well.
pub(super) fn running(pipeline: &Pipeline) -> Option<DomainHandle> {
    pipeline
        .handle()
        .filter(|handle| matches!(handle.health().status, Status::Running | Status::Paused))
}

fn wrong(pipeline: &Pipeline, help: &'static str) -> Error {
    Error::WrongStatus {
        pipeline: pipeline.name.to_string(),
        status: pipeline.status().0.as_str(),
        help,
    }
}
