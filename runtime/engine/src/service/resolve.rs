//! Module references of a pipeline file -> modules of the registry.

use std::collections::HashMap;

use bytes::Bytes;
use weir_core::{
    graph::{Resolved, Unresolved},
    guest::{Effects, Loaded, LogLevel, Misuse, Packed, Scan, Subject},
    ids::{EventTime, InvocationId, ModuleName},
    plan::ModulePin,
    spec::ModuleRef,
};

use super::{Engine, Error, Module};

/// The modules of the registry at one moment.
pub(super) struct Catalog {
    modules: HashMap<ModuleName, Vec<Module>>,
}

impl Catalog {
    /// What a reference means: what it meant before, if `pins` say so, else the
    /// newest version that will do.
    pub(super) fn resolve(
        &self,
        reference: &ModuleRef,
        pins: &[ModulePin],
    ) -> Result<Resolved, Unresolved> {
        let Some(modules) = self.modules.get(&reference.name) else {
            let mut names: Vec<_> = self.modules.keys().map(ToString::to_string).collect();
            names.sort();
            return Err(Unresolved::Module(names));
        };
        let pinned = pins.iter().filter(|pin| pin.name == reference.name).map(|pin| &pin.version);
        let version = match reference.select(pinned) {
            Some(version) => Some(version),
            None => reference.select(modules.iter().map(|module| &module.version)),
        };
        let module =
            version.and_then(|version| modules.iter().find(|module| module.version == *version));
        let Some(module) = module else {
            return Err(Unresolved::Version(
                modules.iter().map(|module| module.version.clone()).collect(),
            ));
        };
        let pin = ModulePin {
            name: module.name.clone(),
            version: module.version.clone(),
            digest: module.digest,
        };
        Ok(Resolved { pin, description: module.description.clone() })
    }
}

impl Engine {
    /// All modules, to resolve references with.
    pub(super) fn catalog(&self) -> Result<Catalog, Error> {
        let mut modules: HashMap<ModuleName, Vec<Module>> = HashMap::new();
        for module in self.all_modules()? {
            modules.entry(module.name.clone()).or_default().push(module);
        }
        Ok(Catalog { modules })
    }
}

/// The surroundings of an instance that is only made to see whether it can be.
pub(super) struct NoEffects;

impl Effects for NoEffects {
    fn get(&self, _: Subject, _: u32) -> Result<Option<Bytes>, Misuse> {
        Ok(None)
    }
    fn put(&self, _: Subject, _: u32, _: Option<Bytes>) -> Result<(), Misuse> {
        Ok(())
    }
    fn map_get(&self, _: Subject, _: u32, _: &[u8]) -> Result<Option<Bytes>, Misuse> {
        Ok(None)
    }
    fn map_put(&self, _: Subject, _: u32, _: Bytes, _: Option<Bytes>) -> Result<(), Misuse> {
        Ok(())
    }
    fn map_scan(&self, _: Subject, _: u32, _: Scan) -> Result<Vec<(Bytes, Bytes)>, Misuse> {
        Ok(Vec::new())
    }
    fn load(&self, _: u32) -> Result<Loaded, Misuse> {
        Ok(Loaded::default())
    }
    fn store(&self, _: u32, _: &[u32], _: &Packed) -> Result<(), Misuse> {
        Ok(())
    }
    fn now(&self, _: InvocationId) -> EventTime {
        EventTime::default()
    }
    fn random(&self, _: InvocationId, length: u32) -> Vec<u8> {
        vec![0; length as usize]
    }
    fn log(&self, _: Option<InvocationId>, _: LogLevel, _: &str) {}
}
