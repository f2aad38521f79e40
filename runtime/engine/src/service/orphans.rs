//! What operators hold that a new revision has no more (rule P19).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use weir_core::{
    ids::{InvalidName, NodeId, PipelineName},
    plan::Plan,
    rows,
};
use weir_store::{Change, DomainName, Page, Store};

use super::{Engine, Error, blocking};

/// What to do with what removed operators hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnOrphans {
    /// The deploy is refused.
    #[default]
    Refuse,
    /// State, waiting events and dead letters of removed operators are removed.
    Drop,
}

/// An operator that is not in the file, and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// The operator.
    pub operator: NodeId,
    /// In words: `state`, `events that wait`, `sends that are not delivered`,
    /// `dead letters`.
    pub holds: Vec<&'static str>,
}

impl Orphan {
    /// For lists in a sentence.
    pub(super) fn line(&self) -> String {
        format!("`{}` ({})", self.operator, self.holds.join(", "))
    }
}

impl Engine {
    /// Operators that hold something and are not in the plan. Dead letters alone
    /// are nothing that a revision could lose: they stay listed.
    ///
    /// # Errors
    /// [`Error::OrphanState`] if there are some and they are to be refused.
    pub(super) async fn orphans(
        &self,
        name: &PipelineName,
        plan: &Arc<Plan>,
        on_orphans: OnOrphans,
    ) -> Result<Vec<Orphan>, Error> {
        let (store, name, plan) = (self.store.clone(), name.clone(), plan.clone());
        let found = blocking(move || find(&store, &name, &plan)).await??;
        if on_orphans == OnOrphans::Refuse && !found.is_empty() {
            return Err(Error::OrphanState { held: found });
        }
        Ok(found)
    }

    /// The removal of every row of these operators.
    pub(super) async fn rows_of(
        &self,
        name: &PipelineName,
        orphans: &[Orphan],
    ) -> Result<Vec<Change>, Error> {
        if orphans.is_empty() {
            return Ok(Vec::new());
        }
        let domain = DomainName::of_pipeline(name);
        let ids: Vec<_> = orphans.iter().map(|orphan| orphan.operator.clone()).collect();
        let store = self.store.clone();
        blocking(move || removal(&store, &domain, &ids)).await?
    }
}

/// Looks for the owner of the first row after each owner's rows, table by table.
fn find(store: &Store, name: &PipelineName, plan: &Plan) -> Result<Vec<Orphan>, Error> {
    let domain = DomainName::of_pipeline(name);
    let mut held: BTreeMap<NodeId, Vec<&'static str>> = BTreeMap::new();
    let mut from = Vec::new();
    let one = Page { rows: 1, ..Page::default() };
    while let Some((key, _)) = store.scan(&domain, &from, None, one)?.rows.pop() {
        let table = key.first().copied().unwrap_or(u8::MAX);
        let Some((name, owner)) = rows::owner_of(&key) else {
            // A table without owners: on to the next one.
            match table.checked_add(1) {
                Some(next) => from = vec![next],
                None => break,
            }
            continue;
        };
        let holds = match name {
            "cells" => Some("state"),
            "waiting" | "journals" => Some("events that wait"),
            "outbox" => Some("sends that are not delivered"),
            "dead letters" => Some("dead letters"),
            _ => None,
        };
        if let Some(holds) = holds
            && !plan.operators().any(|(node, _)| node.id.as_str() == owner)
        {
            let owner = owner.parse().map_err(|e: InvalidName| Error::Defect(e.to_string()))?;
            let of_owner = held.entry(owner).or_default();
            if !of_owner.contains(&holds) {
                of_owner.push(holds);
            }
        }
        // Rows of one owner in one table: table, name, 0, ..
        from = [&[table], owner.as_bytes(), &[1]].concat();
    }
    let orphans = held.into_iter().map(|(operator, holds)| Orphan { operator, holds });
    Ok(orphans.filter(|orphan| orphan.holds != ["dead letters"]).collect())
}

fn removal(store: &Store, domain: &DomainName, ids: &[NodeId]) -> Result<Vec<Change>, Error> {
    let mut keys = BTreeSet::new();
    for range in ids.iter().flat_map(rows::operator_ranges) {
        for row in store.scan_all(domain, &range.from, range.to.as_deref()) {
            keys.insert(row?.0);
        }
    }
    // What its neighbours have counted of the edges to it and from it: an operator of
    // the same name begins at zero at both ends.
    for range in rows::edges() {
        for row in store.scan_all(domain, &range.from, range.to.as_deref()) {
            let (key, _) = row?;
            for id in ids {
                if rows::is_of_edge_at(&key, id).map_err(super::audit::unreadable)? {
                    keys.insert(key);
                    break;
                }
            }
        }
    }
    Ok(keys.into_iter().map(|key| Change { key, value: None }).collect())
}
