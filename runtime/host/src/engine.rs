//! The two wasmtime engines and what they are set to.
//!
//! Support for component-model async makes every call of a host function dearer,
//! so modules without a handler run on an engine that has none of it. Everything
//! else is the same in both.

use wasmtime::{
    Config, Engine, Inlining, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
    WasmBacktraceDetails, component::Linker,
};

use crate::{data::Data, error::HostError, imports, ticker::Ticker};

/// Core instances per component instance that the pools are laid out for. A
/// component from Rust has 2 or 3; one with a language runtime up to 40.
const CORE_INSTANCES: u32 = 8;

/// Which engine a module runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// For modules that have only the `transform` face.
    Synchronous,
    /// For modules with a `handler` face.
    Concurrent,
}

/// An engine with the imports of operators.
pub(crate) struct Lane {
    pub(crate) engine: Engine,
    pub(crate) linker: Linker<Data>,
}

/// Both engines and their ticker.
pub(crate) struct Engines {
    synchronous: Lane,
    concurrent: Lane,
    pub(crate) ticker: Ticker,
}

impl Engines {
    pub(crate) fn new(instances: u32) -> Result<Self, HostError> {
        let failed = |e: wasmtime::Error| HostError::Engine(format!("{e:#}"));
        let synchronous = Lane::new(Kind::Synchronous, instances).map_err(failed)?;
        let concurrent = Lane::new(Kind::Concurrent, instances).map_err(failed)?;
        let ticker = Ticker::start(vec![synchronous.engine.clone(), concurrent.engine.clone()])
            .map_err(|e| HostError::Engine(format!("the ticker's thread cannot start: {e}")))?;
        Ok(Self { synchronous, concurrent, ticker })
    }

    pub(crate) fn lane(&self, kind: Kind) -> &Lane {
        match kind {
            Kind::Synchronous => &self.synchronous,
            Kind::Concurrent => &self.concurrent,
        }
    }
}

impl Lane {
    fn new(kind: Kind, instances: u32) -> wasmtime::Result<Self> {
        let engine = match Engine::new(&config(kind, Some(instances))) {
            Ok(engine) => engine,
            Err(error) => {
                // A limit on address space is the usual reason.
                tracing::warn!(%error, "address space is short: guests will run slower");
                Engine::new(&config(kind, None))?
            }
        };
        let mut linker = Linker::new(&engine);
        imports::link(&mut linker, kind)?;
        Ok(Self { engine, linker })
    }
}

fn config(kind: Kind, pool: Option<u32>) -> Config {
    let concurrent = kind == Kind::Concurrent;
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .wasm_component_model_async(concurrent)
        .concurrency_support(concurrent)
        .cranelift_opt_level(OptLevel::Speed)
        // Inlining makes the code of serde slower, not faster.
        .compiler_inlining(Inlining::No)
        .epoch_interruption(true)
        // The same input must give the same bytes on every machine.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable);
    match pool {
        Some(instances) => {
            config.allocation_strategy(InstanceAllocationStrategy::Pooling(layout(instances)));
        }
        // Where address space is short, memories take what they need and move
        // when they grow, at the price of a check at every access.
        None => {
            config.memory_reservation(0).memory_reservation_for_growth(1 << 20);
        }
    }
    config
}

/// The pool is address space only: what is not used costs nothing.
fn layout(instances: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(instances)
        .total_core_instances(instances.saturating_mul(CORE_INSTANCES))
        .max_core_instances_per_component(64)
        .total_memories(instances.saturating_mul(2))
        .max_memories_per_component(16)
        .total_tables(instances.saturating_mul(CORE_INSTANCES))
        .max_tables_per_component(64)
        .table_elements(100_000)
        .total_stacks(instances.saturating_mul(2));
    pool
}
