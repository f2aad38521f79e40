//! The two macros that say what an operator is.

/// Declares an operator for the hot path: synchronous, one function per input.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
/// use weir_sdk::{CellOptions, Counter, Event, Result, Value};
///
/// weir_sdk::transform! {
///     /// Counts page views, and says when a visitor comes for the first time.
///     Views;
///
///     config Settings;
///     inputs {
///         /// Views; the key is the page.
///         views: view
///     }
///     outputs {
///         /// The count so far.
///         COUNTS: Count
///     }
///     cells {
///         COUNT: Counter,
///         LAST: Value<String> = CellOptions::new().version(2),
///     }
/// }
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Settings {
///     step: i64,
/// }
///
/// #[derive(Deserialize, JsonSchema)]
/// struct View<'a> {
///     visitor: &'a str,
/// }
///
/// #[derive(Serialize, JsonSchema)]
/// struct Count {
///     count: i64,
///     before: Option<String>,
/// }
///
/// fn view(event: &Event<'_>, view: View<'_>) -> Result<()> {
///     let count = COUNT.add(event, weir_sdk::config::<Settings>()?.step)?;
///     let before = LAST.get(event)?;
///     LAST.put(event, view.visitor.into())?;
///     COUNTS.emit(event, &Count { count, before })
/// }
/// # fn main() {}
/// ```
///
/// In order, and all but `inputs` may be left out:
///
/// - doc comment and name: the operator's description, and its type, which
///   [`testing::transform`](crate::testing::transform) takes.
/// - `config T`: the type of the operator's `config:`, for its schema.
/// - `inputs`: name of each port, and its function, a
///   `fn(&Event<'_>, T) -> Result<()>`, where `T` may borrow from the event.
/// - `outputs`: a constant of type [`Output`](crate::Output) each.
/// - `cells`: a constant each, of a type of [`cells`](crate::cells), with
///   [`CellOptions`](crate::CellOptions) after `=`.
///
/// Doc comments become the description's. It is written once, at the crate's root.
#[macro_export]
macro_rules! transform {
    (
        $(#[doc = $doc:literal])*
        $name:ident;
        $(config $config:ty;)?
        inputs { $($(#[doc = $in_doc:literal])* $input:ident: $function:path),+ $(,)? }
        $(outputs { $($(#[doc = $out_doc:literal])* $output:ident: $out:ty),* $(,)? })?
        $(cells { $($(#[doc = $cell_doc:literal])* $cell:ident: $kind:ty $(= $options:expr)?),* $(,)? })?
    ) => {
        $crate::__declare! {
            $(#[doc = $doc])* $name;
            outputs { $($($(#[doc = $out_doc])* $output: $out,)*)? }
            cells { $($($(#[doc = $cell_doc])* $cell: $kind,)*)? }
        }

        impl $crate::Transform for $name {
            fn describe() -> $crate::describe::Description {
                $crate::describe::Description {
                    doc: $crate::describe::doc(&[$($doc),*]),
                    inputs: ::std::vec![$($crate::describe::Port {
                        name: ::std::string::String::from(::std::stringify!($input)),
                        doc: $crate::describe::doc(&[$($in_doc),*]),
                        schema: $crate::describe::input_schema(&$function),
                    }),+],
                    outputs: $crate::__outputs!($($($(#[doc = $out_doc])* $output: $out,)*)?),
                    cells: $crate::__cells!($($($cell: $kind $(= $options)?,)*)?),
                    config_schema: $crate::__config!($($config)?),
                    ..::std::default::Default::default()
                }
            }

            #[inline]
            fn event(event: &$crate::Event<'_>) -> $crate::Result<()> {
                #[allow(non_camel_case_types)]
                enum Inputs { $($input),+ }
                let port = u32::from(event.port());
                $(if port == Inputs::$input as u32 {
                    return $function(event, $crate::Decode::decode(event.value(), event.utf8())?);
                })+
                ::std::result::Result::Err($crate::Failure::terminal("unknown-input", port))
            }
        }

        $crate::__export_transform!($name);
    };
}

/// Declares an operator with handlers: asynchronous, one function per handler.
///
/// ```
/// use weir_sdk::{Counter, Ctx, Failure, Result};
///
/// weir_sdk::handlers! {
///     /// Hands out tickets. The key is the show.
///     Tickets;
///
///     handlers {
///         /// Adds seats.
///         open(event, call),
///         /// Takes one seat, once it is paid for.
///         take(call),
///         /// How many are left.
///         left(read),
///     }
///     outputs {
///         /// Seats left, after each ticket.
///         LEFT: i64
///     }
///     cells {
///         SEATS: Counter
///     }
/// }
///
/// async fn open(ctx: &Ctx, seats: i64) -> Result<i64> {
///     SEATS.add(ctx, seats)
/// }
///
/// async fn take(ctx: &Ctx, customer: String) -> Result<i64> {
///     let left = SEATS.add(ctx, -1)?;
///     if left < 0 {
///         return Err(Failure::terminal("sold-out", "there is no seat left"));
///     }
///     let _: () = ctx.call("payment", "pay", &customer).key(&customer).await?;
///     LEFT.emit(ctx, &left)?;
///     Ok(left)
/// }
///
/// async fn left(ctx: &Ctx, _nothing: ()) -> Result<i64> {
///     SEATS.get(ctx)
/// }
/// # fn main() {}
/// ```
///
/// As for [`transform!`](crate::transform), but with `handlers` in place of `inputs`.
/// A handler has the name of its function, an
/// `async fn(&Ctx, T) -> Result<Reply>`, and in brackets what may begin it: `event`,
/// `call`, both, or `read` for a call that writes no state and therefore runs beside
/// an invocation that holds the key.
#[macro_export]
macro_rules! handlers {
    (
        $(#[doc = $doc:literal])*
        $name:ident;
        $(config $config:ty;)?
        handlers { $($(#[doc = $handler_doc:literal])* $handler:ident($($take:ident),+)),+ $(,)? }
        $(outputs { $($(#[doc = $out_doc:literal])* $output:ident: $out:ty),* $(,)? })?
        $(cells { $($(#[doc = $cell_doc:literal])* $cell:ident: $kind:ty $(= $options:expr)?),* $(,)? })?
    ) => {
        $crate::__declare! {
            $(#[doc = $doc])* $name;
            outputs { $($($(#[doc = $out_doc])* $output: $out,)*)? }
            cells { $($($(#[doc = $cell_doc])* $cell: $kind,)*)? }
        }

        impl $crate::Handlers for $name {
            fn describe() -> $crate::describe::Description {
                $crate::describe::Description {
                    doc: $crate::describe::doc(&[$($doc),*]),
                    handlers: ::std::vec![$({
                        let (input_schema, output_schema) = $crate::describe::handler_schemas(&$handler);
                        $crate::describe::Handler {
                            name: ::std::string::String::from(::std::stringify!($handler)),
                            doc: $crate::describe::doc(&[$($handler_doc),*]),
                            takes: $crate::describe::Takes::nothing()$(.$take())+,
                            input_schema,
                            output_schema,
                        }
                    }),+],
                    outputs: $crate::__outputs!($($($(#[doc = $out_doc])* $output: $out,)*)?),
                    cells: $crate::__cells!($($($cell: $kind $(= $options)?,)*)?),
                    config_schema: $crate::__config!($($config)?),
                    ..::std::default::Default::default()
                }
            }

            async fn handle(ctx: &$crate::Ctx, handler: u32, value: &[u8]) -> $crate::Result<::std::vec::Vec<u8>> {
                #[allow(non_camel_case_types)]
                enum Handlers { $($handler),+ }
                $(if handler == Handlers::$handler as u32 {
                    let reply = $handler(ctx, $crate::Decode::decode(value, false)?).await?;
                    return $crate::Encode::to_bytes(&reply);
                })+
                ::std::result::Result::Err($crate::Failure::terminal("unknown-handler", handler))
            }
        }

        $crate::__export_handlers!($name);
    };
}

/// The operator's type, its outputs and its cells as constants.
#[doc(hidden)]
#[macro_export]
macro_rules! __declare {
    (
        $(#[doc = $doc:literal])* $name:ident;
        outputs { $($(#[doc = $out_doc:literal])* $output:ident: $out:ty,)* }
        cells { $($(#[doc = $cell_doc:literal])* $cell:ident: $kind:ty,)* }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        // Their order is their index.
        #[allow(non_camel_case_types, dead_code, clippy::upper_case_acronyms)]
        enum __Outputs { $($output),* }
        #[allow(non_camel_case_types, dead_code, clippy::upper_case_acronyms)]
        enum __Cells { $($cell),* }

        $(
            $(#[doc = $out_doc])*
            const $output: $crate::Output<$out> = $crate::Output::at(__Outputs::$output as u32);
        )*
        $(
            $(#[doc = $cell_doc])*
            const $cell: $kind = <$kind>::at(__Cells::$cell as u32);
        )*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __outputs {
    ($($(#[doc = $doc:literal])* $output:ident: $out:ty,)*) => {
        ::std::vec![$($crate::Output::<$out>::describe(
            $crate::describe::name(::std::stringify!($output)),
            $crate::describe::doc(&[$($doc),*]),
        )),*]
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __cells {
    ($($cell:ident: $kind:ty $(= $options:expr)?,)*) => {
        ::std::vec![$(<$kind as $crate::cells::Declared>::describe(
            $crate::describe::name(::std::stringify!($cell)),
            $crate::__or_default!($($options)?),
        )),*]
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __or_default {
    () => {
        ::std::default::Default::default()
    };
    ($value:expr) => {
        $value
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __config {
    () => {
        ::std::option::Option::None
    };
    ($config:ty) => {
        <$config as $crate::Schema>::schema()
    };
}
