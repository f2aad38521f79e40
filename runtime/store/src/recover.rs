//! Opening: snapshot, journal, view and topics are brought to one position.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use weir_core::ids::{Epoch, TopicName};

use crate::{
    Disk, Options, StoreError, ViewKind,
    journal::{
        self, Journal,
        record::{BAD_BODY, Kind, Record},
    },
    meta::Meta,
    rows::{MemoryView, RowStore, SledView, View},
    snapshot,
    topics::{Topics, block},
};

/// A store's parts, all at the end of the journal.
pub(crate) struct Recovered {
    pub(crate) journal: Journal,
    pub(crate) meta: Meta,
    pub(crate) rows: RowStore,
    pub(crate) topics: Topics,
    /// Position of the newest snapshot; 0 if there is none.
    pub(crate) snapshot: u64,
}

/// Recovers from the newest snapshot that is whole, and the journal from there on.
pub(crate) fn recover(
    root: &Path,
    disk: &Arc<dyn Disk>,
    kind: ViewKind,
    options: &Options,
) -> Result<Recovered, StoreError> {
    let snapshots = snapshot::dir(root);
    disk.create_dir(&snapshots).map_err(|e| StoreError::io("creating", &snapshots, e))?;
    let (view, mut why): (Arc<dyn View>, Option<String>) = match kind {
        ViewKind::Memory => (Arc::new(MemoryView::default()), None),
        ViewKind::Sled => {
            let (view, why) = SledView::open(root, options.view_cache_bytes)?;
            (Arc::new(view), why)
        }
    };
    let positions = snapshot::list(&**disk, &snapshots)?;
    let newest = positions.first().copied().unwrap_or(0);
    let candidates = positions.into_iter().map(Some).chain([None]);
    for base in candidates {
        match attempt(root, disk, &view, base, options, &mut why) {
            Err(StoreError::Damaged { segment, offset, problem })
                if segment.starts_with("snapshots/") =>
            {
                tracing::error!(
                    segment,
                    offset,
                    problem,
                    "a snapshot is damaged: using an older one"
                );
            }
            Ok((mut recovered, rebuilt)) => {
                if let Some(why) =
                    rebuilt.filter(|_| kind == ViewKind::Sled && !recovered.meta.epochs.is_empty())
                {
                    tracing::warn!(why, "rebuilt state/ from snapshot and journal");
                }
                recovered.snapshot = newest;
                return Ok(recovered);
            }
            Err(error) => return Err(error),
        }
    }
    // The last candidate is no snapshot, and no snapshot is never damaged.
    Err(StoreError::Damaged {
        segment: "snapshots".into(),
        offset: 0,
        problem: "no snapshot can be read".into(),
    })
}

/// Tries one snapshot, or none. Also answers why the view had to be rebuilt.
fn attempt(
    root: &Path,
    disk: &Arc<dyn Disk>,
    view: &Arc<dyn View>,
    base: Option<u64>,
    options: &Options,
    why: &mut Option<String>,
) -> Result<(Recovered, Option<String>), StoreError> {
    let mut snapshot =
        base.map(|base| snapshot::Reader::open(&**disk, &snapshot::dir(root), base)).transpose()?;
    let position = base.unwrap_or(0);
    let meta = snapshot.as_ref().map(|snapshot| snapshot.meta.clone()).unwrap_or_default();

    let settled = match view.position() {
        Some(settled) if settled >= position => settled,
        other => {
            let reason =
                if other.is_some() { "it was behind the snapshot" } else { "it was not complete" };
            why.get_or_insert(reason.to_owned());
            view.clear()?;
            fill(&**view, snapshot.as_mut(), position)?;
            position
        }
    };
    let recovered = bring_up(root, disk, view, meta.clone(), position, settled, options)?;
    if settled <= recovered.journal.end() {
        return Ok((recovered, why.take()));
    }
    why.get_or_insert("it was ahead of the journal".to_owned());
    drop(recovered);
    view.clear()?;
    let mut snapshot =
        base.map(|base| snapshot::Reader::open(&**disk, &snapshot::dir(root), base)).transpose()?;
    fill(&**view, snapshot.as_mut(), position)?;
    Ok((bring_up(root, disk, view, meta, position, position, options)?, why.take()))
}

