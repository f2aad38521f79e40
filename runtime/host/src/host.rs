//! The host: from bytes to a module, or to the reasons why not.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Instant,
};

use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use weir_core::{description::Face, ids::ModuleDigest};

use crate::{
    artifact::{self, Artifacts, Facts},
    componentize, describe,
    engine::{Engines, Kind},
    error::HostError,
    module::Module,
    program::Program,
    report::{Problem, Report},
    wasm::{self, Shape},
    world::World,
};

/// Bytes of the largest function that is compiled. The main loops of language
/// runtimes have a tenth of it.
const FUNCTION_MAX: usize = 1 << 20;

/// How the host is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of compiled modules; made if it is missing.
    pub cache_dir: PathBuf,
    /// Bytes of the largest module that is accepted. Default 64 MiB.
    pub module_bytes_max: u64,
    /// Bytes of memory that an operator may be given at most: a module that needs
    /// more to begin with is refused. Default 1 GiB.
    pub memory_max: u64,
    /// Instances that may run at once, per engine. It reserves about 8 GiB of
    /// address space each, and no memory. Default 1,000.
    pub instances: u32,
}

impl Options {
    /// The defaults, with this directory of compiled modules.
    #[must_use]
    pub fn new(cache_dir: impl Into<PathBuf>) -> Self {
        Self {
            cache_dir: cache_dir.into(),
            module_bytes_max: 64 << 20,
            memory_max: 1 << 30,
            instances: 1_000,
        }
    }
}

/// Checks, compiles and keeps modules. All of it may take seconds and blocks.
pub struct Host {
    options: Options,
    engines: Arc<Engines>,
    artifacts: Artifacts,
    /// Modules in use, so that the same bytes are loaded once.
    modules: Mutex<FxHashMap<ModuleDigest, Weak<Module>>>,
}

impl Host {
    /// Starts the engines and their ticker.
    ///
    /// # Errors
    /// If WebAssembly cannot be run here, or the directory cannot be used.
    pub fn new(options: Options) -> Result<Arc<Self>, HostError> {
        let engines = Arc::new(Engines::new(options.instances)?);
        let kinds = [Kind::Synchronous, Kind::Concurrent];
        let builds = kinds.iter().map(|kind| (*kind, &engines.lane(*kind).engine));
        let artifacts = Artifacts::open(&options.cache_dir, builds)?;
        Ok(Arc::new(Self { options, engines, artifacts, modules: Mutex::default() }))
    }

    /// Checks a module's bytes whole and names every problem. Runs nothing of it
    /// but `describe`, in an instance with limits and without any surroundings.
    #[must_use]
    pub fn check(&self, bytes: &[u8]) -> Report {
        let mut report = Report::new(bytes.len() as u64, digest(bytes));
        match self.examine(bytes, &mut report) {
            Ok(module) => {
                report.ok = true;
                report.describe(&module.description);
                report.memory_floor = Some(module.facts.memory_floor);
                report.compile_ms = Some(module.facts.compile_ms);
            }
            Err(problems) => report.problems = problems,
        }
        report
    }

    /// Gives the module of these bytes: one in use, one compiled before, or one
    /// compiled now.
    ///
    /// # Errors
    /// [`HostError::Refused`] if they are not fit to run.
    pub fn load(&self, bytes: &[u8]) -> Result<Arc<Module>, HostError> {
        let digest = digest(bytes);
        if let Some(module) = self.known(digest) {
            return Ok(module);
        }
        let mut report = Report::new(bytes.len() as u64, digest);
        self.examine(bytes, &mut report).map_err(|problems| {
            report.problems = problems;
            HostError::Refused(Box::new(report))
        })
    }

