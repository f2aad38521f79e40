//! Calls of other operators, in both forms.

use futures::channel::oneshot;
use wasmtime::component::{Access, Accessor, FutureReader, HasSelf, Resource};
use weir_core::{failure::Failure, guest::GuestEvent};

use super::{VALUE_MAX, check_length};
use crate::{
    bindings::weir::operator::{call_futures, calls, types},
    convert,
    data::Data,
    invocations::{CALLS_OPEN_MAX, Handle, NoCall, Outcome},
    trap::Fault,
};

type Answer = Result<Vec<u8>, types::Failure>;

impl calls::Host for Data {}

impl<T: Send + 'static> calls::HostWithStore<T> for HasSelf<Data>
where
    HasSelf<Data>: wasmtime::component::HasData,
{
    async fn call(
        accessor: &Accessor<T, Self>,
        inv: Resource<Handle>,
        request: types::Request,
    ) -> wasmtime::Result<Answer> {
        let outcome = accessor.with(|mut access| access.get().call(&inv, request))?;
        Ok(answer(outcome).await)
    }
}

impl call_futures::Host for Data {}

impl<T: Send + 'static> call_futures::HostWithStore<T> for HasSelf<Data> {
    fn start(
        mut access: Access<T, Self>,
        inv: Resource<Handle>,
        request: types::Request,
    ) -> wasmtime::Result<FutureReader<Answer>> {
        let outcome = access.get().call(&inv, request)?;
        FutureReader::new(&mut access, async move { wasmtime::error::Ok(answer(outcome).await) })
    }
}

impl Data {
    /// Asks for a call and gives where its outcome will come.
    fn call(
        &mut self,
        inv: &Resource<Handle>,
        request: types::Request,
    ) -> Result<oneshot::Receiver<Outcome>, Fault> {
        let bytes = request.value.len()
            + request.key.as_ref().map_or(0, Vec::len)
            + request.operator.len()
            + request.handler.len();
        check_length("a request", bytes, VALUE_MAX)?;
        match self.invocations.call(inv) {
            Ok((invocation, call, outcome)) => {
                let request = convert::request(request);
                self.events.push(GuestEvent::Called { invocation, call, request });
                Ok(outcome)
            }
            Err(NoCall::Closed) => {
                let (sender, outcome) = oneshot::channel();
                // Its receiver is here.
                let _ = sender.send(Err(closed()));
                Ok(outcome)
            }
            Err(NoCall::TooMany) => Err(Fault::misuse(format!(
                "an invocation has more than {CALLS_OPEN_MAX} calls open at once"
            ))),
        }
    }
}

async fn answer(outcome: oneshot::Receiver<Outcome>) -> Answer {
    match outcome.await {
        Ok(Ok(value)) => Ok(value.into()),
        Ok(Err(failure)) => Err(convert::failure_for_guest(failure)),
        // Only if the instance's data goes away, and then nobody reads this.
        Err(oneshot::Canceled) => Err(convert::failure_for_guest(closed())),
    }
}

fn closed() -> Failure {
    Failure::terminal("closed", "the invocation has ended")
}