/// Fills an empty view from a snapshot.
fn fill(
    view: &dyn View,
    snapshot: Option<&mut snapshot::Reader>,
    position: u64,
) -> Result<(), StoreError> {
    /// Rows are handed over in parts of about so many bytes.
    const PART_BYTES: usize = 4 << 20;
    let mut part = Vec::new();
    let mut bytes = 0;
    if let Some(snapshot) = snapshot {
        while let Some(row) = snapshot.row()? {
            bytes += row.1.len() + row.2.len();
            part.push(row);
            if bytes >= PART_BYTES {
                put(view, &std::mem::take(&mut part), 0)?;
                bytes = 0;
            }
        }
    }
    // Only now it is whole: the position comes with the last part.
    put(view, &part, position)
}

fn put(
    view: &dyn View,
    rows: &[(crate::DomainName, Vec<u8>, bytes::Bytes)],
    position: u64,
) -> Result<(), StoreError> {
    let mut rows = rows.iter().map(|(domain, key, value)| (domain, key.as_slice(), Some(value)));
    view.settle(&mut rows, position)
}

/// Opens topics as of the snapshot and applies the journal since.
fn bring_up(
    root: &Path,
    disk: &Arc<dyn Disk>,
    view: &Arc<dyn View>,
    mut meta: Meta,
    position: u64,
    settled: u64,
    options: &Options,
) -> Result<Recovered, StoreError> {
    let rows = RowStore::new(view.clone(), settled);
    let topics = Topics::new(disk.clone(), root, options.topic_segment_bytes, options.topic_files)?;
    // A topic that was deleted after the snapshot may have lost its files: that is
    // only an error if it is still there at the end.
    let mut failed: BTreeMap<TopicName, (u64, StoreError)> = BTreeMap::new();
    for (name, topic) in &meta.topics {
        if let Err(error) = topics.open(name, topic) {
            failed.insert(name.clone(), (topic.id, error));
        }
    }
    let each = |record: Record| apply(&record, &mut meta, &rows, &topics, &mut failed, settled);
    let journal =
        Journal::open(disk.clone(), journal::dir(root), options.segment_bytes, position, each)?;
    if let Some((_, (_, error))) = failed.pop_first() {
        return Err(error);
    }
    topics.remove_strays()?;
    for (domain, epoch) in &meta.epochs {
        rows.set_epoch(domain, *epoch);
    }
    Ok(Recovered { journal, meta, rows, topics, snapshot: position })
}

fn apply(
    record: &Record,
    meta: &mut Meta,
    rows: &RowStore,
    topics: &Topics,
    failed: &mut BTreeMap<TopicName, (u64, StoreError)>,
    settled: u64,
) -> Result<(), StoreError> {
    let header = &record.header;
    if header.kind == Kind::Rest {
        return Ok(());
    }
    let damaged = |problem| record.damaged(problem);
    if !meta.on_epoch(&header.domain, header.epoch.0).map_err(|c| damaged(c.0))? {
        return Ok(());
    }
    let body = record.body().ok_or_else(|| damaged(BAD_BODY))?;
    for name in meta.on_rows(&header.domain, &body.rows).map_err(|c| damaged(c.0))? {
        let topic = meta.topics.get(&name);
        if failed.get(&name).is_some_and(|(id, _)| topic.is_some_and(|topic| topic.id == *id)) {
            continue;
        }
        failed.remove(&name);
        topics.follow_again(&name, topic)?;
    }
    for append in &body.appends {
        meta.on_append(&append.topic, append.partition.0, append.first, append.count)
            .map_err(|c| damaged(c.0))?;
        let blocks = block::lengths(&append.blocks)
            .ok_or_else(|| damaged("the blocks of a topic can not be read"))?;
        topics.append(
            &append.topic,
            append.partition,
            weir_core::ids::Offset(append.first),
            &blocks,
            &append.blocks,
        );
    }
    if header.end() > settled {
        rows.apply(
            header.end(),
            std::iter::once((header.domain.clone(), Epoch(header.epoch.0), body.rows)),
        );
    }
    Ok(())
}
