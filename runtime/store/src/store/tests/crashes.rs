//! Crashes at every operation of the disk, against a model.
//!
//! A program is a list of steps. It is run once whole, to count the operations of the
//! disk; then once for each of them with a crash there. After each crash the store
//! must hold a prefix of what was submitted, with everything that was acknowledged.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::{Page, disk::Disk};

const DOMAINS: [&str; 3] = ["p", "q", "ingest"];
const TOPICS: [(&str, u32); 2] = [("t", 2), ("u", 1)];

#[derive(Clone, Debug)]
enum Op {
    /// Domain, changed rows, appends (topic, partition, number of records).
    Commit(usize, Vec<(u8, Option<u8>)>, Vec<(usize, u32, u8)>),
    /// Deletes a topic and creates it again.
    Recreate(usize),
    Step,
    Upkeep,
    /// Time passes: the store rests.
    Rest,
    /// The process ends and starts again.
    Reopen,
    /// So many bytes are left on the disk; nothing: as many as are wanted.
    Room(Option<u64>),
    /// This sync from now on fails.
    FailSync(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let rows = prop::collection::vec((0..12u8, prop::option::weighted(0.8, any::<u8>())), 0..4);
    let appends = prop::collection::vec((0..2usize, 0..2u32, 0..5u8), 0..3);
    prop_oneof![
        8 => (0..3usize, rows, appends).prop_map(|(domain, rows, appends)| Op::Commit(domain, rows, appends)),
        1 => (0..2usize).prop_map(Op::Recreate),
        4 => Just(Op::Step),
        2 => Just(Op::Upkeep),
        1 => Just(Op::Rest),
        1 => Just(Op::Reopen),
        1 => prop::option::of(0..1500u64).prop_map(Op::Room),
        1 => (0..4u64).prop_map(Op::FailSync),
    ]
}

/// What a submitted commit does.
#[derive(Clone, Debug)]
enum Effect {
    Commit(Vec<(u8, Option<u8>)>, Vec<(usize, u32, Vec<String>)>),
    Delete(usize),
    Create(usize),
}

struct Submitted {
    domain: &'static str,
    epoch: u64,
    effect: Effect,
    answer: Promise<Result<(), StoreError>>,
    acknowledged: bool,
}

/// The state that a store should have.
#[derive(Debug, Default, PartialEq)]
struct Model {
    epochs: BTreeMap<&'static str, u64>,
    rows: BTreeMap<&'static str, BTreeMap<u8, u8>>,
    topics: BTreeMap<usize, Vec<Vec<String>>>,
}

impl Model {
    fn apply(&mut self, submitted: &Submitted) {
        self.epochs.insert(submitted.domain, submitted.epoch);
        match &submitted.effect {
            Effect::Commit(rows, appends) => {
                let of_domain = self.rows.entry(submitted.domain).or_default();
                for (key, value) in rows {
                    match value {
                        Some(value) => of_domain.insert(*key, *value),
                        None => of_domain.remove(key),
                    };
                }
                for (topic, partition, values) in appends {
                    self.topics.get_mut(topic).unwrap()[*partition as usize]
                        .extend(values.iter().cloned());
                }
            }
            Effect::Delete(topic) => {
                self.topics.remove(topic);
            }
            Effect::Create(topic) => {
                self.topics.insert(*topic, vec![Vec::new(); TOPICS[*topic].1 as usize]);
            }
        }
    }

    fn check(&self, store: &Store) {
        for name in DOMAINS {
            let expected = self.epochs.get(name).copied().unwrap_or(0);
            assert_eq!(store.last_epoch(&domain(name)), Epoch(expected), "epoch of {name}");
            let rows = store.scan(&domain(name), b"", None, Page::default()).unwrap().rows;
            let rows: BTreeMap<u8, u8> =
                rows.iter().map(|(key, value)| (key[0], value[0])).collect();
            assert_eq!(rows, self.rows.get(name).cloned().unwrap_or_default(), "rows of {name}");
            for key in 0..12u8 {
                let value = store.get(&domain(name), &[key]).unwrap().map(|value| value[0]);
                assert_eq!(value, rows.get(&key).copied(), "row {key} of {name}");
            }
        }
        for (number, (name, _)) in TOPICS.iter().enumerate() {
            let Some(expected) = self.topics.get(&number) else {
                assert!(store.topic(&topic(name)).is_none(), "topic {name} is gone");
                continue;
            };
            for (partition, expected) in expected.iter().enumerate() {
                assert_eq!(
                    &values(store, name, partition as u32),
                    expected,
                    "topic {name}/{partition}"
                );
                let info = store.topic(&topic(name)).unwrap().partitions[partition];
                assert_eq!(info.next, Offset(expected.len() as u64));
            }
        }
    }
}

fn options() -> Options {
    Options {
        segment_bytes: 600,
        topic_segment_bytes: 400,
        settle_bytes: 700,
        snapshot_bytes: 900,
        group_bytes: 500,
        rest_after: Duration::from_secs(1),
        ..Options::default()
    }
}

struct Run {
    disk: SimDisk,
    clock: Arc<StillClock>,
    store: Option<Arc<Store>>,
    submitted: Vec<Submitted>,
    /// Space is short.
    limited: bool,
}

impl Run {
    fn new(seed: u64) -> Self {
        Self {
            disk: SimDisk::new(seed),
            clock: Arc::default(),
            store: None,
            submitted: Vec::new(),
            limited: false,
        }
    }

