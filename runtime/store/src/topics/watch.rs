//! Telling readers that records have come.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use weir_core::ids::TopicName;

type Wake = Arc<dyn Fn() + Send + Sync>;

/// Who wants to be told, by topic.
#[derive(Default)]
pub(crate) struct Watchers {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    wakes: HashMap<TopicName, Vec<(u64, Wake)>>,
    next: u64,
}

impl Watchers {
    pub(crate) fn add(self: &Arc<Self>, topic: &TopicName, wake: Wake) -> Watch {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.next += 1;
        let id = table.next;
        table.wakes.entry(topic.clone()).or_default().push((id, wake));
        Watch { watchers: Arc::downgrade(self), topic: topic.clone(), id }
    }

    /// Calls everybody who watches one of the topics.
    pub(crate) fn wake(&self, topics: &[TopicName]) {
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let wakes: Vec<Wake> = topics
            .iter()
            .filter_map(|topic| table.wakes.get(topic))
            .flatten()
            .map(|(_, wake)| wake.clone())
            .collect();
        drop(table);
        for wake in wakes {
            wake();
        }
    }
}

/// Keeps a wake-up registered; dropping it ends that. A call that is under way may
/// still come after.
#[must_use = "dropping it ends the watch"]
pub struct Watch {
    watchers: Weak<Watchers>,
    topic: TopicName,
    id: u64,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Some(watchers) = self.watchers.upgrade() else { return };
        let mut table = watchers.table.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wakes) = table.wakes.get_mut(&self.topic) {
            wakes.retain(|(id, _)| *id != self.id);
            if wakes.is_empty() {
                table.wakes.remove(&self.topic);
            }
        }
    }
}
