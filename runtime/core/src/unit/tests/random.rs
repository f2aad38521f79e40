//! Random schedules: messages, barriers, time and crashes in any order, and the same
//! effects in the end.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use bytes::Bytes;

use super::{
    Program, Stop, World,
    guest::{Cx, request, trap},
    terminal, transient,
};
use crate::{
    batch::{Batch, Event},
    failure::{Failure, Trap},
    guest::{Effects, Output, Subject},
    ingress::{Idempotency, IngressKind, IngressRequest, Response},
    unit::Unit,
};

/// A small generator (xorshift), so that a seed is all that a run depends on.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

/// How an order misbehaves, by its number.
fn whim(number: u32, of: u32) -> u32 {
    (number.wrapping_mul(2_654_435_761) >> 8) % of
}

/// Reserves, pays within a deadline, releases what could not be paid, ships.
fn place(cx: &mut Cx<'_>) -> Result<&'static str, Stop> {
    let number: u32 = cx.value().parse().unwrap();
    let (sku, customer) = (format!("sku{}", number % 3), format!("customer{}", number % 2));
    cx.add(1);
    let reserve = cx.start("stock", "reserve", &sku, &number.to_string());
    if whim(number, 4) == 0 {
        // Something else meanwhile, of which nobody waits for the end.
        cx.start("pay", "look", &customer, "");
    }
    cx.wait(reserve)?.map_err(Stop::Fail)?;
    if cx.attempt() == 1 {
        match whim(number, 7) {
            0 => return Err(transient("flaky")),
            1 => return Err(Stop::Trap { known: number.is_multiple_of(2) }),
            _ => {}
        }
    }
    let pay = cx.start_within("pay", "charge", &customer, &number.to_string(), Some(250));
    let paid = cx.wait(pay)?.is_ok();
    if cx.attempt() == 1 && whim(number, 5) == 0 {
        return Err(transient("late"));
    }
    if paid {
        cx.send("ship", "ship", &sku, "", (whim(number, 3) == 0).then_some(700));
        cx.emit(&format!("{number} ok"));
    } else {
        cx.call("stock", "release", &sku, "")?;
        cx.emit(&format!("{number} declined"));
    }
    Ok("")
}

fn world() -> World {
    let orders = Program::new("orders").with(|program| program.concurrency = 3).on("place", place);
    let stock = Program::new("stock")
        .with(|program| program.concurrency = 2)
        .on("reserve", |cx| {
            let number: u32 = cx.value().parse().unwrap();
            cx.add(1);
            cx.call("ship", "note", "all", "")?;
            if cx.attempt() == 1 && whim(number, 6) == 0 { Err(transient("flaky")) } else { Ok("") }
        })
        .on("release", |cx| {
            cx.add(-1);
            Ok("")
        })
        .on("restock", |cx| {
            cx.add(1);
            Ok("restocked")
        });
    let pay = Program::new("pay")
        .on("charge", |cx| {
            let number: u32 = cx.value().parse().unwrap();
            cx.add(1);
            if whim(number, 11) == 0 {
                return Err(terminal("declined"));
            }
            if cx.attempt() < 3 && whim(number, 9) == 0 { Err(transient("slow")) } else { Ok("") }
        })
        .on("look", |cx| {
            cx.call("ship", "note", "looks", "")?;
            Ok("")
        });
    let ship = Program::new("ship")
        .on("ship", |cx| {
            cx.add(1);
            Ok("")
        })
        .on("note", |cx| {
            cx.add(1);
            Ok("")
        });
    World::new(vec![orders, stock, pay, ship])
}

const OPERATORS: [&str; 4] = ["orders", "stock", "pay", "ship"];
const ORDERS: u32 = 24;
const CALLS: u64 = 5;

fn run(seed: u64) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut world = world();
    // The source: what was fed, what of it the barrier of `orders` holds, and a commit.
    let (mut fed, mut passed, mut committed) = (0, 0, 0);
    for _ in 0..400 {
        match dice.roll(100) {
            0..55 if world.under_way() > 0 => {
                let nth = dice.roll(world.under_way());
                world.deliver_nth(nth);
            }
            0..68 if fed < ORDERS => {
                let event = format!("key{} {fed}", fed % 5);
                world.events("orders", &[&event]);
                fed += 1;
            }
            0..70 => restock(&mut world, dice.roll(CALLS as usize) as u64),
            70..80 => drop(world.skip(dice.roll(300) as u64)),
            80..94 => {
                let operator = OPERATORS[dice.roll(OPERATORS.len())];
                if !world.is_past(operator) {
                    world.barrier(operator);
                    if operator == "orders" {
                        passed = fed;
                    }
                }
            }
            94..98 => {
                if !world.is_past("orders") {
                    passed = fed;
                }
                world.commit();
                committed = passed;
            }
            98 => {
                world.crash();
                (fed, passed) = (committed, committed);
            }
            _ => {}
        }
    }
    for number in fed..ORDERS {
        world.events("orders", &[&format!("key{} {number}", number % 5)]);
    }
    (0..CALLS).for_each(|call| restock(&mut world, call));
    for _ in 0..40 {
        world.skip(200).settle().commit();
    }
    world.pass(3_000).rest();
    check(seed, &world);
}

