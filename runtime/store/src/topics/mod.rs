//! Topics: named, partitioned logs, written from durable commit records.
//!
//! The journal is the truth: topic files are synced only before a snapshot lets
//! journal go, and at open each is cut back to what the snapshot holds and written
//! again from the journal. So whatever a crash left behind that point is replaced.

pub(crate) mod block;
mod files;
mod info;
mod partition;
mod segment;
#[cfg(test)]
mod tests;
pub(crate) mod watch;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use weir_core::ids::{Offset, Partition as PartitionNumber, TopicName};

use self::{files::Files, partition::Partition};
use crate::{
    Disk, StoreError,
    meta::{TopicMeta, TopicRow},
};

pub use info::{PartitionInfo, Read, TopicConfig, TopicInfo};
pub use watch::Watch;

/// All topics of a store.
pub(crate) struct Topics {
    dir: PathBuf,
    segment_bytes: u64,
    files: Files,
    topics: RwLock<BTreeMap<TopicName, Arc<Topic>>>,
    /// Something waits for space.
    behind: AtomicBool,
}

struct Topic {
    name: TopicName,
    id: u64,
    config: TopicConfig,
    closed: AtomicBool,
    dir: PathBuf,
    partitions: Vec<Partition>,
}

impl Topics {
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        root: &Path,
        segment_bytes: u64,
        open_files: usize,
    ) -> Result<Self, StoreError> {
        let dir = root.join("topics");
        disk.create_dir(&dir).map_err(|e| StoreError::io("creating", &dir, e))?;
        Ok(Self {
            dir,
            segment_bytes,
            files: Files::new(disk, open_files),
            topics: RwLock::default(),
            behind: AtomicBool::new(false),
        })
    }

    /// Opens or creates a topic; what its files hold past the given offsets is cut.
    pub(crate) fn open(&self, name: &TopicName, meta: &TopicMeta) -> Result<(), StoreError> {
        let dir = self.dir.join(dir_name(name, meta.id));
        let partitions = meta.next.iter().enumerate().map(|(number, next)| {
            Partition::open(&self.files, dir.join(number.to_string()), self.segment_bytes, *next)
        });
        let partitions = partitions.collect::<Result<_, _>>()?;
        self.insert(name, meta, dir, partitions);
        Ok(())
    }

    fn insert(&self, name: &TopicName, meta: &TopicMeta, dir: PathBuf, partitions: Vec<Partition>) {
        let topic = Arc::new(Topic {
            name: name.clone(),
            id: meta.id,
            config: TopicConfig { partitions: meta.next.len() as u32 },
            closed: AtomicBool::new(meta.closed),
            partitions,
            dir,
        });
        self.write().insert(name.clone(), topic);
    }

    /// Brings one topic to what a committed change of its row says. A new one has no
    /// files yet, so nothing can go wrong: the commit is durable and must be followed.
    pub(crate) fn follow(&self, name: &TopicName, meta: Option<&TopicMeta>) {
        let Some(meta) = self.to_make(name, meta) else { return };
        let dir = self.dir.join(dir_name(name, meta.id));
        let partition =
            |number: usize| Partition::new(dir.join(number.to_string()), self.segment_bytes);
        let partitions = (0..meta.next.len()).map(partition).collect();
        self.insert(name, meta, dir, partitions);
    }

    /// The same in recovery, where a new topic may have files from before the crash.
    pub(crate) fn follow_again(
        &self,
        name: &TopicName,
        meta: Option<&TopicMeta>,
    ) -> Result<(), StoreError> {
        self.to_make(name, meta).map_or(Ok(()), |meta| self.open(name, meta))
    }

    /// What a change makes of a topic that is there; a topic that must be made.
    fn to_make<'a>(&self, name: &TopicName, meta: Option<&'a TopicMeta>) -> Option<&'a TopicMeta> {
        let known = self.get(name);
        let is_same =
            |topic: &Topic, meta: &TopicMeta| topic.dir == self.dir.join(dir_name(name, meta.id));
        match (known, meta) {
            (Some(topic), Some(meta)) if is_same(&topic, meta) => {
                topic.closed.store(meta.closed, Ordering::Release);
                None
            }
            (known, meta) => {
                if let Some(topic) = known {
                    self.write().remove(name);
                    self.remove_files(&topic.dir);
                }
                meta
            }
        }
    }

    /// Adds blocks that are durable in the journal.
    pub(crate) fn append(
        &self,
        name: &TopicName,
        partition: PartitionNumber,
        first: Offset,
        blocks: &[(u32, u32)],
        bytes: &[u8],
    ) {
        let Some(topic) = self.get(name) else { return };
        let Some(partition) = topic.partitions.get(partition.0 as usize) else { return };
        if !blocks.is_empty() && !partition.append(&self.files, first.0, blocks, bytes) {
            self.behind.store(true, Ordering::Release);
        }
    }

    /// Writes what the disk did not take before, and names the topics in which there
    /// is more to read now. Not beside [`Topics::append`].
    pub(crate) fn catch_up(&self, touched: &mut Vec<TopicName>) -> Result<(), StoreError> {
        if !self.behind.load(Ordering::Acquire) {
            return Ok(());
        }
        for topic in self.all() {
            for partition in topic.partitions.iter().filter(|partition| partition.is_behind()) {
                touched.push(topic.name.clone());
                partition.catch_up(&self.files)?;
            }
        }
        self.behind.store(false, Ordering::Release);
        Ok(())
    }

    /// Makes all that was written durable.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        for topic in self.all() {
            for partition in &topic.partitions {
                match partition.sync(&self.files) {
                    // It was deleted meanwhile.
                    Err(_)
                        if self.get(&topic.name).is_none_or(|now| !Arc::ptr_eq(&now, &topic)) =>
                    {
                        break;
                    }
                    result => result?,
                }
            }
        }
        Ok(())
    }

    /// Removes directories that belong to no topic: deleted ones, if the process died
    /// in between.
    pub(crate) fn remove_strays(&self) -> Result<(), StoreError> {
        let known: Vec<PathBuf> = self.all().into_iter().map(|topic| topic.dir.clone()).collect();
        let names =
            self.files.disk.list(&self.dir).map_err(|e| StoreError::io("listing", &self.dir, e))?;
        for dir in
            names.into_iter().map(|name| self.dir.join(name)).filter(|dir| !known.contains(dir))
        {
            self.remove_files(&dir);
        }
        Ok(())
    }

    pub(crate) fn info(&self, name: &TopicName) -> Option<TopicInfo> {
        self.get(name).map(|topic| topic.info())
    }

    /// What a topic will be once its row says so.
    pub(crate) fn describe(&self, name: &TopicName, row: Option<&TopicRow>) -> Option<TopicInfo> {
        let row = row?;
        let fresh = PartitionInfo { first: Offset(0), next: Offset(0), bytes: 0 };
        let known = self.info(name).map(|info| info.partitions);
        Some(TopicInfo {
            name: name.clone(),
            id: row.id,
            config: TopicConfig { partitions: row.partitions },
            closed: row.closed,
            partitions: known.unwrap_or_else(|| vec![fresh; row.partitions as usize]),
        })
    }

    pub(crate) fn infos(&self) -> Vec<TopicInfo> {
        self.all().into_iter().map(|topic| topic.info()).collect()
    }

    pub(crate) fn read(
        &self,
        name: &TopicName,
        partition: PartitionNumber,
        from: Offset,
        records: usize,
        bytes: usize,
    ) -> Result<Read, StoreError> {
        let topic = self.get(name);
        let partition = topic.as_ref().and_then(|topic| topic.partitions.get(partition.0 as usize));
        let partition = partition.ok_or_else(|| StoreError::UnknownTopic(name.clone()))?;
        partition.read(&self.files, from, records.max(1), bytes)
    }

    fn remove_files(&self, dir: &Path) {
        self.files.close_under(dir);
        if let Err(error) = self.files.disk.remove_dir(dir) {
            tracing::warn!(dir = %dir.display(), %error, "could not remove the files of a topic; trying again at the next start");
        }
    }

    fn get(&self, name: &TopicName) -> Option<Arc<Topic>> {
        self.topics.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn all(&self) -> Vec<Arc<Topic>> {
        self.topics.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, BTreeMap<TopicName, Arc<Topic>>> {
        self.topics.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Topic {
    fn info(&self) -> TopicInfo {
        TopicInfo {
            name: self.name.clone(),
            id: self.id,
            config: self.config.clone(),
            closed: self.closed.load(Ordering::Acquire),
            partitions: self.partitions.iter().map(Partition::info).collect(),
        }
    }
}

fn dir_name(name: &TopicName, id: u64) -> String {
    format!("{name}.{id}")
}
