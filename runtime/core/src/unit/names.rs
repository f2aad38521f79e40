//! From names to indexes and back: guests and rows speak of names, running machines
//! of indexes.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;

use super::{config::Target, journal::Made};
use crate::{
    failure::Failure,
    ids::{KeyGroup, NodeId},
    message::Address,
    rows::{MadeRow, Place, RowError, Table},
};

/// The names of a running plan.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    nodes: Arc<[NodeId]>,
    targets: Arc<HashMap<String, Target>>,
}

impl Names {
    pub(crate) fn new(nodes: Arc<[NodeId]>, targets: Arc<HashMap<String, Target>>) -> Self {
        Self { nodes, targets }
    }

    /// The name of a node; empty if there is none.
    pub(crate) fn node(&self, index: u16) -> &str {
        self.nodes.get(usize::from(index)).map_or("", NodeId::as_str)
    }

    /// The index of a node.
    pub(crate) fn index(&self, name: &str) -> Option<u16> {
        self.nodes.iter().position(|id| id.as_str() == name).map(|index| index as u16)
    }

    /// Finds where a call or send goes.
    ///
    /// # Errors
    /// The terminal failure that the guest sees.
    pub(crate) fn resolve(
        &self,
        operator: &str,
        handler: &str,
        key: Option<&Bytes>,
        value: &[u8],
    ) -> Result<Made, Failure> {
        let target = self.targets.get(operator).ok_or_else(|| {
            Failure::terminal(
                "unknown-operator",
                format!("the pipeline has no operator `{operator}` that can be called"),
            )
        })?;
        let index = target
            .description
            .handler(handler)
            .filter(|index| target.description.handlers[*index as usize].takes_calls)
            .ok_or_else(|| {
                Failure::terminal(
                    "unknown-handler",
                    format!("operator `{operator}` has no handler `{handler}` that takes calls"),
                )
            })?;
        let key = match (key, &target.key) {
            (Some(key), _) => key.clone(),
            (None, Some(pointer)) => match pointer.scan(value).key() {
                Ok(key) => Bytes::copy_from_slice(key),
                Err(absence) => {
                    let message = format!(
                        "no key was given, and at `{pointer}`, where operator `{operator}` looks for one: {absence}"
                    );
                    return Err(Failure::terminal("no-key", message));
                }
            },
            (None, None) => {
                let message = format!(
                    "no key was given, and operator `{operator}` has no `key:` to take one from the value"
                );
                return Err(Failure::terminal("no-key", message));
            }
        };
        Ok(Made {
            to: Address { node: target.node, group: KeyGroup::of(&key) },
            handler: index,
            key,
        })
    }

    /// An address as a row holds it.
    pub(crate) fn place(&self, address: Address) -> Place {
        match address.node {
            Address::INGRESS => Place::Ingress,
            node => Place::Node { id: self.node(node).into(), group: address.group.0 },
        }
    }

    /// And back; `None`: there is no such node in this plan.
    pub(crate) fn address(&self, place: &Place) -> Option<Address> {
        match place {
            Place::Ingress => Some(Address::ingress()),
            Place::Node { id, group } => {
                Some(Address { node: self.index(id)?, group: KeyGroup(*group % KeyGroup::COUNT) })
            }
        }
    }

    /// A destination as a row holds it.
    pub(crate) fn made_row(&self, made: &Made) -> MadeRow {
        MadeRow {
            operator: self.node(made.to.node).into(),
            handler: self.handler(made).into(),
            key: made.key.clone(),
        }
    }

    /// And back.
    ///
    /// # Errors
    /// If this plan has no such operator or handler.
    pub(crate) fn made(&self, table: Table, row: &MadeRow) -> Result<Made, RowError> {
        self.resolve(&row.operator, &row.handler, Some(&row.key), &[])
            .map_err(|failure| RowError { table: table.name(), problem: failure.message })
    }

    /// `operator.handler key`, for people.
    pub(crate) fn shown(&self, made: &Made) -> String {
        format!(
            "{}.{} {}",
            self.node(made.to.node),
            self.handler(made),
            String::from_utf8_lossy(&made.key)
        )
    }

    fn handler(&self, made: &Made) -> &str {
        let target = self.targets.get(self.node(made.to.node));
        let handler =
            target.and_then(|target| target.description.handlers.get(made.handler as usize));
        handler.map_or("", |handler| handler.name.as_str())
    }
}