    fn examine(&self, bytes: &[u8], report: &mut Report) -> Result<Arc<Module>, Vec<Problem>> {
        if bytes.len() as u64 > self.options.module_bytes_max {
            return Err(vec![self.too_large(bytes.len())]);
        }
        let one = |problem| vec![problem];
        let component = match wasm::examine(bytes).map_err(one)? {
            Shape::Component => None,
            Shape::Core { metadata: true } => Some(componentize::componentize(bytes).map_err(one)?),
            Shape::Core { metadata: false } => return Err(vec![componentize::no_metadata()]),
        };
        let component = component.as_deref().unwrap_or(bytes);
        let world = World::of(component);
        report.faces = world.faces();
        report.imports = world.imports();
        let mut problems = world.problems();
        let largest = wasm::largest_function(component);
        if largest > FUNCTION_MAX {
            problems.push(function_too_large(largest));
        }
        let floor = wasm::memory_floor(component);
        report.memory_floor = Some(floor);
        if floor > self.options.memory_max {
            problems.push(self.memory_floor(floor));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        if let Some(module) = self.known(report.digest) {
            return Ok(module);
        }
        self.compile(component, &world, report)
    }

    /// A module in use, or one that was compiled before.
    fn known(&self, digest: ModuleDigest) -> Option<Arc<Module>> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = modules.get(&digest).and_then(Weak::upgrade) {
            return Some(module);
        }
        let (facts, code) = self.artifacts.find(digest)?;
        let component = artifact::load(&self.engines.lane(facts.kind).engine, &code);
        let program = component
            .and_then(|component| {
                Program::link(
                    &self.engines,
                    facts.kind,
                    &component,
                    digest,
                    &facts.description.faces,
                )
            })
            .inspect_err(
                |error| tracing::warn!(%digest, "a compiled module does not load: {error:#}"),
            )
            .ok()?;
        let module = Arc::new(Module {
            program,
            description: Arc::new(facts.description.clone()),
            facts,
            cached: true,
        });
        modules.retain(|_, module| module.strong_count() > 0);
        modules.insert(digest, Arc::downgrade(&module));
        Some(module)
    }

    fn compile(
        &self,
        component: &[u8],
        world: &World,
        report: &mut Report,
    ) -> Result<Arc<Module>, Vec<Problem>> {
        let digest = report.digest;
        let kind = world.kind();
        let engine = &self.engines.lane(kind).engine;
        #[expect(
            clippy::disallowed_methods,
            reason = "it is told to people; nothing depends on it"
        )]
        let begun = Instant::now();
        let code = catch_unwind(AssertUnwindSafe(|| engine.precompile_component(component)))
            .map_err(|_| vec![compile_failed("the compiler gave up on it")])?
            .map_err(|error| vec![compile_failed(&format!("{error:#}"))])?;
        let compile_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        report.compile_ms = Some(compile_ms);
        let compiled = artifact::load(engine, &code)
            .map_err(|error| vec![compile_failed(&format!("{error:#}"))])?;
        let faces: Vec<Face> = world.faces();
        let program = Program::link(&self.engines, kind, &compiled, digest, &faces)
            .map_err(|error| vec![other_types(&error)])?;
        let found = describe::describe(&program, faces, self.options.memory_max)?;
        let facts = Facts {
            kind,
            size: report.size,
            compile_ms,
            memory_floor: found.memory_floor,
            description: found.description,
        };
        if let Err(error) = self.artifacts.keep(digest, &facts, &code) {
            tracing::warn!(%digest, %error, "a compiled module cannot be kept; it will be compiled again");
        }
        let module = Arc::new(Module {
            program,
            description: Arc::new(facts.description.clone()),
            facts,
            cached: false,
        });
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        modules.insert(digest, Arc::downgrade(&module));
        Ok(module)
    }

    fn too_large(&self, size: usize) -> Problem {
        Problem::new(
            "too-large",
            format!("The file has {size} bytes; {} are allowed.", self.options.module_bytes_max),
            "Build it optimised and without debug information, or raise the host's limit.",
        )
    }

    fn memory_floor(&self, floor: u64) -> Problem {
        Problem::new(
            "memory-floor",
            format!(
                "It needs {floor} bytes of memory to begin with; an operator may have {} at most.",
                self.options.memory_max
            ),
            "Lower the initial memory in the linker's settings, or raise the host's limit.",
        )
    }
}

fn digest(bytes: &[u8]) -> ModuleDigest {
    ModuleDigest(Sha256::digest(bytes).into())
}

fn function_too_large(size: usize) -> Problem {
    Problem::new(
        "function-too-large",
        format!(
            "A function has {size} bytes; {FUNCTION_MAX} are allowed, since it would take too long to compile."
        ),
        "Split the function, or keep large tables in data rather than in code.",
    )
}

fn compile_failed(why: &str) -> Problem {
    Problem::new(
        "compile-failed",
        format!("It cannot be compiled: {why}."),
        "Turn off WebAssembly features that Weir does not run, such as threads, shared memory or garbage collection.",
    )
}

fn other_types(error: &wasmtime::Error) -> Problem {
    Problem::new(
        "wrong-world",
        format!("An interface has other types than weir:operator@0.1.0 says: {error:#}."),
        "Build it with the WIT files of this version of Weir, unchanged.",
    )
}

#[cfg(test)]
mod tests;
