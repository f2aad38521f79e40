//! Guests in WebAssembly text, and surroundings for them.

mod fake;
mod guest;

pub(crate) use fake::Fake;
pub(crate) use guest::{describe, handler, handler_guest, module_of, transform_guest};

use std::sync::Arc;

use weir_core::{
    batch::{Batch, Event},
    guest::Guest,
};

use crate::{Host, Limits, Module, OperatorSettings, Options};

/// A host with a small pool and a directory of its own.
pub(crate) struct TestHost {
    pub(crate) host: Arc<Host>,
    pub(crate) dir: tempfile::TempDir,
}

impl TestHost {
    pub(crate) fn new() -> Self {
        Self::open(1 << 20)
    }

    pub(crate) fn open(module_bytes_max: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { host: open(dir.path(), module_bytes_max), dir }
    }

    pub(crate) fn load(&self, bytes: &[u8]) -> Arc<Module> {
        self.host.load(bytes).unwrap()
    }

    pub(crate) fn instance(&self, bytes: &[u8], limits: Limits) -> (Box<dyn Guest>, Arc<Fake>) {
        let fake = Arc::new(Fake::default());
        let operator = OperatorSettings { config: r#"{"a":1}"#.into(), limits };
        let guest = self.load(bytes).factory(operator).instantiate(fake.clone()).unwrap();
        (guest, fake)
    }
}

/// A host over a directory.
pub(crate) fn open(dir: &std::path::Path, module_bytes_max: u64) -> Arc<Host> {
    Host::new(Options {
        instances: 10,
        module_bytes_max,
        memory_max: 256 << 20,
        ..Options::new(dir)
    })
    .unwrap()
}

/// A batch of events, each a key (or none) and a value.
pub(crate) fn batch(events: &[(Option<&str>, &str)]) -> Arc<Batch> {
    let mut batch = Batch::default();
    for (i, (key, value)) in events.iter().enumerate() {
        batch.push(Event {
            timestamp: 1_000 + i as i64,
            key: key.map(str::as_bytes),
            value: value.as_bytes(),
            port: 0,
            origin: None,
        });
    }
    Arc::new(batch)
}
