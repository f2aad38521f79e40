//! The world `transform-operator`, as generated from the WIT: part of `weir-sdk`.
//!
//! It is a crate of its own since one crate cannot export the macros of two worlds.
//! What both worlds import is taken from the other one.
#![allow(missing_docs, clippy::all)]

wit_bindgen::generate!({
    path: "../../wit",
    world: "transform-operator",
    pub_export_macro: true,
    export_macro_name: "export",
    default_bindings_module: "weir_sdk_transform_world",
    with: {
        "weir:operator/types@0.1.0": weir_sdk_handler_world::weir::operator::types,
        "weir:operator/invocations@0.1.0": weir_sdk_handler_world::weir::operator::invocations,
        "weir:operator/context@0.1.0": weir_sdk_handler_world::weir::operator::context,
        "weir:operator/log@0.1.0": weir_sdk_handler_world::weir::operator::log,
    },
});

pub use wit_bindgen;