fn restock(world: &mut World, call: u64) {
    world.request(IngressRequest {
        ticket: call,
        kind: IngressKind::Call { deadline: None },
        operator: "stock".into(),
        handler: "restock".into(),
        key: Some(Bytes::from_static(b"outside")),
        value: Bytes::new(),
        idempotency: Some(Idempotency { key: call.to_string(), body: [0; 16] }),
    });
}

fn check(seed: u64, world: &World) {
    assert!(world.dead_letters().is_empty(), "seed {seed}: {:?}", world.dead_letters());
    let mut by_key: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let (mut paid, mut reserved) = (0, BTreeMap::<u32, i64>::new());
    for emitted in &world.emitted {
        let (number, end) = emitted.split_once(' ').unwrap();
        let number: u32 = number.parse().unwrap();
        by_key.entry(number % 5).or_default().push(number);
        if end == "ok" {
            paid += 1;
            *reserved.entry(number % 3).or_default() += 1;
        }
    }
    for (key, numbers) in &by_key {
        let expected: Vec<u32> = (0..ORDERS).filter(|number| number % 5 == *key).collect();
        assert_eq!(numbers, &expected, "seed {seed}: each order once, in order of its key");
        assert_eq!(
            world.counter("orders", &format!("key{key}")),
            expected.len() as i64,
            "seed {seed}"
        );
    }
    assert_eq!(world.emitted.len(), ORDERS as usize, "seed {seed}");
    for sku in 0..3 {
        let expected = reserved.get(&sku).copied().unwrap_or(0);
        let sku = format!("sku{sku}");
        assert_eq!(world.counter("stock", &sku), expected, "seed {seed}: {sku} reserved");
        assert_eq!(world.counter("ship", &sku), expected, "seed {seed}: {sku} shipped");
    }
    let charged: i64 =
        (0..2).map(|customer| world.counter("pay", &format!("customer{customer}"))).sum();
    assert_eq!(charged, paid, "seed {seed}: charged");
    assert_eq!(
        world.counter("ship", "all"),
        i64::from(ORDERS),
        "seed {seed}: one note per reservation"
    );
    assert_eq!(
        world.counter("stock", "outside"),
        CALLS as i64,
        "seed {seed}: each idempotent call once"
    );
    let answered = (0..CALLS).all(|call| {
        world.responses.iter().any(|(t, r)| *t == call && matches!(r, Response::Reply { .. }))
    });
    assert!(answered, "seed {seed}: {:?}", world.responses);
    let tables = world.tables();
    assert_eq!(tables.keys().copied().collect::<Vec<_>>(), ["requests"], "seed {seed}: {tables:?}");
}

