//! Finds the mailbox of the task that owns a key group of a node.

use std::sync::{Arc, atomic::AtomicU32, atomic::Ordering};

use weir_core::{
    ids::KeyGroup,
    message::{Address, Message, Stamped},
};

use crate::{figures::Figures, mailbox::Mailbox};

/// All mailboxes of a pipeline.
pub(crate) struct Network {
    /// By node, then by shard; empty for nodes that get no messages.
    nodes: Vec<Vec<Mailbox<Stamped>>>,
    ingress: Mailbox<Stamped>,
    figures: Arc<Figures>,
    strays: AtomicU32,
}

impl Network {
    pub(crate) fn new(
        nodes: Vec<Vec<Mailbox<Stamped>>>,
        ingress: Mailbox<Stamped>,
        figures: Arc<Figures>,
    ) -> Self {
        Self { nodes, ingress, figures, strays: AtomicU32::new(0) }
    }

    /// Delivers a message. One for a node that no longer exists is dropped: its
    /// sender was told so when the pipeline file was applied.
    pub(crate) fn post(&self, from: u16, message: Stamped) {
        if let Message::Ask(_) = message.message {
            self.figures.called(from, message.to.node);
        }
        if message.to.node == Address::INGRESS {
            self.ingress.post(message);
            return;
        }
        match self.mailbox(message.to.node, message.to.group) {
            Some(mailbox) => mailbox.post(message),
            None => {
                if self.strays.fetch_add(1, Ordering::Relaxed) == 0 {
                    tracing::warn!(
                        node = message.to.node,
                        "a message for a node that takes none was dropped"
                    );
                }
            }
        }
    }

    /// Do messages wait anywhere?
    pub(crate) fn is_quiet(&self) -> bool {
        self.ingress.is_empty() && self.nodes.iter().flatten().all(Mailbox::is_empty)
    }

    fn mailbox(&self, node: u16, group: KeyGroup) -> Option<&Mailbox<Stamped>> {
        let shards = self.nodes.get(usize::from(node))?;
        shards.get(usize::from(group.shard(shards.len() as u16).0))
    }
}
