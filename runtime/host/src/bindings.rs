//! The operator contract as Rust: everything that is generated from the WIT.
//!
//! One world of all the interfaces that this version runs, and a second one for
//! `transform`, where a batch is lent to the guest rather than given. A component
//! has some of the interfaces; each is bound by itself, never a world as a whole.

wasmtime::component::bindgen!({
    path: "../../wit",
    inline: "
        package weir:host;

        world host {
            import weir:operator/context@0.1.0;
            import weir:operator/log@0.1.0;
            import weir:operator/state@0.1.0;
            import weir:operator/batch-state@0.1.0;
            import weir:operator/calls@0.1.0;
            import weir:operator/call-futures@0.1.0;
            export weir:operator/descriptor@0.1.0;
            export weir:operator/handler@0.1.0;
        }
    ",
    world: "weir:host/host",
    imports: {
        "weir:operator/call-futures.start": store | trappable,
        default: trappable,
    },
    with: { "weir:operator/invocations.invocation": crate::invocations::Handle },
});

/// The `transform` face.
pub(crate) mod transform {
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "
            package weir:host;

            world host {
                export weir:operator/transform@0.1.0;
            }
        ",
        world: "weir:host/host",
        with: { "weir:operator/types@0.1.0": super::weir::operator::types },
        ownership: Borrowing { duplicate_if_necessary: true },
    });

    pub(crate) use exports::weir::operator::transform::*;
}
