//! The `transform` face: a batch in, a batch out.

use std::sync::Arc;

use weir_core::{
    batch::Batch,
    failure::{Failure, Trap, TrapKind},
    guest::Output,
};

use crate::{
    columns, convert,
    instance::{self, Instance},
    output,
    trap::Fault,
};

impl Instance {
    pub(crate) fn process_batch(
        &mut self,
        batch: &Arc<Batch>,
    ) -> Result<Result<Output, Failure>, Trap> {
        let Some(transform) = self.transform.clone() else {
            let fault =
                Fault { kind: TrapKind::Trap, message: "the module has no transform face".into() };
            return Err(fault.into_trap(None));
        };
        let headers = columns::headers(batch);
        let columns = columns::columns(batch, &headers);
        let kind = self.kind;
        self.stretch(None, |store, event_loop| {
            store.data_mut().batch = Some(Arc::clone(batch));
            let (given,) =
                instance::call(store, event_loop, kind, &transform.func_process(), (columns,))?;
            let data = store.data_mut();
            data.batch = None;
            match given {
                Ok(raw) => Ok(Ok(output::complete(
                    raw,
                    batch,
                    data.description.outputs.len(),
                    &data.limits,
                )?)),
                Err(failure) => Ok(Err(convert::failure(failure))),
            }
        })
    }
}

#[cfg(test)]
mod tests;
