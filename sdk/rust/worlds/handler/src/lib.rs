//! The world `handler-operator`, as generated from the WIT: part of `weir-sdk`.
#![allow(missing_docs, clippy::all)]

wit_bindgen::generate!({
    path: "../../wit",
    world: "handler-operator",
    pub_export_macro: true,
    export_macro_name: "export",
    default_bindings_module: "weir_sdk_handler_world",
});

pub use wit_bindgen;