    fn open(&mut self) -> Result<(), StoreError> {
        self.store = None;
        self.disk.set_capacity(None);
        self.limited = false;
        let disk = Arc::new(self.disk.clone());
        self.store = Some(Store::open(
            Path::new(ROOT),
            disk,
            ViewKind::Memory,
            self.clock.clone(),
            options(),
        )?);
        Ok(())
    }

    fn next_epoch(&self, domain: &str) -> u64 {
        self.submitted.iter().filter(|submitted| submitted.domain == domain).count() as u64 + 1
    }

    fn add(
        &mut self,
        domain: &'static str,
        effect: Effect,
        answer: Promise<Result<(), StoreError>>,
    ) {
        let epoch = self.next_epoch(domain);
        self.submitted.push(Submitted { domain, epoch, effect, answer, acknowledged: false });
    }

    fn topic_op(&mut self, effect: Effect) {
        let (answer, done) = Promise::new();
        let store = self.store.as_ref().unwrap();
        match effect {
            Effect::Delete(t) => {
                store.delete_topic(&topic(TOPICS[t].0), Box::new(|r| done(r.map(drop))))
            }
            Effect::Create(t) => {
                let config = TopicConfig { partitions: TOPICS[t].1 };
                store.create_topic(&topic(TOPICS[t].0), config, Box::new(|r| done(r.map(drop))));
            }
            Effect::Commit(..) => unreachable!(),
        }
        self.add("meta", effect, answer);
    }

    /// Plays until the end or until the disk is down.
    fn play(&mut self, ops: &[Op]) {
        if self.open().is_err() {
            return;
        }
        for topic in 0..TOPICS.len() {
            self.topic_op(Effect::Create(topic));
        }
        for op in ops {
            self.play_one(op);
            if self.disk.is_crashed() {
                return;
            }
        }
        self.steps();
    }

    fn play_one(&mut self, op: &Op) {
        match op {
            Op::Commit(number, rows, appends) => {
                let number_of = self.submitted.len();
                let appends: Vec<_> = appends
                    .iter()
                    .map(|(topic, partition, count)| {
                        let values =
                            (0..*count).map(|i| format!("{number_of}.{i}")).collect::<Vec<_>>();
                        (*topic, partition % TOPICS[*topic].1, values)
                    })
                    .collect();
                let changes = rows.iter().map(|(key, value)| Change {
                    key: vec![*key],
                    value: value.map(|value| Bytes::copy_from_slice(&[value])),
                });
                let records = appends.iter().map(|(topic, partition, values)| {
                    append(
                        TOPICS[*topic].0,
                        *partition,
                        &values.iter().map(String::as_str).collect::<Vec<_>>(),
                    )
                });
                let name = DOMAINS[*number];
                let commit =
                    commit_of(name, self.next_epoch(name), changes.collect(), records.collect());
                let (answer, done) = Promise::new();
                self.store
                    .as_ref()
                    .unwrap()
                    .submit(commit, Box::new(|result| done(result.map(drop))));
                self.add(name, Effect::Commit(rows.clone(), appends), answer);
            }
            // To delete and create again takes space, and so does opening.
            Op::Recreate(_) | Op::Reopen if self.limited => {}
            Op::Recreate(topic) => {
                // What waits must find the topic.
                self.steps();
                self.topic_op(Effect::Delete(*topic));
                self.steps();
                if self.disk.is_crashed() {
                    return;
                }
                self.topic_op(Effect::Create(*topic));
                self.steps();
            }
            Op::Step => self.step(),
            Op::Room(room) => {
                self.limited = room.is_some();
                self.disk.set_capacity(room.map(|room| self.disk.used() + room));
            }
            Op::FailSync(n) => self.disk.fail_sync(*n),
            Op::Upkeep => {
                // It fails only when the disk is down.
                let _ = self.store.as_ref().unwrap().upkeep();
            }
            Op::Rest => {
                self.clock.advance(Duration::from_secs(40));
                let _ = self.store.as_ref().unwrap().upkeep();
            }
            Op::Reopen => {
                self.steps();
                if !self.disk.is_crashed() {
                    // A sync that fails ends it; the next one may be better.
                    let opened = self.open().or_else(|_| self.open());
                    assert!(opened.is_ok() || self.disk.is_crashed(), "{:?}", opened.err());
                    // If the store had stopped, now it is known what it holds.
                    if opened.is_ok() && !self.disk.is_crashed() {
                        self.check();
                    }
                }
            }
        }
    }

    fn steps(&mut self) {
        while self.store.as_ref().unwrap().step() {
            self.hear();
        }
    }

