//! The task of calls and sends from outside: wraps [`weir_core::ingress::Ingress`].

use std::{collections::HashMap, sync::Arc};

use weir_core::{
    clock::Now,
    ids::{Epoch, InvocationId},
    ingress::{Ingress, IngressAction, IngressRequest},
    message::{Address, Stamped},
};

use crate::{
    actor::{Actor, Next, Signal},
    coordinator::{Control, Event},
    domain::Respond,
    mailbox::Mailbox,
    network::Network,
    shared::Shared,
};

/// What outsiders want.
pub(crate) enum Command {
    /// A call or a send.
    Request(IngressRequest, Respond),
    /// The outcome of an earlier one.
    Attach(u64, InvocationId, Respond),
    /// An asker has gone.
    Detach(u64),
    /// Cancel an earlier one; answered when that is decided.
    Cancel(u64, InvocationId, Respond),
    /// How far is it?
    Look(u64, InvocationId, Respond),
}

/// The actor.
pub(crate) struct IngressTask {
    pub(crate) name: String,
    pub(crate) signal: Arc<Signal>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) network: Arc<Network>,
    pub(crate) control: Mailbox<Control>,
    pub(crate) inbox: Mailbox<Stamped>,
    pub(crate) commands: Mailbox<Command>,
    pub(crate) coordinator: Mailbox<Event>,
    pub(crate) epoch: Epoch,
    pub(crate) ingress: Ingress,
    pub(crate) askers: HashMap<u64, Respond>,
    pub(crate) started: bool,
}

impl IngressTask {
    fn carry_out(&mut self, actions: Vec<IngressAction>) {
        for action in actions {
            match action {
                IngressAction::Post(message) => self.network.post(Address::INGRESS, message),
                IngressAction::Respond { ticket, response } => {
                    if let Some(respond) = self.askers.remove(&ticket) {
                        respond(response);
                    }
                }
            }
        }
    }

    fn on_command(&mut self, now: Now, command: Command) {
        let actions = match command {
            Command::Request(request, respond) => {
                self.askers.insert(request.ticket, respond);
                self.ingress.on_request(now, request)
            }
            Command::Attach(ticket, invocation, respond) => {
                self.askers.insert(ticket, respond);
                self.ingress.attach(now, ticket, invocation)
            }
            Command::Detach(ticket) => {
                self.askers.remove(&ticket);
                self.ingress.detach(ticket);
                Vec::new()
            }
            Command::Cancel(ticket, invocation, respond) => {
                self.askers.insert(ticket, respond);
                self.ingress.cancel(now, ticket, invocation)
            }
            Command::Look(ticket, invocation, respond) => {
                self.askers.insert(ticket, respond);
                self.ingress.look(now, ticket, invocation)
            }
        };
        self.carry_out(actions);
    }
}

/// Whoever asks from now on, or has asked and was not heard, gets no answer.
impl Drop for IngressTask {
    fn drop(&mut self) {
        self.commands.close();
    }
}

impl Actor for IngressTask {
    fn name(&self) -> &str {
        &self.name
    }

    fn signal(&self) -> &Arc<Signal> {
        &self.signal
    }

    fn step(&mut self, now: Now) -> Next {
        if !self.started {
            self.started = true;
            let actions = self.ingress.start(now);
            self.carry_out(actions);
        }
        while let Some(control) = self.control.pop() {
            let actions = match control {
                Control::Barrier(next) => {
                    let (rows, actions) = self.ingress.on_barrier(now, next);
                    self.epoch = next;
                    self.coordinator.post(Event::Delta { rows, appends: Vec::new() });
                    actions
                }
                Control::Committed(epoch) => self.ingress.on_committed(now, epoch),
                Control::Discard { ticket, .. } => {
                    self.coordinator.post(Event::Discarded { ticket, epoch: None });
                    continue;
                }
                #[cfg(feature = "faults")]
                Control::Miscount { .. } => continue,
                Control::Shutdown => {
                    self.coordinator.post(Event::Gone);
                    return Next::Done;
                }
            };
            self.carry_out(actions);
        }
        let limit = self.shared.tuning.messages_per_step;
        let mut messages = Vec::new();
        self.inbox.take(limit, &mut messages);
        for message in messages {
            let actions = self.ingress.on_message(now, message);
            self.carry_out(actions);
        }
        let mut commands = Vec::new();
        self.commands.take(limit, &mut commands);
        for command in commands {
            self.on_command(now, command);
        }
        if self.ingress.next_time(now).is_some_and(|at| at <= now.monotonic) {
            let actions = self.ingress.on_time(now);
            self.carry_out(actions);
        }
        if self.ingress.is_dirty() {
            self.shared.touch(self.epoch);
        }
        if !self.inbox.is_empty() || !self.commands.is_empty() {
            return Next::Again;
        }
        match self.ingress.next_time(now) {
            Some(at) if at <= now.monotonic => Next::Again,
            Some(at) => Next::At(at),
            None => Next::Idle,
        }
    }
}
