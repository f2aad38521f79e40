use bytes::Bytes;
use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::{
    failure::Failure,
    guest::Cause,
    ids::{CallId, Epoch, Offset, Partition},
    message::{AskKind, CallFailure},
};

fn id() -> NodeId {
    "orders".parse().unwrap()
}

fn invocation() -> InvocationId {
    InvocationId::new(1, Epoch(2), 3, 4)
}

fn call() -> CallId {
    CallId { caller: invocation(), n: 5, r: 6 }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[track_caller]
fn check(bytes: &[u8], expected: Expect) {
    expected.assert_eq(&hex(bytes));
}

#[test]
fn keys_have_their_layout() {
    let unit = |table| Writer::new(table).node(&id()).group(KeyGroup(7));
    check(
        &unit(Table::Cells).key(b"a\0b").name("stock").rest(b"e").done(),
        expect!["106f726465727300076100ff62000073746f636b0065"],
    );
    check(
        &unit(Table::Waiting).invocation(invocation()).done(),
        expect!["206f7264657273000700000001000000000002000300000004"],
    );
    check(
        &unit(Table::Journals).invocation(invocation()).done(),
        expect!["216f7264657273000700000001000000000002000300000004"],
    );
    check(
        &unit(Table::Outbox).call(call()).done(),
        expect!["226f72646572730007000000010000000000020003000000040000000500000006"],
    );
    check(
        &unit(Table::Answers).call(call()).done(),
        expect!["236f72646572730007000000010000000000020003000000040000000500000006"],
    );
    check(&unit(Table::Blocked).key(b"k").done(), expect!["246f726465727300076b0000"]);
    check(&unit(Table::Counts).done(), expect!["306f72646572730007"]);
    check(&unit(Table::EdgeTaken).rest(b"e").done(), expect!["316f7264657273000765"]);
    check(&edge_sent_key(&id(), KeyGroup(7), "e"), expect!["326f7264657273000765"]);
    check(&edge_queued_key(&id(), KeyGroup(7), "e"), expect!["336f7264657273000765"]);
    let of = PositionOf { topic: "in".parse().unwrap(), id: 5, partition: Partition(9) };
    check(&position_key(&id(), &of), expect!["406f726465727300696e00000000000000000500000009"]);
    let row = PositionRow { next: Offset(3), start: Offset(1), read: 2 };
    let read = position(&position_key(&id(), &of), &encode_position(row));
    assert_eq!(read, Ok((of, row)));
    check(
        &dead_letter_key(&id(), invocation()),
        expect!["506f72646572730000000001000000000002000300000004"],
    );
    check(
        &Writer::new(Table::Requests).invocation(invocation()).done(),
        expect!["6000000001000000000002000300000004"],
    );
}

fn waiting() -> WaitingRow {
    WaitingRow {
        order: 300,
        entry: EntryRow::Handler("place".into()),
        cause: Cause::Send,
        key: Some(Bytes::from_static(b"k")),
        value: Bytes::from_static(b"v"),
        timestamp: EventTime(-1),
        headers: vec![("h".into(), Bytes::from_static(b"x"))],
        origin: Some(OriginRow { source: "s".into(), partition: 1, offset: 2 }),
        failed: 1,
        retry: Some(RetryRow { at: EventTime(1_000), pause_ms: 50 }),
        ask: Some(AskRow {
            id: call(),
            from: Place::Node { id: "o".into(), group: 8 },
            kind: AskKind::Send { not_before: Some(EventTime(2)) },
            chain: vec![invocation()],
        }),
    }
}

fn journal() -> JournalRow {
    let made = MadeRow { operator: "o".into(), handler: "h".into(), key: Bytes::from_static(b"k") };
    let failure =
        CallFailure { failure: Failure::terminal("c", "m"), began: true, done: vec!["d".into()] };
    JournalRow {
        seed: 1,
        began: EventTime(2),
        calls: vec![
            CallRow { r: 1, print: Some(3), made: Some(made) },
            CallRow { r: 0, print: None, made: None },
        ],
        outcomes: vec![
            OutcomeRow { call: 0, at: EventTime(4), outcome: Ok(Bytes::from_static(b"ok")) },
            OutcomeRow { call: 1, at: EventTime(5), outcome: Err(failure) },
        ],
        handed: 1,
    }
}

#[test]
fn values_have_their_layout() {
    check(&encode_cell(2, b"v"), expect!["010000000276"]);
    check(
        &encode(&waiting()),
        expect![
            "01ac020005706c6163650201016b017601010168017801017301020101d00f320184808080b0808081808080808020050601016f080101040184808080b0808081808080808020"
        ],
    );
    check(
        &encode(&journal()),
        expect!["0101040201010301016f0168016b00000002000800026f6b010a01010163016d0101016401"],
    );
    let to = MadeRow { operator: "o".into(), handler: "h".into(), key: Bytes::from_static(b"k") };
    let send = OutboxRow {
        to: to.clone(),
        value: Bytes::from_static(b"v"),
        timestamp: EventTime(1),
        not_before: None,
    };
    check(&encode(&send), expect!["01016f0168016b01760200"]);
    let answer = AnswerRow { from: Place::Ingress, outcome: Some(Ok(Bytes::from_static(b"v"))) };
    check(&encode(&answer), expect!["010001000176"]);
    check(&encode(&BlockedRow { by: InvocationId(5) }), expect!["0105"]);
    let counts =
        Counts { taken: 1, ended: 2, filtered: 3, skipped: 4, dead_lettered: 5, late: 6, shed: 7 };
    check(&encode(&CountsRow { counts, waiting: 8 }), expect!["010102030405060708"]);
    let request = RequestRow {
        to,
        kind: AskKind::Call,
        timestamp: EventTime(1),
        deadline_ms: 2,
        idempotency: Some(("k".into(), [7; 16])),
        state: RequestStateRow::Asked { value: Bytes::from_static(b"v") },
    };
    check(
        &encode(&request),
        expect!["01016f0168016b00020201016b07070707070707070707070707070707000176"],
    );
}

#[test]
fn values_read_back() {
    assert_eq!(decode::<WaitingRow>(Table::Waiting, &encode(&waiting())).unwrap(), waiting());
    assert_eq!(decode::<JournalRow>(Table::Journals, &encode(&journal())).unwrap(), journal());
    let cell = cell(
        &Writer::new(Table::Cells).node(&id()).group(KeyGroup(1)).key(b"k").name("c").done(),
        &encode_cell(2, b"v"),
    );
    let cell = cell.unwrap();
    assert_eq!(
        (&cell.key[..], cell.cell.as_str(), &cell.entry[..], cell.schema, &cell.value[..]),
        (&b"k"[..], "c", &b""[..], 2, &b"v"[..])
    );
}

#[test]
fn a_value_of_another_version_or_with_a_tail_is_refused() {
    let mut bytes = encode(&waiting()).to_vec();
    bytes.push(0);
    assert!(
        decode::<WaitingRow>(Table::Waiting, &bytes)
            .unwrap_err()
            .to_string()
            .contains("1 bytes too many")
    );
    bytes[0] = 2;
    assert!(
        decode::<WaitingRow>(Table::Waiting, &bytes).unwrap_err().to_string().contains("version 2")
    );
    assert!(decode::<WaitingRow>(Table::Waiting, &[]).is_err());
}

#[test]
fn a_unit_restores_its_own_rows_and_no_others() {
    let inside = |range: &Range, key: &[u8]| {
        key >= &range.from[..] && range.to.as_ref().is_none_or(|to| key < &to[..])
    };
    let ranges = unit_ranges(&id(), groups_of(Shard(1), 2));
    let mine = |group| {
        Writer::new(Table::Waiting)
            .node(&id())
            .group(KeyGroup(group))
            .invocation(invocation())
            .done()
    };
    for (group, expected) in [(0, false), (63, false), (64, true), (127, true)] {
        assert_eq!(
            ranges.iter().any(|range| inside(range, &mine(group))),
            expected,
            "group {group}"
        );
    }
    let longer = "orders2".parse().unwrap();
    let other = Writer::new(Table::Waiting)
        .node(&longer)
        .group(KeyGroup(70))
        .invocation(invocation())
        .done();
    assert!(!ranges.iter().any(|range| inside(range, &other)));
    for shards in [1, 2, 3, 7, 128] {
        let all: Vec<u8> = (0..shards).flat_map(|shard| groups_of(Shard(shard), shards)).collect();
        assert_eq!(all, (0..KeyGroup::COUNT).collect::<Vec<_>>());
    }
}

proptest! {
    #[test]
    fn keys_sort_by_their_bytes_and_read_back(a in prop::collection::vec(any::<u8>(), 0..6), b in prop::collection::vec(any::<u8>(), 0..6)) {
        let row = |key: &[u8]| Writer::new(Table::Blocked).node(&id()).group(KeyGroup(0)).key(key).done();
        prop_assert_eq!(a.cmp(&b), row(&a).cmp(&row(&b)));
        prop_assert!(a == b || !row(&a).starts_with(&row(&b)));
        let bytes = row(&a);
        let mut reader = Reader::new(&bytes, Table::Blocked).unwrap();
        prop_assert_eq!(reader.name(), Some("orders"));
        prop_assert_eq!(reader.group(), Some(KeyGroup(0)));
        prop_assert_eq!(reader.key(), Some(a));
        prop_assert!(reader.end().is_some());
    }

    #[test]
    fn prefixes_find_the_keys_that_begin_with_them(key in prop::collection::vec(0u8..3, 0..5), prefix in prop::collection::vec(0u8..3, 0..3)) {
        let group = KeyGroup::of(&key);
        let row = Writer::new(Table::Cells).node(&id()).group(group).key(&key).name("c").done();
        let range = cells_of_group(&id(), group, &prefix);
        let found = row >= range.from && range.to.as_ref().is_none_or(|to| row < *to);
        prop_assert_eq!(found, key.starts_with(&prefix));
        let behind = after_key(cells_of_group(&id(), group, &[]), &id(), &key);
        prop_assert!(row < behind.from);
    }

    #[test]
    fn decoders_never_panic(key in prop::collection::vec(any::<u8>(), 0..40), value in prop::collection::vec(any::<u8>(), 0..60), version in any::<bool>()) {
        let mut value = value;
        if version {
            value.insert(0, 1);
        }
        let shared = Bytes::from(value.clone());
        let mut cells = vec![Table::Cells as u8];
        cells.extend_from_slice(&key);
        let _ = (cell(&cells, &shared), cell(&key, &shared), owner_of(&key), edge_name(&key), position(&key, &value));
        let _ = (dead_letter(&value), counts(&value), number(&value));
        let _ = (decode::<WaitingRow>(Table::Waiting, &value), decode::<JournalRow>(Table::Journals, &value));
        let _ = (decode::<RequestRow>(Table::Requests, &value), decode::<OutboxRow>(Table::Outbox, &value));
        let _ = decode::<AnswerRow>(Table::Answers, &value);
    }
}

#[test]
fn rows_of_an_edge_are_found_from_both_ends() {
    let name = |text: &str| text.parse::<NodeId>().unwrap();
    let label = edge_label(&name("in"), "out", &name("sum"));
    assert_eq!(label, "in.out -> sum");
    let sent = edge_sent_key(&name("in"), KeyGroup(0), &label);
    let taken = edge_taken_key(&name("sum"), KeyGroup(3), &label);
    let queued = edge_queued_key(&name("sum"), KeyGroup(3), &label);
    for row in [&sent, &taken, &queued] {
        assert!(edges().iter().any(|range| range.from <= *row && Some(row) < range.to.as_ref()));
        for (id, is) in [("in", true), ("sum", true), ("su", false), ("out", false), ("i", false)] {
            assert_eq!(is_of_edge_at(row, &name(id)), Ok(is), "{id}");
        }
    }
    assert!(is_of_edge_at(&[0x10, 1], &name("in")).is_err());
}
