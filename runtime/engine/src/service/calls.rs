//! Calls and sends from outside.
//!
//! An answer is given only when everything that it speaks of is durable. Whoever
//! goes away before that changes nothing: the request goes on, and with the
//! invocation's id, or the same idempotency key, the answer can be had later.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::oneshot;
use weir_core::{
    failure::Failure,
    ids::{InvocationId, PipelineName},
    ingress::{Idempotency, IngressKind, IngressRequest, RequestStatus, Response},
    plan::NodeKind,
};
use weir_store::StoreError;

use super::{
    Engine, Error,
    pipeline::{Pipeline, PipelineStatus},
};
use crate::{domain::DomainHandle, error::EngineError};

/// How long an outcome that should be there soon is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// A call of a handler, to be waited for.
pub type CallRequest = Request<Option<Duration>>;
/// A one-way send to a handler.
pub type SendRequest = Request<Delay>;

/// How long a send is held back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay(pub Option<Duration>);

/// What is asked of a handler.
#[derive(Clone, Debug)]
pub struct Request<T> {
    /// The pipeline.
    pub pipeline: PipelineName,
    /// Its operator.
    pub operator: String,
    /// The handler.
    pub handler: String,
    /// The key; without it the operator's pointer finds one in the value.
    pub key: Option<Bytes>,
    /// What the handler takes.
    pub value: Bytes,
    /// Makes a repeat known.
    pub idempotency: Option<Idempotency>,
    /// Of a call: its deadline. Of a send: its delay.
    pub when: T,
}

/// The reply to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// Which invocation gave it.
    pub invocation: InvocationId,
    /// What the handler gave.
    pub value: Bytes,
}

/// How far an invocation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvocationView {
    /// Which.
    pub invocation: InvocationId,
    /// Of which pipeline.
    pub pipeline: PipelineName,
    /// How far.
    pub status: RequestStatus,
    /// What came of it, if it has ended and an outcome is kept.
    pub outcome: Option<Result<Bytes, Failure>>,
}

impl Engine {
    /// Calls a handler and waits for the reply.
    ///
    /// # Errors
    /// [`Error::CallFailed`] if the handler gave none; [`Error::NoKey`],
    /// [`Error::NotFound`], [`Error::WrongStatus`], [`Error::IdempotencyConflict`].
    pub async fn call(&self, request: CallRequest) -> Result<Called, Error> {
        let operator = request.operator.clone();
        let deadline = request.when;
        match self.ask_ingress(request, IngressKind::Call { deadline }).await? {
            Response::Reply { invocation, value } => Ok(Called { invocation, value }),
            other => Err(refusal(&operator, other)),
        }
    }

    /// Gives a handler something to do; the answer says that it is held durably.
    ///
    /// # Errors
    /// As [`Engine::call`].
    pub async fn send(&self, mut request: SendRequest) -> Result<InvocationId, Error> {
        // Known for as long as if the asker had named it, so that he can ask for it.
        request.idempotency.get_or_insert_with(unnamed);
        let operator = request.operator.clone();
        let delay = request.when.0;
        match self.ask_ingress(request, IngressKind::Send { delay }).await? {
            Response::Accepted { invocation } => Ok(invocation),
            other => Err(refusal(&operator, other)),
        }
    }

    async fn ask_ingress<T>(
        &self,
        request: Request<T>,
        kind: IngressKind,
    ) -> Result<Response, Error> {
        let pipeline = self.pipeline(&request.pipeline)?;
        check_target(&pipeline, &request.operator, &request.handler)?;
        let handle = open(&pipeline)?;
        let (sender, answer) = oneshot::channel();
        let request = IngressRequest {
            ticket: 0,
            kind,
            operator: request.operator,
            handler: request.handler,
            key: request.key,
            value: request.value,
            idempotency: request.idempotency,
        };
        let respond = Box::new(move |response| {
            let _ = sender.send(response);
        });
        let ticket = handle.request(request, respond).map_err(|error| {
            match (error, handle.health().notice) {
                (EngineError::NotRunning, Some(notice))
                    if notice == StoreError::Full.to_string() =>
                {
                    StoreError::Full.into()
                }
                (EngineError::NotRunning, Some(notice)) => Error::Unavailable(notice),
                (error, _) => error.into(),
            }
        })?;
        wait(&handle, ticket, answer).await
    }

    /// How far an invocation that was begun from outside is; with `wait`, once it
    /// has ended or the time is up.
    ///
    /// # Errors
    /// [`Error::NotFound`]: never heard of, or forgotten.
    pub async fn invocation(
        &self,
        id: InvocationId,
        patience: Option<Duration>,
    ) -> Result<InvocationView, Error> {
        let pipeline = self.pipeline_of(id)?;
        let handle = open(&pipeline)?;
        let view = |status, outcome| InvocationView {
            invocation: id,
            pipeline: pipeline.name.clone(),
            status,
            outcome,
        };
        let status = look(&handle, id).await?;
        let has_outcome = match status {
            RequestStatus::Pending => patience.is_some(),
            RequestStatus::Replied | RequestStatus::Failed => true,
            RequestStatus::Sent(_) | RequestStatus::Cancelled => false,
        };
        if !has_outcome {
            return Ok(view(status, None));
        }
        let patience = patience.unwrap_or(PATIENCE);
        let outcome = asked(&handle, |respond| handle.attach(id, respond));
        match tokio::time::timeout(patience, outcome).await {
            Err(_) => Ok(view(status, None)),
            Ok(response) => match response? {
                Response::Reply { value, .. } => Ok(view(RequestStatus::Replied, Some(Ok(value)))),
                Response::Failed { failure, .. } => {
                    Ok(view(RequestStatus::Failed, Some(Err(failure))))
                }
                Response::Accepted { .. } => Ok(view(look(&handle, id).await?, None)),
                Response::Standing { .. }
                | Response::Conflict
                | Response::NoKey
                | Response::Unknown { .. } => Err(Error::not_found("invocation", id)),
            },
        }
    }

