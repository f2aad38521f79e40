use weir_store::PartitionInfo;

use super::*;

fn info(ends: &[(u64, u64)]) -> TopicInfo {
    TopicInfo {
        id: 1,
        name: "t".parse().unwrap(),
        config: TopicConfig { partitions: ends.len() as u32 },
        closed: false,
        partitions: ends
            .iter()
            .map(|(first, next)| PartitionInfo {
                first: Offset(*first),
                next: Offset(*next),
                bytes: 0,
            })
            .collect(),
    }
}

#[test]
fn a_position_reads_back_as_it_was_written() {
    let position: Position = "0-12.1-7.3-0".parse().unwrap();
    assert_eq!(position.to_string(), "0-12.1-7.3-0");
    for bad in ["", "0", "0-", "-1", "a-b", "0-1,1-2", "0-1."] {
        assert!(bad.parse::<Position>().is_err(), "{bad}");
    }
}

#[test]
fn a_reading_begins_where_it_is_told() {
    let info = info(&[(2, 10), (0, 3)]);
    let start = |only: Option<u32>, from| {
        Position::start(&info, only.map(Partition), from).unwrap().to_string()
    };
    assert_eq!(start(None, ReadFrom::Earliest), "0-2.1-0");
    assert_eq!(start(None, ReadFrom::Latest), "0-10.1-3");
    assert_eq!(start(None, ReadFrom::Offset(Offset(5))), "0-5.1-3");
    assert_eq!(start(Some(1), ReadFrom::Offset(Offset(2))), "1-2");
    assert!(Position::start(&info, Some(Partition(2)), ReadFrom::Earliest).is_err());
}

#[test]
fn a_position_from_elsewhere_is_fitted_to_the_topic() {
    let info = info(&[(2, 10), (0, 3)]);
    let within =
        |text: &str| text.parse::<Position>().unwrap().within(&info, None).unwrap().to_string();
    assert_eq!(within("0-5.1-1"), "0-5.1-1");
    assert_eq!(within("0-1.1-99.7-3"), "0-2.1-3");
    assert_eq!(within("1-2"), "0-2.1-2");
}
