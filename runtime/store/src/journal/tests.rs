use std::path::{Path, PathBuf};

use bytes::Bytes;
use expect_test::expect;
use proptest::prelude::*;
use weir_core::{
    batch::{Batch, Event},
    ids::{Epoch, Offset, Partition},
};

use super::{
    record::{Prepared, RecordHeader, read_back, rest},
    segment::{NoHeader, SegmentHeader},
    *,
};
use crate::{Append, Change, Commit, SimDisk, topics::block};

fn hex(bytes: &[u8]) -> String {
    let lines = bytes
        .chunks(16)
        .map(|line| line.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

fn commit() -> Commit {
    let mut batch = Batch::default();
    batch.push(Event { timestamp: 5, key: Some(b"k"), value: b"v1", port: 0, origin: None });
    batch.push(Event { timestamp: -1, key: None, value: b"", port: 0, origin: None });
    batch.push_header("h", b"x");
    Commit {
        domain: "p".parse().unwrap(),
        epoch: Epoch(7),
        rows: vec![
            Change { key: b"a".to_vec(), value: Some("1".into()) },
            Change { key: b"b".to_vec(), value: None },
        ],
        appends: vec![Append {
            topic: "t".parse().unwrap(),
            partition: Partition(2),
            records: Arc::new(batch),
        }],
    }
}

#[test]
fn the_bytes_of_a_record_are_fixed() {
    let mut prepared = Prepared::new(commit(), None).unwrap();
    prepared.appends[0].first = Offset(0x11);
    prepared.finish(Epoch(7), 0x22, 0x33);
    expect![[r#"
        57 52 45 43 38 8f 93 fa 01 01 00 00 a2 00 00 00
        c0 91 6e b3 00 00 00 00 07 00 00 00 00 00 00 00
        22 00 00 00 00 00 00 00 33 00 00 00 00 00 00 00
        70 13 00 00 00 01 00 00 00 01 74 02 00 00 00 11
        00 00 00 00 00 00 00 02 00 00 00 01 00 00 00 6d
        00 00 00 01 00 00 00 01 00 00 00 61 31 01 00 00
        00 ff ff ff ff 62 57 42 4c 4b 9a 58 c2 2d 11 00
        00 00 00 00 00 00 02 00 00 00 45 00 00 00 af 07
        09 bc 00 00 00 00 05 00 00 00 00 00 00 00 02 00
        00 00 01 00 00 00 0e 00 00 00 01 00 00 00 05 00
        00 00 00 00 00 00 ff ff ff ff ff ff ff ff 01 00
        00 00 01 00 00 00 02 00 00 00 02 00 00 00 01 00
        00 00 01 00 00 00 01 00 00 00 68 01 00 00 00 78
        6b 76 31
    "#]]
    .assert_eq(&hex(&prepared.bytes));
}

#[test]
fn the_bytes_of_a_segment_header_and_of_a_marker_are_fixed() {
    let header = SegmentHeader { number: 3, base: 0x1234, predecessor: Some(2) };
    expect![[r#"
        57 45 49 52 4a 52 4e 4c 01 00 00 00 00 00 00 00
        03 00 00 00 00 00 00 00 34 12 00 00 00 00 00 00
        02 00 00 00 00 00 00 00 1e 59 0d 1f 00 00 00 00
    "#]]
    .assert_eq(&hex(&header.encode()));
    expect![[r#"
        57 52 45 43 5c 83 15 b7 02 04 00 00 00 00 00 00
        00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
        34 12 00 00 00 00 00 00 34 12 00 00 00 00 00 00
        6d 65 74 61
    "#]]
    .assert_eq(&hex(&rest(0x1234)));
}

#[test]
fn another_version_of_a_segment_is_told_from_garbage() {
    let mut bytes = SegmentHeader { number: 3, base: 0, predecessor: None }.encode();
    assert_eq!(SegmentHeader::decode(&bytes).unwrap().predecessor, None);
    bytes[8] = 9;
    assert_eq!(SegmentHeader::decode(&bytes), Err(NoHeader::Invalid));
    let crc = crc32c::crc32c(&bytes[..40]);
    bytes[40..44].copy_from_slice(&crc.to_le_bytes());
    assert_eq!(SegmentHeader::decode(&bytes), Err(NoHeader::Version(9)));
}

#[test]
fn a_receipt_row_holds_the_offsets_that_were_given() {
    let mut prepared = Prepared::new(commit(), Some((b"key".to_vec(), b"mine".to_vec()))).unwrap();
    prepared.appends[0].first = Offset(0x0102);
    prepared.finish(Epoch(7), 0, 0);
    let record = read_back(&prepared.bytes).unwrap();
    let row = record.body().unwrap().rows.pop().unwrap();
    assert_eq!(row.key, b"key");
    assert_eq!(row.value.as_deref(), Some(b"mine\0\0\0\0\0\0\x01\x02".as_slice()));
    assert_eq!(prepared.rows.last(), Some(&row));
}

fn batch() -> impl Strategy<Value = Batch> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..20);
    let header = (prop::string::string_regex("[a-z]{0,4}").unwrap(), bytes());
    let event =
        (any::<i64>(), prop::option::of(bytes()), bytes(), prop::collection::vec(header, 0..3));
    prop::collection::vec(event, 0..600).prop_map(|events| {
        let mut batch = Batch::default();
        for (timestamp, key, value, headers) in events {
            batch.push(Event {
                timestamp,
                key: key.as_deref(),
                value: &value,
                port: 0,
                origin: None,
            });
            headers.iter().for_each(|(name, value)| batch.push_header(name, value));
        }
        batch
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_is_what_was_written(
        rows in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..9), prop::option::of(prop::collection::vec(any::<u8>(), 0..9))), 0..9),
        batches in prop::collection::vec(batch(), 0..3),
        epoch in 1..u64::MAX,
        first in 0..u64::MAX / 2,
    ) {
        let rows: Vec<Change> = rows.into_iter().map(|(key, value)| Change { key, value: value.map(Bytes::from) }).collect();
        let appends = batches.iter().enumerate().map(|(i, batch)| Append {
            topic: "t".parse().unwrap(),
            partition: Partition(i as u32),
            records: Arc::new(batch.clone()),
        });
        let commit = Commit { domain: "pipeline/x".parse().unwrap(), epoch: Epoch(0), rows: rows.clone(), appends: appends.collect() };
        let mut prepared = Prepared::new(commit, None).unwrap();
        prepared.appends.iter_mut().for_each(|append| append.first = Offset(first));
        prepared.finish(Epoch(epoch), first, 5);
        let record = read_back(&prepared.bytes).unwrap();
        prop_assert_eq!((record.header.epoch, record.header.position, record.header.durable), (Epoch(epoch), first, 5));
        let body = record.body().unwrap();
        prop_assert_eq!(body.rows, rows);
        for (append, batch) in body.appends.iter().zip(&batches) {
            prop_assert_eq!((append.first, append.count as usize), (first, batch.len()));
            let mut read = Batch::default();
            let mut rest = append.blocks.as_ref();
            while let Some(header) = block::BlockHeader::decode(rest) {
                prop_assert_eq!(header.first, first + read.len() as u64);
                let payload = &rest[block::HEADER..header.size()];
                prop_assert!(header.matches(payload));
                block::Columns::decode(header.count, payload).unwrap().append_to(&mut read, 0, header.count as usize).unwrap();
                rest = &rest[header.size()..];
            }
            prop_assert!(rest.is_empty());
            prop_assert_eq!(&read, batch);
        }
    }

    #[test]
    fn a_turned_bit_is_never_read(at in any::<prop::sample::Index>(), bit in 0..8u8) {
        let mut prepared = Prepared::new(commit(), None).unwrap();
        prepared.finish(Epoch(7), 0, 0);
        let mut bytes = prepared.bytes;
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(read_back(&bytes).is_none());
    }

    #[test]
    fn garbage_is_no_header(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(RecordHeader::decode(&bytes), None);
        prop_assert_eq!(block::BlockHeader::decode(&bytes), None);
    }
}

const DIR: &str = "/j";

fn open(disk: &SimDisk) -> (Journal, Vec<u64>) {
    let mut epochs = Vec::new();
    let journal = Journal::open(Arc::new(disk.clone()), PathBuf::from(DIR), 1_000, 0, |record| {
        epochs.extend(Some(record.header.epoch.0).filter(|epoch| *epoch > 0));
        Ok(())
    });
    (journal.unwrap(), epochs)
}

fn record(journal: &Journal, epoch: u64) -> Vec<u8> {
    let mut prepared = Prepared::new(commit(), None).unwrap();
    prepared.finish(Epoch(epoch), journal.end(), journal.end());
    prepared.bytes
}

fn append(journal: &mut Journal, epoch: u64) -> Result<(), StoreError> {
    let record = record(journal, epoch);
    journal.append(&[&record])
}

#[test]
fn segments_follow_each_other_and_name_where_they_end() {
    let disk = SimDisk::new(3);
    let (mut journal, _) = open(&disk);
    (1..30).for_each(|epoch| append(&mut journal, epoch).unwrap());
    let segments = journal.segments();
    assert!(segments.len() > 4);
    for pair in segments.windows(2) {
        assert_eq!(pair[0].end, Some(pair[1].base));
    }
    disk.crash();
    let (journal, epochs) = open(&disk);
    assert_eq!(epochs, (1..30).collect::<Vec<_>>());
    assert!(journal.end() > 0);
}

#[test]
fn an_unused_segment_is_used_by_the_next_open() {
    let disk = SimDisk::new(3);
    let (journal, _) = open(&disk);
    drop(journal);
    for _ in 0..5 {
        assert_eq!(open(&disk).0.segments().len(), 1);
    }
}

#[test]
fn a_missing_segment_is_damage() {
    let disk = SimDisk::new(3);
    let (mut journal, _) = open(&disk);
    (1..30).for_each(|epoch| append(&mut journal, epoch).unwrap());
    let second = journal.segments()[1];
    disk.remove(&Path::new(DIR).join(segment::file_name(second.number))).unwrap();
    let opened = Journal::open(Arc::new(disk.clone()), PathBuf::from(DIR), 1_000, 0, |_| Ok(()));
    let Err(StoreError::Damaged { segment, offset: 0, .. }) = opened.map(drop) else {
        panic!("it was opened")
    };
    assert_eq!(segment, "journal/0000000003.log");
}

#[test]
fn what_is_no_segment_is_left_where_it_is() {
    let disk = SimDisk::new(3);
    drop(open(&disk));
    let notes = Path::new(DIR).join("notes.txt");
    disk.append(&notes).unwrap();
    drop(open(&disk));
    disk.open(&notes).unwrap();
}

#[test]
fn forgotten_segments_are_those_before_a_position() {
    let disk = SimDisk::new(3);
    let (mut journal, _) = open(&disk);
    (1..30).for_each(|epoch| append(&mut journal, epoch).unwrap());
    let third = journal.segments()[2];
    let gone = journal.forget_before(third.base + 1);
    assert_eq!(gone.len(), 2);
    assert_eq!(journal.segments()[0], third);
    for path in gone {
        disk.remove(&path).unwrap();
    }
    let mut first = None;
    let from = third.base;
    Journal::open(Arc::new(disk.clone()), PathBuf::from(DIR), 1_000, from, |record| {
        first.get_or_insert(record.header.position);
        Ok(())
    })
    .unwrap();
    assert_eq!(first, Some(from));
}