    /// Cancels an invocation that was begun from outside: one that has not begun
    /// never will, one that runs is rolled back, one that has ended counts. The answer
    /// comes when that is decided and durable, or after a while with how far it is.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::WrongStatus`].
    pub async fn cancel(&self, id: InvocationId) -> Result<InvocationView, Error> {
        let handle = open(&*self.pipeline_of(id)?)?;
        let decided = asked(&handle, |respond| handle.cancel(id, respond));
        match tokio::time::timeout(PATIENCE, decided).await {
            Ok(Ok(Response::Unknown { .. })) => Err(Error::not_found("invocation", id)),
            Ok(Err(error)) => Err(error),
            Ok(Ok(_)) | Err(_) => self.invocation(id, None).await,
        }
    }

    fn pipeline_of(&self, id: InvocationId) -> Result<Arc<Pipeline>, Error> {
        let incarnation = (id.0 >> 96) as u32;
        let found =
            self.all().into_iter().find(|pipeline| pipeline.incarnation() == Some(incarnation));
        found.ok_or_else(|| Error::not_found("invocation", id))
    }
}

/// How far is it?
async fn look(handle: &DomainHandle, id: InvocationId) -> Result<RequestStatus, Error> {
    match asked(handle, |respond| handle.look(id, respond)).await? {
        Response::Standing { status, .. } => Ok(status),
        _ => Err(Error::not_found("invocation", id)),
    }
}

/// Asks and waits for the answer.
async fn asked(
    handle: &DomainHandle,
    ask: impl FnOnce(crate::domain::Respond) -> u64,
) -> Result<Response, Error> {
    let (sender, answer) = oneshot::channel();
    let ticket = ask(Box::new(move |response| {
        let _ = sender.send(response);
    }));
    wait(handle, ticket, answer).await
}

/// Waits for an answer; whoever stops waiting is taken off the list.
async fn wait(
    handle: &DomainHandle,
    ticket: u64,
    answer: oneshot::Receiver<Response>,
) -> Result<Response, Error> {
    struct Waiting<'a>(&'a DomainHandle, Option<u64>);
    impl Drop for Waiting<'_> {
        fn drop(&mut self) {
            if let Some(ticket) = self.1 {
                self.0.detach(ticket);
            }
        }
    }
    let mut waiting = Waiting(handle, Some(ticket));
    let response = answer.await.map_err(|_| gone());
    waiting.1 = None;
    response
}

/// A name that no asker gives, and nothing gives twice.
fn unnamed() -> Idempotency {
    let random = || RandomState::new().hash_one(0);
    Idempotency { key: format!("unnamed {:016x}{:016x}", random(), random()), body: [0; 16] }
}

fn gone() -> Error {
    Error::Unavailable(
        "the pipeline was stopped before the answer was there; ask again with the same `Idempotency-Key`".into(),
    )
}

fn open(pipeline: &Pipeline) -> Result<DomainHandle, Error> {
    pipeline.deployed()?;
    let (status, _) = pipeline.status();
    match pipeline.handle() {
        Some(handle) if status == PipelineStatus::Running => Ok(handle),
        _ => Err(Error::WrongStatus {
            pipeline: pipeline.name.to_string(),
            status: status.as_str(),
            help: "it takes no calls until it runs; `resume` starts it",
        }),
    }
}

fn check_target(pipeline: &Pipeline, operator: &str, handler: &str) -> Result<(), Error> {
    let plan = pipeline.deployed()?.plan;
    let node = plan.as_ref().and_then(|plan| plan.node(operator));
    let Some(NodeKind::Operator(found)) = node.map(|node| &node.kind) else {
        return Err(Error::not_found("operator", operator));
    };
    match found.description.handlers.iter().find(|h| h.name == handler) {
        None => Err(Error::not_found("handler", format!("{operator}.{handler}"))),
        Some(handler) if !handler.takes_calls => Err(Error::BadRequest(format!(
            "handler `{}` of operator `{operator}` takes events only, no calls",
            handler.name
        ))),
        Some(_) => Ok(()),
    }
}

fn refusal(operator: &str, response: Response) -> Error {
    match response {
        Response::Failed { invocation, failure, .. } => {
            Error::CallFailed { failure, invocation: Some(invocation) }
        }
        Response::Conflict => Error::IdempotencyConflict,
        Response::NoKey => Error::NoKey { operator: operator.into() },
        Response::Unknown { message } => Error::BadRequest(message),
        Response::Accepted { .. } | Response::Reply { .. } | Response::Standing { .. } => {
            Error::Defect("the answer does not fit the question".into())
        }
    }
}
