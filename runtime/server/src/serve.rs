//! `weir serve`: from a data directory to a listening server, and back.
//!
//! Order of the end, on SIGTERM or Ctrl-C: streams of events end, requests that are
//! being answered get up to [`REQUESTS`]; pipelines stop at a commit; the store
//! closes. A second signal ends at once, which loses nothing that was acknowledged.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context;
use tokio::{net::TcpListener, sync::watch};
use weir_engine::{
    service::{Config, Engine},
    tuning::Tuning,
};
use weir_host::Host;
use weir_store::{Options, RealDisk, ViewKind};

use crate::{
    clock::SystemClock,
    guests::HostModules,
    http::{self, listener::Bounded},
};

/// How long requests in flight may take once the server goes down.
const REQUESTS: Duration = Duration::from_secs(5);
/// The most open connections; more wait to be accepted. Fewer where the system gives
/// few files: half of them stay for the store.
const CONNECTIONS_MAX: usize = 4_096;
/// How many open files to ask the system for.
const FILES: u64 = 65_536;
/// How long each pipeline may take to stop.
const DRAIN: Duration = Duration::from_secs(10);

/// How many files may be open, after asking for as many as the system gives.
fn files_max() -> usize {
    let files = rlimit::increase_nofile_limit(FILES).unwrap_or_else(|error| {
        tracing::warn!(%error, "the limit of open files cannot be raised");
        256
    });
    usize::try_from(files).unwrap_or(usize::MAX)
}

/// Serves a data directory until the process is told to end. `listening` is called
/// with the address as soon as requests are taken.
///
/// # Errors
/// If the address or the directory cannot be used.
pub async fn serve(
    listen: SocketAddr,
    data: PathBuf,
    listening: impl FnOnce(SocketAddr),
) -> anyhow::Result<()> {
    std::fs::create_dir_all(&data)
        .with_context(|| format!("cannot make the data directory {}", data.display()))?;
    // Before anything is opened, so that a second server fails early and clearly.
    let listener =
        TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
    let address = listener.local_addr()?;
    let host = Host::new(weir_host::Options::new(data.join("cache")))
        .context("cannot run WebAssembly here")?;
    let files = files_max();
    let connections = CONNECTIONS_MAX.min(files / 2);
    let mut store = Options::default();
    store.topic_files = store.topic_files.min(files / 4);
    let engine = Engine::open(Config {
        dir: data.clone(),
        disk: RealDisk::from_environment(),
        view: ViewKind::Sled,
        store,
        tuning: Tuning::default(),
        clock: Arc::new(SystemClock::new()),
        modules: Arc::new(HostModules::new(host)),
        drain: DRAIN,
        workers: None,
    })
    .await
    .with_context(|| format!("cannot open the data directory {}", data.display()))?;
    let (close, closing) = watch::channel(false);
    let router = http::router(engine.clone(), closing.clone());
    listening(address);
    tracing::info!(%address, data = %data.display(), "serving");

    let mut stopped = closing.clone();
    let mut server = tokio::spawn(
        axum::serve(Bounded::new(listener, connections), router)
            .with_graceful_shutdown(async move {
                let _ = stopped.wait_for(|closing| *closing).await;
            })
            .into_future(),
    );
    let ended = tokio::select! {
        ended = &mut server => Some(ended),
        () = told_to_end() => None,
    };
    tracing::info!("going down: pipelines stop at a commit");
    let _ = close.send(true);
    let drain = async {
        if ended.is_none() && tokio::time::timeout(REQUESTS, &mut server).await.is_err() {
            server.abort();
        }
        engine.close().await;
    };
    tokio::select! {
        () = drain => tracing::info!("closed"),
        () = told_to_end() => tracing::warn!("told to end again: not waiting for the last commits"),
    }
    if let Some(ended) = ended {
        ended.context("the server was lost")?.context("the server stopped")?;
    }
    Ok(())
}

/// Waits for SIGTERM or Ctrl-C.
pub(crate) async fn told_to_end() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
