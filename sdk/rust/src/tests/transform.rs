//! Batches: state by slot, named ports, failures by event.

use super::Point;
use crate::{
    Counter, Event, Failure, List, Map, Meta, Result, Value,
    describe::CellKind,
    testing::{self, Input},
};

crate::transform! {
    /// Keeps sums and the last point
    /// of each key.
    Sums;

    inputs {
        /// Points to add.
        points: add,
        names: name,
    }
    outputs {
        /// Sums so far.
        SUMS: Point,
        OTHERS: String,
    }
    cells {
        COUNT: Counter,
        SUM: Value<Point>,
        SEEN: Map<String, i64>,
        NAMES: List<String> = crate::CellOptions::new().version(3).ttl_ms(1000),
    }
}

fn add(event: &Event<'_>, point: Point) -> Result<()> {
    let count = COUNT.add(event, 1)?;
    if point.x < 0 {
        return Err(Failure::terminal("negative", point.x));
    }
    let sum = SUM.update(event, |sum| {
        sum.x += point.x;
        sum.y += point.y;
        sum.clone()
    })?;
    SEEN.put(event, &format!("{}/{}", point.x, point.y), &count)?;
    SUMS.emit(event, &sum)?;
    if point.x == 7 {
        event.send("bell", "ring", &point).key("b").now()?;
    }
    Ok(())
}

fn name(event: &Event<'_>, name: &str) -> Result<()> {
    NAMES.push(event, &name.to_string())?;
    OTHERS.emit_with(
        event,
        &name.to_uppercase(),
        Meta::new().key(name).timestamp(event.timestamp() + 1).header("h", "1"),
    )
}

fn point(x: i64, y: i64) -> Point {
    Point { x, y }
}

#[test]
fn state_of_a_key_adds_up_within_a_batch_and_over_batches() {
    let mut host = testing::transform::<Sums>();
    let events = [("a", 1), ("b", 2), ("a", 3)];
    let failures = host.batch(events.map(|(key, x)| Input::new(key, &point(x, 1))).into()).unwrap();
    assert_eq!(failures, []);
    host.event("a", &point(5, 1)).unwrap();
    assert_eq!(host.take::<Point>("sums"), [point(1, 1), point(2, 1), point(4, 2), point(9, 3)]);
    assert_eq!((host.counter("a", "count"), host.counter("b", "count")), (3, 1));
    assert_eq!(host.value::<Point>("a", "sum"), Some(point(9, 3)));
    let seen = host.entries::<String, i64>("a", "seen");
    assert_eq!(seen, [("1/1".into(), 1), ("3/1".into(), 2), ("5/1".into(), 3)]);
}

#[test]
fn an_event_that_fails_is_named_and_the_batch_leaves_nothing() {
    let mut host = testing::transform::<Sums>();
    let mut events = vec![
        Input::new("a", &point(7, 0)),
        Input::new("a", &point(-1, 0)),
        Input::new("a", &"text"),
    ];
    events.push(Input { key: None, ..Input::new("", &point(2, 0)) });
    let failures = host.batch(events).unwrap();
    let codes: Vec<_> =
        failures.iter().map(|(event, failure)| (*event, failure.code.as_str())).collect();
    assert_eq!(codes, [(1, "negative"), (2, "invalid-input"), (3, "no-key")]);
    assert_eq!(host.counter("a", "count"), 0);
    assert!(host.take_outputs().is_empty() && host.take_sends().is_empty());
}

#[test]
fn ports_keys_timestamps_and_headers_default_to_the_cause() {
    let mut host = testing::transform::<Sums>();
    let names = Input { port: "names".into(), timestamp: 40, ..Input::new("k", &"ann") };
    let last = Input { timestamp: 50, ..Input::new("k", &point(7, 0)) };
    host.batch(vec![Input::new("k", &point(1, 0)), names, last]).unwrap();
    let outputs = host.take_outputs();
    let short: Vec<_> =
        outputs.iter().map(|o| (o.port.as_str(), o.key.as_deref().unwrap(), o.timestamp)).collect();
    assert_eq!(short, [("sums", b"k".as_slice(), 0), ("others", b"ann", 41), ("sums", b"k", 50)]);
    assert_eq!(outputs[1].headers, [("h".into(), b"1".to_vec())]);
    assert!(outputs[2].headers.is_empty());
    assert_eq!(host.entries::<u64, String>("k", "names"), [(0, "ann".into())]);
    let sends = host.take_sends();
    assert_eq!(
        (sends[0].operator.as_str(), sends[0].handler.as_str(), sends[0].key.as_deref()),
        ("bell", "ring", Some(b"b".as_slice()))
    );
}

#[test]
fn a_description_says_what_was_declared() {
    let host = testing::transform::<Sums>();
    let description = host.description();
    assert_eq!(description.doc, "Keeps sums and the last point of each key.");
    let inputs: Vec<_> =
        description.inputs.iter().map(|port| (port.name.as_str(), port.doc.as_str())).collect();
    assert_eq!(inputs, [("points", "Points to add."), ("names", "")]);
    assert_eq!(description.outputs[0].name, "sums");
    assert!(description.outputs[0].schema.as_ref().unwrap().contains("\"x\""));
    let cells: Vec<_> =
        description.cells.iter().map(|cell| (cell.name.as_str(), cell.kind)).collect();
    let kinds = [
        ("count", CellKind::Counter),
        ("sum", CellKind::Value),
        ("seen", CellKind::Map),
        ("names", CellKind::List),
    ];
    assert_eq!(cells, kinds);
    assert_eq!(
        (description.cells[3].options.version, description.cells[3].options.ttl_ms),
        (3, Some(1000))
    );
    assert_eq!(description.config_schema, None);
}