    fn step(&mut self) {
        self.store.as_ref().unwrap().step();
        self.hear();
    }

    /// Takes the answers in. What was refused was never there.
    fn hear(&mut self) {
        self.submitted.retain_mut(|submitted| match submitted.answer.get() {
            Some(Ok(())) => {
                submitted.acknowledged = true;
                true
            }
            Some(Err(
                StoreError::Full | StoreError::Fenced { .. } | StoreError::UnknownTopic(_),
            )) => false,
            // The disk went down: nobody knows.
            Some(Err(StoreError::Stopped { .. } | StoreError::Io { .. })) => true,
            Some(Err(error)) => panic!("{error}"),
            None => true,
        });
    }

    /// Checks the store against the model of what it says it has, and that against what
    /// was acknowledged.
    fn check(&mut self) {
        let store = self.store.clone().unwrap();
        // Records that wait for space can be read when there is some.
        self.disk.set_capacity(None);
        self.limited = false;
        // A planned fault may still come.
        let _ = store.upkeep();
        if self.disk.is_crashed() {
            return;
        }
        let mut model = Model::default();
        let mut whole = true;
        let mut held = 0;
        self.hear();
        for submitted in &self.submitted {
            let is_held = submitted.epoch <= store.last_epoch(&domain(submitted.domain)).0;
            assert!(
                is_held || !submitted.acknowledged,
                "{} {} was acknowledged and is lost",
                submitted.domain,
                submitted.epoch
            );
            assert!(
                whole || !is_held,
                "{} {} is there, one before it is not",
                submitted.domain,
                submitted.epoch
            );
            whole &= is_held;
            if is_held {
                held += 1;
                model.apply(submitted);
            }
        }
        model.check(&store);
        self.submitted.truncate(held);
    }

    /// Goes on after a crash, to see that the store is not only readable.
    fn go_on(&mut self) {
        for topic in 0..TOPICS.len() {
            if self.store.as_ref().unwrap().topic(&topic_name(topic)).is_none() {
                self.topic_op(Effect::Create(topic));
            }
        }
        for (number, key) in [(0, 1), (1, 2), (2, 3), (0, 4)] {
            self.play_one(&Op::Commit(number, vec![(key, Some(77))], vec![(0, 1, 2), (1, 0, 1)]));
        }
        self.steps();
        self.play_one(&Op::Upkeep);
        self.check();
    }
}

fn topic_name(number: usize) -> TopicName {
    topic(TOPICS[number].0)
}

fn check_program(seed: u64, ops: &[Op]) {
    let mut whole = Run::new(seed);
    whole.play(ops);
    whole.check();
    for crash_at in 0..whole.disk.operations() {
        let mut run = Run::new(seed ^ crash_at);
        run.disk.crash_at(crash_at);
        run.play(ops);
        run.store = None;
        run.disk.crash();
        // Recovery is broken off as well, somewhere, and done again.
        let again = run.disk.operations() + (seed ^ crash_at) % 17;
        run.disk.crash_at(again);
        if run.open().is_err() {
            assert!(run.disk.is_crashed(), "opening failed though the disk works");
        }
        run.store = None;
        run.disk.crash();
        run.open().unwrap_or_else(|error| panic!("crash at {crash_at}: {error}"));
        run.check();
        run.go_on();
        run.store = None;
        run.disk.crash();
        run.open().unwrap();
        run.check();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_crash_at_any_operation_loses_and_doubles_nothing(seed in any::<u64>(), ops in prop::collection::vec(op(), 1..40)) {
        check_program(seed, &ops);
    }
}

#[test]
fn a_directory_that_was_never_finished_opens() {
    for crash_at in 0..30 {
        let mut run = Run::new(crash_at);
        run.disk.crash_at(crash_at);
        let _ = run.open();
        run.store = None;
        run.disk.crash();
        run.open().unwrap();
        assert!(run.disk.list(Path::new(ROOT)).unwrap().contains(&"format".to_owned()));
    }
}

/// The deletion is in doubt; to say that the topic is there would be a promise.
#[test]
fn a_store_that_has_stopped_decides_nothing_more() {
    let ops = [
        Op::Room(Some(164)),
        Op::Step,
        Op::FailSync(1),
        Op::Step,
        Op::Commit(2, vec![(5, Some(30))], vec![]),
        Op::Step,
        Op::Room(None),
        Op::Recreate(1),
        Op::Upkeep,
        Op::Room(Some(785)),
        Op::Step,
        Op::Commit(1, vec![], vec![(0, 1, 1)]),
        Op::Commit(2, vec![], vec![(0, 1, 2), (1, 0, 1)]),
        Op::Commit(2, vec![(10, Some(165)), (3, Some(159)), (6, Some(225))], vec![]),
        Op::Commit(0, vec![(9, Some(200)), (0, Some(160)), (7, None)], vec![(0, 0, 4)]),
        Op::Step,
        Op::Upkeep,
        Op::Step,
        Op::Commit(1, vec![(10, Some(122)), (3, Some(115)), (3, Some(237))], vec![]),
    ];
    check_program(0, &ops);
}
