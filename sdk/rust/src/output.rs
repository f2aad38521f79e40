//! Named ports that events are given on to.

use std::marker::PhantomData;

use crate::{Encode, Result, Schema, Scope, describe::Port, scope::Meta};

/// An output port for values of one type. Declared by
/// [`transform!`](crate::transform) and [`handlers!`](crate::handlers); the name
/// of the constant in lower case is the name of the port.
pub struct Output<T> {
    port: u8,
    of: PhantomData<fn(&T)>,
}

impl<T> Output<T> {
    #[doc(hidden)]
    #[must_use]
    pub const fn at(port: u32) -> Self {
        assert!(port < 256, "a module has at most 256 outputs");
        Self { port: port as u8, of: PhantomData }
    }
}

impl<T: Encode> Output<T> {
    /// Gives a value on, with the key and the timestamp of what is in hand. It
    /// leaves only if the handler, or the event's function, returns ok.
    ///
    /// # Errors
    /// `invalid-output` (terminal) for a value that JSON cannot hold.
    #[inline]
    pub fn emit(self, scope: &impl Scope, value: &T) -> Result<()> {
        scope.emit(self.port, Meta::default(), |to| value.encode(to))
    }

    /// Gives a value on under another key or timestamp, or with headers.
    ///
    /// # Errors
    /// As [`Output::emit`].
    pub fn emit_with(self, scope: &impl Scope, value: &T, meta: Meta) -> Result<()> {
        scope.emit(self.port, meta, |to| value.encode(to))
    }
}

impl<T: Schema> Output<T> {
    #[doc(hidden)]
    #[must_use]
    pub fn describe(name: String, doc: String) -> Port {
        Port { name, doc, schema: T::schema() }
    }
}

impl<T> Clone for Output<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Output<T> {}

impl<T> std::fmt::Debug for Output<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").field("port", &self.port).finish()
    }
}
