use super::*;

fn row(row: TopicRow) -> Change {
    Change { key: TopicRow::key(&"t".parse().unwrap()), value: Some(row.encode().into()) }
}

#[test]
fn the_bytes_of_a_topic_row_are_fixed() {
    let row = TopicRow { id: 300, partitions: 4, closed: true };
    assert_eq!(row.encode(), [1, 0xac, 2, 4, 1]);
    assert_eq!(TopicRow::decode(&row.encode()), Some(row));
    assert_eq!(TopicRow::decode(&[2, 0xac, 2, 4, 1]), None);
    assert_eq!(TopicRow::decode(&[]), None);
}

#[test]
fn an_epoch_is_applied_once_and_in_sequence() {
    let mut meta = Meta::default();
    let domain: DomainName = "p".parse().unwrap();
    assert_eq!(meta.on_epoch(&domain, 1), Ok(true));
    assert_eq!(meta.on_epoch(&domain, 1), Ok(false));
    assert!(meta.on_epoch(&domain, 3).is_err());
    assert_eq!(meta.on_epoch(&domain, 2), Ok(true));
    assert_eq!(meta.epoch(&domain), 2);
}

#[test]
fn offsets_follow_each_other() {
    let mut meta = Meta::default();
    let (domain, topic) = (DomainName::meta(), "t".parse().unwrap());
    assert!(meta.on_append(&topic, 0, 0, 1).is_err());
    meta.on_rows(&domain, &[row(TopicRow { id: 4, partitions: 2, closed: false })]).unwrap();
    assert_eq!(meta.next_topic, 5);
    meta.on_append(&topic, 1, 0, 3).unwrap();
    meta.on_append(&topic, 1, 3, 2).unwrap();
    assert!(meta.on_append(&topic, 1, 4, 1).is_err());
    assert!(meta.on_append(&topic, 2, 0, 1).is_err());
    meta.on_rows(&domain, &[row(TopicRow { id: 4, partitions: 2, closed: true })]).unwrap();
    assert_eq!(meta.topics[&topic], TopicMeta { id: 4, closed: true, next: vec![0, 5] });
    // Another id is another topic.
    meta.on_rows(&domain, &[row(TopicRow { id: 5, partitions: 1, closed: false })]).unwrap();
    assert_eq!(meta.topics[&topic], TopicMeta { id: 5, closed: false, next: vec![0] });
    meta.on_rows(&domain, &[Change { key: TopicRow::key(&topic), value: None }]).unwrap();
    assert!(meta.topics.is_empty());
    assert_eq!(meta.next_topic, 6);
    // Rows of other domains are nobody's topics.
    let other = "p".parse().unwrap();
    assert!(
        meta.on_rows(&other, &[row(TopicRow { id: 9, partitions: 1, closed: false })])
            .unwrap()
            .is_empty()
    );
}
