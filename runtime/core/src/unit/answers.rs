//! Calls and sends that have ended here: a known id gives its recorded answer, until
//! a commit holds it where the call came from (rule P9).

use rustc_hash::FxHashMap;

use crate::{
    ids::{CallId, KeyGroup},
    message::{Address, Outcome},
    rows::{AnswerRow, Change, Place, Writer},
};

/// About what a row takes beside the reply.
const ROW_BYTES: usize = 64;

/// Answers by id.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    by_id: FxHashMap<CallId, Answer>,
    dirty: Vec<CallId>,
    removed: Vec<(KeyGroup, CallId)>,
    /// Bytes of the replies since the last barrier.
    delta: usize,
}

/// How a call or send ended.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) from: Address,
    pub(crate) group: KeyGroup,
    /// `None`: of a send.
    pub(crate) outcome: Option<Outcome>,
    stored: bool,
}

impl Answers {
    pub(crate) fn is_dirty(&self) -> bool {
        !self.dirty.is_empty() || !self.removed.is_empty()
    }

    /// About how many bytes there are to hand over.
    pub(crate) fn delta(&self) -> usize {
        self.delta
    }

    pub(crate) fn get(&self, id: CallId) -> Option<&Answer> {
        self.by_id.get(&id)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (CallId, &Answer)> {
        self.by_id.iter().map(|(id, answer)| (*id, answer))
    }

    /// One of this epoch.
    pub(crate) fn add(
        &mut self,
        group: KeyGroup,
        id: CallId,
        from: Address,
        outcome: Option<Outcome>,
    ) {
        self.dirty.push(id);
        self.delta += match &outcome {
            Some(Ok(reply)) => ROW_BYTES + reply.len(),
            _ => ROW_BYTES,
        };
        self.by_id.insert(id, Answer { from, group, outcome, stored: false });
    }

    /// One that a row holds.
    pub(crate) fn restore(
        &mut self,
        group: KeyGroup,
        id: CallId,
        from: Address,
        outcome: Option<Outcome>,
    ) {
        self.by_id.insert(id, Answer { from, group, outcome, stored: true });
    }

    /// It is needed no more.
    pub(crate) fn forget(&mut self, id: CallId) {
        if let Some(answer) = self.by_id.remove(&id)
            && answer.stored
        {
            self.removed.push((answer.group, id));
        }
    }

    /// What changed since the last barrier.
    pub(crate) fn take_changes(
        &mut self,
        writer: impl Fn() -> Writer,
        place: impl Fn(Address) -> Place,
        to: &mut Vec<Change>,
    ) {
        self.delta = 0;
        for (group, id) in self.removed.drain(..) {
            to.push(Change { key: writer().group(group).call(id).done(), value: None });
        }
        for id in self.dirty.drain(..) {
            if let Some(answer) = self.by_id.get_mut(&id) {
                answer.stored = true;
                let row = AnswerRow { from: place(answer.from), outcome: answer.outcome.clone() };
                let key = writer().group(answer.group).call(id).done();
                to.push(Change { key, value: Some(crate::rows::encode(&row)) });
            }
        }
    }
}
