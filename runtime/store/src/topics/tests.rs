use expect_test::expect;
use proptest::prelude::*;
use weir_core::batch::{Batch, Event};

use super::*;
use crate::{SimDisk, meta::TopicMeta};

fn batch(from: usize, count: usize, size: usize) -> Batch {
    let mut batch = Batch::default();
    for i in from..from + count {
        let key = format!("key-{i}");
        let key = (i % 3 != 0).then_some(key.as_bytes());
        let value = vec![i as u8; size + i % 7];
        batch.push(Event { timestamp: i as i64 - 5, key, value: &value, port: 0, origin: None });
        if i % 11 == 0 {
            batch.push_header("n", &i.to_le_bytes());
        }
    }
    batch
}

fn topics(disk: &SimDisk, segment_bytes: u64) -> Topics {
    Topics::new(Arc::new(disk.clone()), Path::new("/data"), segment_bytes, 256).unwrap()
}

fn name() -> TopicName {
    "t".parse().unwrap()
}

fn append(topics: &Topics, batch: &Batch, first: u64) {
    let mut bytes = Vec::new();
    let blocks = block::encode(batch, &mut bytes);
    let (mut at, mut offset) = (0, first);
    for (count, length) in &blocks {
        block::set_first(&mut bytes[at..at + block::HEADER], offset);
        at += *length as usize;
        offset += u64::from(*count);
    }
    assert_eq!(block::lengths(&bytes).unwrap(), blocks);
    topics.append(&name(), PartitionNumber(0), Offset(first), &blocks, &bytes);
}

#[test]
fn the_bytes_of_a_block_are_fixed() {
    let mut bytes = Vec::new();
    block::encode(&batch(10, 3, 0), &mut bytes);
    block::set_first(&mut bytes[..block::HEADER], 0x0102);
    let lines = bytes
        .chunks(16)
        .map(|line| line.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" "));
    expect![[r#"
        57 42 4c 4b 5c 9a 7a a4 02 01 00 00 00 00 00 00
        03 00 00 00 71 00 00 00 e0 9b 91 db 00 00 00 00
        07 00 00 00 00 00 00 00 0c 00 00 00 0c 00 00 00
        15 00 00 00 01 00 00 00 05 00 00 00 00 00 00 00
        06 00 00 00 00 00 00 00 07 00 00 00 00 00 00 00
        06 00 00 00 0c 00 00 00 0c 00 00 00 03 00 00 00
        07 00 00 00 0c 00 00 00 02 00 00 00 01 00 00 00
        01 00 00 00 6e 08 00 00 00 0b 00 00 00 00 00 00
        00 6b 65 79 2d 31 30 6b 65 79 2d 31 31 0a 0a 0a
        0b 0b 0b 0b 0c 0c 0c 0c 0c"#]]
    .assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reads_of_any_size_give_every_record_once(
        counts in prop::collection::vec(1..700usize, 1..12),
        size in 0..300usize,
        records in 1..900usize,
        bytes in 0..50_000usize,
        segment_bytes in 0..100_000u64,
    ) {
        let disk = SimDisk::new(1);
        let topics = topics(&disk, segment_bytes);
        topics.open(&name(), &TopicMeta { id: 1, closed: false, next: vec![0] }).unwrap();
        let mut next = 0;
        for count in counts {
            append(&topics, &batch(next, count, size), next as u64);
            next += count;
        }
        let expected = batch(0, next, size);
        // As it was written, and as it is found at the next open.
        let again = self::topics(&disk, segment_bytes);
        again.open(&name(), &TopicMeta { id: 1, closed: false, next: vec![next as u64] }).unwrap();
        for topics in [topics, again] {
            let mut all = Batch::default();
            let mut from = Offset(0);
            loop {
                let read = topics.read(&name(), PartitionNumber(0), from, records, bytes).unwrap();
                prop_assert_eq!((read.first, read.end), (from, Offset(next as u64)));
                prop_assert!(read.batch.len() <= records);
                if read.batch.is_empty() {
                    prop_assert_eq!(from, read.end);
                    break;
                }
                (0..read.batch.len()).for_each(|i| all.push_from(&read.batch, i));
                prop_assert_eq!(read.next.0, from.0 + read.batch.len() as u64);
                from = read.next;
            }
            prop_assert_eq!(&all, &expected);
        }
    }
}

#[test]
fn a_topic_is_cut_back_to_what_is_known() {
    let disk = SimDisk::new(1);
    let all = topics(&disk, 10_000);
    all.open(&name(), &TopicMeta { id: 1, closed: false, next: vec![0] }).unwrap();
    let mut ends = vec![0];
    for i in 0..40 {
        append(&all, &batch(i * 10, 10, 100), i as u64 * 10);
        ends.push((i as u64 + 1) * 10);
    }
    for end in ends.into_iter().rev() {
        let cut = topics(&disk, 10_000);
        cut.open(&name(), &TopicMeta { id: 1, closed: false, next: vec![end] }).unwrap();
        let info = cut.info(&name()).unwrap().partitions[0];
        assert_eq!(info.next, Offset(end));
        assert_eq!(
            cut.read(&name(), PartitionNumber(0), Offset(0), 10_000, usize::MAX)
                .unwrap()
                .batch
                .len() as u64,
            end
        );
        assert!(info.bytes == 0 || end > 0);
    }
    let more =
        topics(&disk, 10_000).open(&name(), &TopicMeta { id: 1, closed: false, next: vec![1] });
    assert!(matches!(more, Err(StoreError::Damaged { .. })));
}

#[test]
fn reads_past_the_end_and_of_unknown_partitions_say_so() {
    let disk = SimDisk::new(1);
    let topics = topics(&disk, 10_000);
    topics.open(&name(), &TopicMeta { id: 1, closed: false, next: vec![0] }).unwrap();
    append(&topics, &batch(0, 5, 10), 0);
    let read = topics.read(&name(), PartitionNumber(0), Offset(5), 10, 10).unwrap();
    assert_eq!((read.batch.len(), read.next, read.end), (0, Offset(5), Offset(5)));
    let read = topics.read(&name(), PartitionNumber(0), Offset(500), 10, 10).unwrap();
    assert!(read.batch.is_empty());
    assert!(matches!(
        topics.read(&name(), PartitionNumber(1), Offset(0), 1, 1),
        Err(StoreError::UnknownTopic(_))
    ));
}
