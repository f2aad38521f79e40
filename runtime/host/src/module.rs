//! A module that is fit to run.

use std::{sync::Arc, time::Duration};

use weir_core::{
    description::Description,
    failure::Trap,
    guest::{Effects, Guest, GuestFactory},
    ids::ModuleDigest,
};

use crate::{artifact::Facts, instance::Instance, limits::Limits, program::Program};

/// A compiled module.
pub struct Module {
    pub(crate) program: Program,
    pub(crate) facts: Facts,
    pub(crate) description: Arc<Description>,
    pub(crate) cached: bool,
}

/// What an operator gives its instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorSettings {
    /// The operator's `config:` as JSON text; `null` if it has none.
    pub config: String,
    /// What an instance may use.
    pub limits: Limits,
}

impl Default for OperatorSettings {
    fn default() -> Self {
        Self { config: "null".into(), limits: Limits::default() }
    }
}

impl Module {
    /// What it says of itself, and the faces that it has.
    #[must_use]
    pub fn description(&self) -> &Arc<Description> {
        &self.description
    }

    /// Digest of the bytes as uploaded.
    #[must_use]
    pub fn digest(&self) -> ModuleDigest {
        self.program.digest
    }

    /// How long it took to compile, whenever that was.
    #[must_use]
    pub fn compile_time(&self) -> Duration {
        Duration::from_millis(self.facts.compile_ms)
    }

    /// Was it found compiled?
    #[must_use]
    pub fn cached(&self) -> bool {
        self.cached
    }

    /// Bytes of memory that an instance takes before it has done anything.
    #[must_use]
    pub fn memory_floor(&self) -> u64 {
        self.facts.memory_floor
    }

    /// Makes instances for one operator.
    #[must_use]
    pub fn factory(self: &Arc<Self>, operator: OperatorSettings) -> Arc<dyn GuestFactory> {
        Arc::new(Factory {
            module: Arc::clone(self),
            config: operator.config.into(),
            limits: operator.limits,
        })
    }
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module")
            .field("digest", &self.digest())
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

struct Factory {
    module: Arc<Module>,
    config: Arc<str>,
    limits: Limits,
}

impl GuestFactory for Factory {
    fn description(&self) -> &Arc<Description> {
        &self.module.description
    }

    fn instantiate(&self, effects: Arc<dyn Effects>) -> Result<Box<dyn Guest>, Trap> {
        let instance = Instance::new(
            &self.module.program,
            Arc::clone(&self.module.description),
            effects,
            Arc::clone(&self.config),
            self.limits.clone(),
        )?;
        Ok(Box::new(instance))
    }
}