#[test]
fn the_same_effects_under_random_schedules_and_crashes() {
    let seeds =
        std::env::var("WEIR_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(150);
    (1..=seeds).for_each(run);
}

/// Adds to each key's counter by single reads and writes, gives every value on, sends
/// some, and fails for what its number says, each time.
fn count(batch: &Arc<Batch>, unit: &Mutex<Unit>) -> Result<Result<Output, Failure>, Trap> {
    let mut output = Output::default();
    for event in 0..batch.len() {
        let of = Subject::Event(event as u32);
        let old = unit
            .get(of, 0)
            .unwrap()
            .map_or(0, |bytes| i64::from_be_bytes(bytes[..].try_into().unwrap()));
        unit.put(of, 0, Some(Bytes::copy_from_slice(&(old + 1).to_be_bytes()))).unwrap();
        let number: u32 = std::str::from_utf8(batch.value(event)).unwrap().parse().unwrap();
        match whim(number, 12) {
            0 => output.failures.push((event as u32, Failure::transient("fail", ""))),
            1 => output.failures.push((event as u32, Failure::terminal("worse", ""))),
            2 => return Ok(Err(Failure::transient("whole", ""))),
            3 => return Err(trap(None)),
            4 => output.sends.push((event as u32, request("ship", "ship", "sku", ""))),
            _ => {}
        }
        let value = format!("{number} {}", old + 1);
        output.batch.push(Event {
            timestamp: 5,
            key: batch.key(event),
            value: value.as_bytes(),
            port: 0,
            origin: None,
        });
        output.causes.push(event as u32);
    }
    Ok(Ok(output))
}

fn run_batches(seed: u64) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let ship = Program::new("ship").on("ship", |cx| {
        cx.add(1);
        Ok("")
    });
    let mut world = World::new(vec![Program::new("count").transform(Arc::new(count)), ship]);
    let (mut fed, mut passed, mut committed) = (0, 0, 0);
    let events = |from: u32, to: u32| {
        (from..to).map(|number| format!("key{} {number}", number % 4)).collect::<Vec<_>>()
    };
    for _ in 0..120 {
        match dice.roll(20) {
            0..6 if fed < 120 => {
                let to = (fed + 1 + dice.roll(16) as u32).min(120);
                let batch = events(fed, to);
                world.events("count", &batch.iter().map(String::as_str).collect::<Vec<_>>());
                fed = to;
            }
            6..9 => drop(world.deliver()),
            9..13 => drop(world.skip(dice.roll(200) as u64)),
            13..15 if !world.is_past("count") => {
                world.barrier("count");
                passed = fed;
            }
            15..19 => {
                if !world.is_past("count") {
                    passed = fed;
                }
                world.commit();
                committed = passed;
            }
            19 if dice.roll(3) == 0 => {
                world.crash();
                (fed, passed) = (committed, committed);
            }
            _ => {}
        }
    }
    let batch = events(fed, 120);
    world.events("count", &batch.iter().map(String::as_str).collect::<Vec<_>>());
    world.pass(20_000).finished();

    let is_bad = |number: &u32| whim(*number, 12) < 4;
    let mut bad: Vec<u32> = world
        .dead_letters()
        .iter()
        .map(|letter| String::from_utf8_lossy(&letter.value).parse().unwrap())
        .collect();
    bad.sort_unstable();
    assert_eq!(
        bad,
        (0..120).filter(is_bad).collect::<Vec<_>>(),
        "seed {seed}: each bad event is one dead letter"
    );
    for key in 0..4 {
        let good: Vec<u32> =
            (0..120).filter(|number| number % 4 == key && !is_bad(number)).collect();
        let expected: Vec<String> =
            good.iter().enumerate().map(|(i, number)| format!("{number} {}", i + 1)).collect();
        let of_key = |emitted: &&String| {
            emitted.split_once(' ').unwrap().0.parse::<u32>().unwrap() % 4 == key
        };
        let found: Vec<_> = world.emitted.iter().filter(of_key).cloned().collect();
        assert_eq!(found, expected, "seed {seed}: each good event once, in order of its key");
    }
    let sent = (0..120).filter(|number| whim(*number, 12) == 4).count();
    assert_eq!(world.counter("ship", "sku"), sent as i64, "seed {seed}: sends");
}

#[test]
fn batches_give_the_same_effects_under_random_schedules_and_crashes() {
    (1..=200).for_each(run_batches);
}
