//! One machine: a disk, a clock, a store and a pipeline, stepped from one thread in
//! an order that the seed decides.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use rand::{Rng, SeedableRng, rngs::StdRng};
use weir_core::{
    clock::Clock,
    graph::{Graph, Resolved},
    guest::GuestFactory,
    ids::{Epoch, ModuleDigest, NodeId, Partition, PipelineName},
    ingress::{Idempotency, IngressKind, IngressRequest, Response},
    plan::{ModulePin, Plan},
    rows,
    spec::ModuleRef,
};
use weir_engine::{
    actor::{Actor, Next},
    domain::{DomainConfig, DomainHandle, Status, build},
    tuning::Tuning,
};
use weir_store::{
    Dedupe, DedupeId, DomainName, Ingest, NewRecord, NewRecords, Options, SimDisk, Store,
    StoreError, TopicConfig, ViewKind,
};

use crate::{
    chaos::{Chaos, Rates},
    clock::SimClock,
    script::{Factory, Module},
};

const DIR: &str = "/data";

/// Steps after which a run is taken for one that never ends.
const STEPS_MAX: u64 = 3_000_000;

/// What is to be run.
pub struct Setup {
    /// The pipeline file.
    pub text: String,
    /// Modules by name.
    pub modules: Vec<(&'static str, Arc<Module>)>,
    /// Topics and their numbers of partitions.
    pub topics: Vec<(&'static str, u32)>,
    /// Sizes and times.
    pub tuning: Tuning,
    /// Faults of guests.
    pub rates: Rates,
}

/// A machine.
pub struct World {
    /// Decides everything that is left open.
    pub rng: StdRng,
    /// Survives crashes, less what was not synced.
    pub disk: SimDisk,
    /// Goes on over crashes; the monotonic clock too, which no rule forbids.
    pub clock: Arc<SimClock>,
    /// Faults of guests.
    pub chaos: Arc<Chaos>,
    /// How often it went down.
    pub crashes: u32,
    setup: Setup,
    plan: Arc<Plan>,
    live: Option<Live>,
    steps: u64,
    answers: Arc<Mutex<Answers>>,
}

/// What is gone after a crash.
struct Live {
    actors: Vec<Slot>,
    handle: DomainHandle,
    ingest: Arc<Ingest>,
    store: Arc<Store>,
}

struct Slot {
    actor: Box<dyn Actor>,
    next: Next,
}

/// What clients were told; it outlives crashes, as they do.
#[derive(Default)]
struct Answers {
    ingested: HashMap<String, Result<(), StoreError>>,
    responses: HashMap<String, Response>,
}

impl World {
    /// Sets a machine up and starts it.
    #[must_use]
    pub fn new(seed: u64, setup: Setup) -> Self {
        let plan = Arc::new(plan(&setup));
        let chaos = Arc::new(Chaos::new(seed ^ 0xc4a05, setup.rates));
        let mut world = Self {
            rng: StdRng::seed_from_u64(seed),
            disk: SimDisk::new(seed ^ 0xd15c),
            clock: Arc::new(SimClock::default()),
            chaos,
            crashes: 0,
            setup,
            plan,
            live: None,
            steps: 0,
            answers: Arc::default(),
        };
        world.start();
        world
    }

    /// The plan that runs.
    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The handle of the pipeline.
    ///
    /// # Panics
    /// If the machine is down.
    #[must_use]
    pub fn handle(&self) -> &DomainHandle {
        &self.live.as_ref().expect("the machine is up").handle
    }

    /// The store.
    ///
    /// # Panics
    /// If the machine is down.
    #[must_use]
    pub fn store(&self) -> &Arc<Store> {
        &self.live.as_ref().expect("the machine is up").store
    }

    /// How many actors are not done.
    #[must_use]
    pub fn actors(&self) -> usize {
        self.live.as_ref().map_or(0, |live| live.actors.len())
    }

    /// Changes what is run from the next start on.
    pub fn setup(&mut self) -> &mut Setup {
        &mut self.setup
    }

    /// Goes down without warning and comes up again.
    pub fn crash(&mut self) {
        self.crashes += 1;
        self.live = None;
        self.disk.crash();
        self.start();
    }

    /// Ends the process in order, with a last commit, and starts it again.
    ///
    /// # Panics
    /// If the pipeline does not stop.
    pub fn restart(&mut self) {
        self.handle().stop();
        self.run_until("the pipeline stops", |world| {
            world.handle().health().status == Status::Stopped
        });
        self.live = None;
        self.start();
    }

    /// Starts the machine.
    ///
    /// # Panics
    /// If the store or the pipeline cannot be loaded.
    pub fn start(&mut self) {
        self.plan = Arc::new(plan(&self.setup));
        let options = Options {
            segment_bytes: 64 << 10,
            topic_segment_bytes: 16 << 10,
            ..Options::default()
        };
        let clock: Arc<dyn Clock> = self.clock.clone();
        let store = Store::open(
            Path::new(DIR),
            Arc::new(self.disk.clone()),
            ViewKind::Memory,
            clock.clone(),
            options,
        )
        .unwrap_or_else(|error| panic!("the store does not open: {error}"));
        for (topic, partitions) in &self.setup.topics {
            let name = topic.parse().expect("a topic name");
            if store.topic(&name).is_none() {
                store.create_topic(
                    &name,
                    TopicConfig { partitions: *partitions },
                    Box::new(|_| {}),
                );
                while store.step() {}
            }
        }
        let guests = self
            .setup
            .modules
            .iter()
            .map(|(name, module)| (*name, module.clone()))
            .collect::<HashMap<_, _>>();
        let factories = self
            .plan
            .operators()
            .map(|(node, operator)| {
                let module = guests[operator.module.name.as_str()].clone();
                let factory: Arc<dyn GuestFactory> =
                    Arc::new(Factory::new(module, self.chaos.clone()));
                (node.id.clone(), factory)
            })
            .collect();
        let (actors, handle) = build(DomainConfig {
            name: pipeline(),
            plan: self.plan.clone(),
            incarnation: 1,
            guests: factories,
            store: store.clone(),
            clock,
            seed: 7,
            tuning: self.setup.tuning.clone(),
            paused: false,
        })
        .unwrap_or_else(|error| panic!("the pipeline does not load: {error}"));
        let actors = actors.into_iter().map(|actor| Slot { actor, next: Next::Again }).collect();
        self.live = Some(Live { actors, handle, ingest: Ingest::new(store.clone()), store });
    }

    /// Lets one actor, or the store, do one step. False if there is nothing to do but
    /// wait.
    ///
    /// # Panics
    /// After too many steps.
    pub fn step(&mut self) -> bool {
        self.steps += 1;
        assert!(self.steps < STEPS_MAX, "this never ends");
        if self.rng.random_range(0..4) == 0 {
            self.clock.advance(Duration::from_micros(self.rng.random_range(0..800)));
        }
        let now = self.clock.now();
        let Some(live) = &mut self.live else { return false };
        let is_ready = |slot: &Slot| {
            slot.actor.signal().is_raised()
                || match slot.next {
                    Next::Again => true,
                    Next::At(at) => at <= now.monotonic,
                    Next::Idle | Next::Done => false,
                }
        };
        let ready: Vec<usize> =
            (0..live.actors.len()).filter(|i| is_ready(&live.actors[*i])).collect();
        let choice = self.rng.random_range(0..=ready.len());
        if choice == ready.len() {
            if live.store.step() {
                return true;
            }
            if ready.is_empty() {
                return false;
            }
        }
        let slot = &mut live.actors[ready[choice.min(ready.len() - 1)]];
        slot.actor.signal().lower();
        slot.next = slot.actor.step(now);
        if slot.next == Next::Done {
            live.actors.retain(|slot| slot.next != Next::Done);
        }
        true
    }

    /// Steps as often as there is something to do, at most so often.
    pub fn steps(&mut self, n: u64) {
        for _ in 0..n {
            if !self.step() && !self.wait(Duration::from_secs(60)) {
                return;
            }
        }
    }

    /// Nothing is to be done now: moves the clock to the next time at which something
    /// is, unless that is further away than this. False if so.
    pub fn wait(&mut self, at_most: Duration) -> bool {
        let now = self.clock.now().monotonic;
        let next = self.live.as_ref().and_then(|live| {
            let times = live.actors.iter().filter_map(|slot| match slot.next {
                Next::At(at) => Some(at),
                _ => None,
            });
            times.min()
        });
        match next {
            Some(at) if at <= now + at_most => {
                self.clock.advance_to(at);
                true
            }
            _ => false,
        }
    }

    /// Steps until a condition holds.
    ///
    /// # Panics
    /// If there is nothing more to do and it does not.
    pub fn run_until(&mut self, what: &str, condition: impl Fn(&Self) -> bool) {
        while !condition(self) {
            if !self.step() {
                assert!(
                    self.wait(Duration::from_secs(600)),
                    "nothing more happens, but not yet: {what} ({:?})",
                    self.handle().health()
                );
            }
        }
    }

    /// Steps until nothing more happens within a while of simulated time.
    pub fn settle(&mut self, within: Duration) {
        let end = self.clock.now().monotonic + within;
        loop {
            while self.step() {}
            let rest = end.saturating_sub(self.clock.now().monotonic);
            if rest.is_zero() || !self.wait(rest) {
                return;
            }
        }
    }

    /// A client appends a record; `id` is its idempotency key.
    ///
    /// # Panics
    /// If the machine is down.
    pub fn ingest(&self, topic: &str, id: &str, key: &str, value: &str) {
        let live = self.live.as_ref().expect("the machine is up");
        let record = NewRecord {
            key: Some(Bytes::copy_from_slice(key.as_bytes())),
            value: Bytes::copy_from_slice(value.as_bytes()),
            timestamp: self.clock.now().wall,
            headers: Vec::new(),
            partition: None,
        };
        let mut body_hash = [0; 32];
        body_hash[..8].copy_from_slice(&weir_core::ids::hash_key(value.as_bytes()).to_be_bytes());
        let dedupe = Dedupe { id: DedupeId::Key(id.into()), body_hash };
        let answers = self.answers.clone();
        let id = id.to_owned();
        live.ingest.append(
            &topic.parse().expect("a topic name"),
            NewRecords::List(vec![record]),
            Some(dedupe),
            Box::new(move |outcome| {
                lock(&answers).ingested.insert(id, outcome.map(|_| ()));
            }),
        );
    }

    /// Was the append with this idempotency key answered well?
    #[must_use]
    pub fn is_ingested(&self, id: &str) -> bool {
        matches!(lock(&self.answers).ingested.get(id), Some(Ok(())))
    }

    /// A client calls or sends over HTTP; `id` is its idempotency key. False if it is
    /// refused for now.
    pub fn request(
        &self,
        id: &str,
        kind: IngressKind,
        (operator, handler): (&str, &str),
        key: &str,
        value: &str,
    ) -> bool {
        let request = IngressRequest {
            ticket: 0,
            kind,
            operator: operator.into(),
            handler: handler.into(),
            key: Some(Bytes::copy_from_slice(key.as_bytes())),
            value: Bytes::copy_from_slice(value.as_bytes()),
            idempotency: Some(Idempotency { key: id.into(), body: [1; 16] }),
        };
        let answers = self.answers.clone();
        let id = id.to_owned();
        let respond = Box::new(move |response| {
            lock(&answers).responses.insert(id, response);
        });
        self.handle().request(request, respond).is_ok()
    }

    /// What a client was told.
    #[must_use]
    pub fn response(&self, id: &str) -> Option<Response> {
        lock(&self.answers).responses.get(id).cloned()
    }

    /// All values of a topic, by partition, as a reader sees them.
    ///
    /// # Panics
    /// If it cannot be read.
    #[must_use]
    pub fn records(&self, topic: &str) -> Vec<Vec<(String, String)>> {
        let name = topic.parse().expect("a topic name");
        let info = self.store().topic(&name).expect("the topic");
        info.partitions
            .iter()
            .enumerate()
            .map(|(i, partition)| {
                let mut records = Vec::new();
                let mut from = partition.first;
                while from < partition.next {
                    let read = self
                        .store()
                        .read(&name, Partition(i as u32), from, 1000, 1 << 20)
                        .expect("records");
                    for n in 0..read.batch.len() {
                        records.push((text(read.batch.key_bytes(n)), text(read.batch.value(n))));
                    }
                    from = read.next;
                }
                records
            })
            .collect()
    }

    /// All values of a topic.
    #[must_use]
    pub fn values(&self, topic: &str) -> Vec<String> {
        self.records(topic).into_iter().flatten().map(|(_, value)| value).collect()
    }

    /// Committed rows of the pipeline.
    ///
    /// # Panics
    /// If they cannot be read.
    #[must_use]
    pub fn rows(&self, range: &rows::Range) -> Vec<(Vec<u8>, Bytes)> {
        let domain = domain();
        let rows = self.store().scan_all(&domain, &range.from, range.to.as_deref());
        rows.collect::<Result<_, _>>().expect("rows")
    }

    /// All committed state of an operator: key, cell, entry -> value.
    ///
    /// # Panics
    /// If it cannot be read.
    #[must_use]
    pub fn state(&self, operator: &str) -> BTreeMap<(String, String, Vec<u8>), Bytes> {
        let id: NodeId = operator.parse().expect("an operator");
        let mut state = BTreeMap::new();
        for group in 0..weir_core::ids::KeyGroup::COUNT {
            for (key, value) in
                self.rows(&rows::cells_of_group(&id, weir_core::ids::KeyGroup(group), b""))
            {
                let cell = rows::cell(&key, &value).expect("a cell");
                state.insert((text(&cell.key), cell.cell, cell.entry.to_vec()), cell.value);
            }
        }
        state
    }

    /// A committed counter.
    #[must_use]
    pub fn counter(&self, operator: &str, key: &str, cell: &str) -> i64 {
        crate::script::number(
            self.state(operator)
                .get(&(key.to_owned(), cell.to_owned(), Vec::new()))
                .map(|value| &**value),
        )
    }

    /// The entries of a committed list or map, in order.
    #[must_use]
    pub fn entries(&self, operator: &str, key: &str, cell: &str) -> Vec<String> {
        let state = self.state(operator);
        let of = |(k, c, _): &(String, String, Vec<u8>)| k == key && c == cell;
        state.iter().filter(|(at, _)| of(at)).map(|(_, value)| text(value)).collect()
    }

    /// Committed dead letters of an operator.
    ///
    /// # Panics
    /// If they cannot be read.
    #[must_use]
    pub fn dead_letters(&self, operator: &str) -> Vec<weir_core::dead_letter::DeadLetter> {
        let id: NodeId = operator.parse().expect("an operator");
        let rows = self.rows(&rows::dead_letters_of(&id));
        rows.iter().map(|(_, value)| rows::dead_letter(value).expect("a dead letter")).collect()
    }

    /// Committed rows of things that are under way, by table: nothing is, once all has
    /// been worked off. Requests are kept for 24 h.
    ///
    /// # Panics
    /// If they cannot be read.
    #[must_use]
    pub fn leftovers(&self) -> Vec<String> {
        let all = rows::Range { from: Vec::new(), to: None };
        let mut left = Vec::new();
        for (key, _) in self.rows(&all) {
            if let Some((
                table @ ("waiting" | "journals" | "outbox" | "answers" | "edge queued"),
                owner,
            )) = rows::owner_of(&key)
            {
                left.push(format!("{table} of {owner}"));
            }
        }
        left
    }

    /// The last durable epoch.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.store().last_epoch(&domain())
    }
}

fn pipeline() -> PipelineName {
    "sim".parse().expect("a name")
}

fn domain() -> DomainName {
    DomainName::of_pipeline(&pipeline())
}

fn plan(setup: &Setup) -> Plan {
    let resolve = |wanted: &ModuleRef| {
        let (name, module) = setup
            .modules
            .iter()
            .find(|(name, _)| *name == wanted.name.as_str())
            .unwrap_or_else(|| panic!("no module `{wanted}`"));
        Ok(Resolved {
            pin: ModulePin {
                name: name.parse().expect("a module name"),
                version: semver::Version::new(1, 0, 0),
                digest: ModuleDigest([0; 32]),
            },
            description: Arc::new(module.description()),
        })
    };
    match Graph::from_text(&setup.text, &resolve) {
        Ok(graph) => Plan::from(graph),
        Err(problems) => panic!("the pipeline file is wrong: {problems:#?}"),
    }
}

/// Bytes that should be text.
#[must_use]
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn lock(answers: &Mutex<Answers>) -> std::sync::MutexGuard<'_, Answers> {
    answers.lock().unwrap_or_else(PoisonError::into_inner)
}
