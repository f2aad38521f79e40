//! Log lines.

use wasmtime::component::Resource;

use crate::{bindings::weir::operator::log, convert, data::Data, invocations::Handle};

impl log::Host for Data {
    fn write(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        self.log(None, convert::level(level), &message);
        Ok(())
    }

    fn write_for(
        &mut self,
        inv: Resource<Handle>,
        level: log::Level,
        message: String,
    ) -> wasmtime::Result<()> {
        let of = self.invocations.open(&inv).map(|open| open.id);
        self.log(of, convert::level(level), &message);
        Ok(())
    }
}
