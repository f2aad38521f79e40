//! Ingress from its rows.

use std::time::Duration;

use bytes::Bytes;

use super::{
    Idempotency, Ingress, KEPT,
    request::{Request, State},
};
use crate::{
    clock::Now,
    ids::{Epoch, EventTime},
    rows::{self, Reader, RequestRow, RequestStateRow, RowError, Table, bad_key},
};

impl Ingress {
    /// Takes all rows of [`rows::ingress_range`].
    ///
    /// # Errors
    /// If a row cannot be read, or names what this plan does not have.
    pub fn restore(&mut self, now: Now, rows: Vec<(Vec<u8>, Bytes)>) -> Result<(), RowError> {
        self.now = now;
        for (key, value) in rows {
            let id = || {
                let mut reader = Reader::new(&key, Table::Requests)?;
                let id = reader.invocation()?;
                reader.end()?;
                Some(id)
            };
            let id = id().ok_or_else(|| bad_key(Table::Requests))?;
            let row: RequestRow = rows::decode(Table::Requests, &value)?;
            let made = match (self.names.made(Table::Requests, &row.to), &row.state) {
                (Ok(made), _) => made,
                // Answered by an operator that is gone: of no more use.
                (Err(_), RequestStateRow::Answered { .. }) => {
                    self.removed.push(id);
                    continue;
                }
                (Err(error), RequestStateRow::Asked { .. }) => return Err(error),
            };
            let idempotency = row.idempotency.map(|(key, body)| Idempotency { key, body });
            if let Some(idempotency) = &idempotency {
                self.by_key.insert(idempotency.key.clone(), id);
            }
            let deadline = Duration::from_millis(row.deadline_ms);
            let (value, state) = match row.state {
                RequestStateRow::Asked { value } => (value, State::Asked),
                RequestStateRow::Answered { outcome, at } => {
                    self.expiries.insert((EventTime(at.0.saturating_add(KEPT)), id));
                    (Bytes::new(), State::Answered { outcome, at, epoch: Epoch(0) })
                }
            };
            let mut request =
                Request::new(made, row.kind, row.timestamp, value, deadline, idempotency);
            request.state = state;
            request.stored = true;
            self.requests.insert(id, request);
        }
        Ok(())
    }
}
