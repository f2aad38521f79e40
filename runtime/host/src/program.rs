//! A compiled component, tied to the imports: what instances are made of.

use std::sync::Arc;

use wasmtime::component::{Component, InstancePre};
use weir_core::{description::Face, ids::ModuleDigest};

use crate::{
    bindings::{
        exports::weir::operator::{descriptor, handler},
        transform,
    },
    data::Data,
    engine::{Engines, Kind},
};

/// A component that can be instantiated.
pub(crate) struct Program {
    pub(crate) engines: Arc<Engines>,
    pub(crate) kind: Kind,
    pub(crate) digest: ModuleDigest,
    pub(crate) pre: InstancePre<Data>,
    pub(crate) descriptor: descriptor::GuestIndices,
    pub(crate) transform: Option<transform::GuestIndices>,
    pub(crate) handler: Option<handler::GuestIndices>,
}

impl Program {
    /// # Errors
    /// If an import or an export has another type than the contract says.
    pub(crate) fn link(
        engines: &Arc<Engines>,
        kind: Kind,
        component: &Component,
        digest: ModuleDigest,
        faces: &[Face],
    ) -> wasmtime::Result<Self> {
        let pre = engines.lane(kind).linker.instantiate_pre(component)?;
        let has = |face| faces.contains(&face);
        Ok(Self {
            engines: Arc::clone(engines),
            kind,
            digest,
            descriptor: descriptor::GuestIndices::new(&pre)?,
            transform: has(Face::Transform)
                .then(|| transform::GuestIndices::new(&pre))
                .transpose()?,
            handler: has(Face::Handler).then(|| handler::GuestIndices::new(&pre)).transpose()?,
            pre,
        })
    }
}
