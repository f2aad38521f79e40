//! Dead letters: list and discard.

use std::sync::Arc;

use weir_core::{
    dead_letter::DeadLetter,
    ids::{InvocationId, NodeId, PipelineName},
    rows,
};
use weir_store::{Change, DomainName, Page, Store};

use super::{
    Engine, Error, ask,
    audit::unreadable,
    blocking, commit,
    lifecycle::{owned, running},
};

/// The most bytes of a page; one dead letter may be larger.
const PAGE_BYTES: usize = 4 << 20;

/// Which dead letters are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadLetterQuery {
    /// Only of this operator.
    pub operator: Option<String>,
    /// The last one of the page before.
    pub after: Option<(String, InvocationId)>,
    /// At most so many.
    pub limit: usize,
}

/// A page of dead letters: by operator, the oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeadLetters {
    /// The page.
    pub letters: Vec<DeadLetter>,
    /// Are there more?
    pub more: bool,
}

impl Engine {
    /// A page of the dead letters of a pipeline, as of its last commit.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the pipeline or operator, or of the store.
    pub async fn dead_letters(
        &self,
        name: &PipelineName,
        query: DeadLetterQuery,
    ) -> Result<DeadLetters, Error> {
        let plan = self.pipeline(name)?.deployed()?.plan;
        if let Some(operator) = &query.operator
            && plan.is_some_and(|plan| plan.node(operator).is_none())
        {
            return Err(Error::not_found("operator", operator));
        }
        let (store, domain) = (self.store.clone(), DomainName::of_pipeline(name));
        blocking(move || read(&store, &domain, &query)).await?
    }

    /// Discards a dead letter: it is gone for good, and a key that it blocks goes
    /// on. The answer comes when that is durable.
    ///
    /// # Errors
    /// [`Error::NotFound`], or of the store.
    pub async fn discard(
        self: &Arc<Self>,
        name: &PipelineName,
        id: InvocationId,
    ) -> Result<(), Error> {
        let (engine, name) = (self.clone(), name.clone());
        owned(async move {
            let (pipeline, _change) = engine.to_change(|| engine.pipeline(&name)).await?;
            pipeline.deployed()?;
            let (store, domain) = (engine.store.clone(), DomainName::of_pipeline(&pipeline.name));
            let found = blocking(move || find(&store, &domain, id)).await??;
            let letter = found.ok_or_else(|| Error::not_found("dead letter", id))?;
            match running(&pipeline) {
                Some(handle) if handle.plan().node(letter.operator.as_str()).is_some() => {
                    ask(|done| handle.discard(&letter.operator, id, done)).await?;
                }
                // Of an operator that is in the file no more.
                Some(handle) => {
                    let change =
                        Change { key: rows::dead_letter_key(&letter.operator, id), value: None };
                    ask(|done| handle.amend(vec![change], done)).await?;
                }
                None => {
                    let domain = DomainName::of_pipeline(&pipeline.name);
                    let mut rows = vec![Change {
                        key: rows::dead_letter_key(&letter.operator, id),
                        value: None,
                    }];
                    if letter.blocks_key {
                        rows.extend(rows::unblock(&letter));
                    }
                    commit(&engine.store, domain, rows).await?;
                }
            }
            let text = format!(
                "dead letter {id} of operator `{}` ({}) was discarded",
                letter.operator, letter.failure.code
            );
            engine.events.tell(&pipeline.name, "discarded", text);
            Ok(())
        })
        .await
    }
}

fn read(store: &Store, domain: &DomainName, query: &DeadLetterQuery) -> Result<DeadLetters, Error> {
    let mut range = match &query.operator {
        Some(operator) => rows::dead_letters_of(&id_of(operator)?),
        None => rows::dead_letters(),
    };
    if let Some((operator, id)) = &query.after {
        let behind = [rows::dead_letter_key(&id_of(operator)?, *id).as_slice(), &[0]].concat();
        range.from = range.from.max(behind);
    }
    let page = Page { rows: query.limit, bytes: PAGE_BYTES };
    let found = store.scan(domain, &range.from, range.to.as_deref(), page)?;
    let letters = found.rows.iter().map(|(_, value)| rows::dead_letter(value));
    Ok(DeadLetters {
        letters: letters.collect::<Result<_, _>>().map_err(unreadable)?,
        more: found.next.is_some(),
    })
}

/// Looks in every operator that has dead letters.
fn find(store: &Store, domain: &DomainName, id: InvocationId) -> Result<Option<DeadLetter>, Error> {
    let mut range = rows::dead_letters();
    let one = Page { rows: 1, ..Page::default() };
    loop {
        let mut found = store.scan(domain, &range.from, range.to.as_deref(), one)?;
        let Some((key, _)) = found.rows.pop() else { return Ok(None) };
        let Some((_, operator)) = rows::owner_of(&key) else { return Ok(None) };
        let operator = id_of(operator)?;
        if let Some(value) = store.get(domain, &rows::dead_letter_key(&operator, id))? {
            return rows::dead_letter(&value).map(Some).map_err(unreadable);
        }
        match rows::dead_letters_of(&operator).to {
            Some(next) => range.from = next,
            None => return Ok(None),
        }
    }
}

fn id_of(operator: &str) -> Result<NodeId, Error> {
    operator.parse().map_err(|e: weir_core::ids::InvalidName| Error::BadRequest(e.to_string()))
}
