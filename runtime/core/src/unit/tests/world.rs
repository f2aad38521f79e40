//! A pipeline by hand: units and ingress wired together, with epochs, crashes and
//! the order of messages in the test's hands.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;

use super::guest::{HandlerFn, SimGuest, Stop, TransformFn};
use crate::{
    batch::{Batch, Event, Origin},
    clock::Now,
    dead_letter::DeadLetter,
    description::{Cell, CellKind, Description, Handler, Port},
    guest::GuestEvent,
    ids::{Epoch, EventTime, KeyGroup, NodeId, Shard},
    ingress::{Ingress, IngressAction, IngressConfig, IngressRequest, Response},
    message::{Address, Message, Stamped},
    plan::{MissingKey, RetryPolicy, Runs},
    rows::{self, Change},
    unit::{Action, CommittedRows, Target, Unit, UnitConfig, UnitFigures, Waiting},
};

/// The rows of the last commit.
#[derive(Default)]
pub(super) struct Store {
    rows: Mutex<BTreeMap<Vec<u8>, Bytes>>,
    /// Reads fail with this.
    broken: Mutex<Option<&'static str>>,
}

impl Store {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Vec<u8>, Bytes>> {
        self.rows.lock().unwrap()
    }
}

impl CommittedRows for Store {
    fn row(&self, key: &[u8]) -> Result<Option<Bytes>, String> {
        match *self.broken.lock().unwrap() {
            Some(why) => Err(why.into()),
            None => Ok(self.lock().get(key).cloned()),
        }
    }
}

/// What an operator does.
#[derive(Clone)]
pub(super) struct Program {
    name: &'static str,
    handlers: Vec<(&'static str, HandlerFn)>,
    transform: Option<TransformFn>,
    pub(super) retry: RetryPolicy,
    pub(super) concurrency: usize,
    pub(super) keyed: bool,
    pub(super) missing_key: MissingKey,
    /// By default all that can be spilled is, at every commit.
    pub(super) waiting_bytes: usize,
}

impl Program {
    pub(super) fn new(name: &'static str) -> Self {
        let retry = RetryPolicy {
            attempts: 3,
            first: Duration::from_millis(100),
            ..RetryPolicy::default()
        };
        Self {
            name,
            handlers: Vec::new(),
            transform: None,
            retry,
            concurrency: 100,
            keyed: true,
            missing_key: MissingKey::DeadLetter,
            waiting_bytes: 0,
        }
    }

    pub(super) fn on(
        mut self,
        handler: &'static str,
        act: impl Fn(&mut super::guest::Cx<'_>) -> Result<&'static str, Stop> + Send + Sync + 'static,
    ) -> Self {
        self.handlers.push((handler, Arc::new(act)));
        self
    }

    pub(super) fn transform(mut self, act: TransformFn) -> Self {
        self.transform = Some(act);
        self
    }

    pub(super) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn description(&self) -> Description {
        let cell = |name: &str, kind| Cell {
            name: name.into(),
            kind,
            version: 1,
            ttl_ms: None,
            schema: None,
        };
        let handler = |name: &str| Handler {
            name: name.into(),
            doc: String::new(),
            takes_events: true,
            takes_calls: true,
            read_only: name.starts_with("read"),
            input_schema: None,
            output_schema: None,
        };
        Description {
            handlers: self.handlers.iter().map(|(name, _)| handler(name)).collect(),
            inputs: vec![Port { name: "in".into(), doc: String::new(), schema: None }],
            cells: vec![
                cell("n", CellKind::Counter),
                cell("v", CellKind::Value),
                cell("m", CellKind::Map),
            ],
            ..Description::default()
        }
    }
}

struct Node {
    program: Program,
    config: UnitConfig,
    unit: Mutex<Unit>,
    guest: SimGuest,
}

/// Everything.
pub(super) struct World {
    pub(super) now: Now,
    nodes: Vec<Node>,
    ingress: Ingress,
    ingress_config: IngressConfig,
    /// With the node that sent it.
    mail: VecDeque<(usize, Stamped)>,
    #[expect(clippy::type_complexity, reason = "a test's filter")]
    hold: Option<Box<dyn Fn(&Stamped) -> bool>>,
    held: Vec<(usize, Stamped)>,
    store: Arc<Store>,
    delta: Vec<Change>,
    epochs: Vec<u64>,
    committed: u64,
    /// `operator value`, in order.
    pub(super) emitted: Vec<String>,
    /// The epoch of each.
    emitted_in: Vec<u64>,
    /// `operator.handler key #attempt`, of all that began.
    pub(super) begun: Vec<String>,
    pub(super) responses: Vec<(u64, Response)>,
    pub(super) halted: Option<String>,
    /// Rows changed by the last commit.
    pub(super) changed: usize,
}

impl World {
    pub(super) fn new(programs: Vec<Program>) -> Self {
        let store = Arc::new(Store::default());
        let nodes: Arc<[NodeId]> =
            programs.iter().map(|program| program.name.parse().unwrap()).collect();
        let targets = programs.iter().enumerate().map(|(node, program)| {
            let description = Arc::new(program.description());
            let key = Some("/key".parse().unwrap());
            (
                program.name.to_owned(),
                Target {
                    node: node as u16,
                    description,
                    key,
                    waiting: Arc::new(Waiting::new(1 << 30)),
                },
            )
        });
        let targets: Arc<HashMap<String, Target>> = Arc::new(targets.collect());
        let count = programs.len();
        let nodes_of = |(node, program): (usize, Program)| {
            let config = UnitConfig {
                node: node as u16,
                id: program.name.parse().unwrap(),
                task: node as u16,
                incarnation: 1,
                shard: Shard(0),
                shards: 1,
                description: Arc::new(program.description()),
                runs: if program.transform.is_some() { Runs::Transform } else { Runs::Handlers },
                keyed: program.keyed,
                missing_key: program.missing_key,
                module: format!("{}@1.0.0", program.name),
                digest: "sha256:00".into(),
                retry: program.retry,
                concurrency: program.concurrency,
                deadline: Duration::from_secs(120),
                targets: targets.clone(),
                nodes: nodes.clone(),
                edges: Arc::new(["in".to_owned()]),
                topics: Arc::new(["topic".to_owned()]),
                waiting: targets[program.name].waiting.clone(),
                waiting_bytes: program.waiting_bytes,
                seed: 7,
            };
            Node {
                program,
                unit: Mutex::new(Unit::new(config.clone(), Epoch(1), store.clone())),
                config,
                guest: SimGuest::default(),
            }
        };
        let ingress_config = IngressConfig {
            incarnation: 1,
            task: 99,
            targets: targets.clone(),
            nodes: nodes.clone(),
        };
        Self {
            now: Now { monotonic: Duration::ZERO, wall: EventTime(1_000_000) },
            nodes: programs.into_iter().enumerate().map(nodes_of).collect(),
            ingress: Ingress::new(ingress_config.clone(), Epoch(1)),
            ingress_config,
            mail: VecDeque::new(),
            hold: None,
            held: Vec::new(),
            store,
            delta: Vec::new(),
            epochs: vec![1; count + 1],
            committed: 0,
            emitted: Vec::new(),
            emitted_in: Vec::new(),
            begun: Vec::new(),
            responses: Vec::new(),
            halted: None,
            changed: 0,
        }
    }

    /// Events for an operator: `key value`; a key of `-` is none.
    pub(super) fn events(&mut self, operator: &str, events: &[&str]) -> &mut Self {
        let mut batch = Batch::default();
        for (offset, event) in events.iter().enumerate() {
            let (key, value) = event.split_once(' ').unwrap_or((event, ""));
            batch.push(Event {
                timestamp: 5,
                key: (key != "-").then_some(key.as_bytes()),
                value: value.as_bytes(),
                port: 0,
                origin: Some(Origin { source: 0, partition: 0, offset: offset as u64 }),
            });
        }
        let node = self.node(operator);
        let actions = self.unit(node).on_batch(self.now, 0, 0, Arc::new(batch));
        self.act(node, actions);
        self.run(node);
        self
    }

    /// Delivers messages and lets guests run until nothing moves.
    pub(super) fn settle(&mut self) -> &mut Self {
        while self.deliver() {}
        self
    }

    /// Delivers one message. False: there is none that may move.
    pub(super) fn deliver(&mut self) -> bool {
        self.deliver_nth(0)
    }

    /// Delivers a message, not always the oldest, but that of its sender and receiver.
    pub(super) fn deliver_nth(&mut self, nth: usize) -> bool {
        let Some((sender, stamped)) = self.mail.get(nth.min(self.mail.len().saturating_sub(1)))
        else {
            return false;
        };
        let (sender, to) = (*sender, stamped.to.node);
        let oldest = self
            .mail
            .iter()
            .position(|(other, stamped)| *other == sender && stamped.to.node == to)
            .unwrap();
        let (_, stamped) = self.mail.remove(oldest).unwrap();
        if self.hold.as_ref().is_some_and(|hold| hold(&stamped)) {
            self.held.push((sender, stamped));
            return true;
        }
        if stamped.to.node == Address::INGRESS {
            let actions = self.ingress.on_message(self.now, stamped);
            self.act_ingress(actions);
        } else {
            let node = usize::from(stamped.to.node);
            let actions = self.unit(node).on_message(self.now, stamped);
            self.act(node, actions);
            self.run(node);
        }
        true
    }

    /// How many messages are under way.
    pub(super) fn under_way(&self) -> usize {
        self.mail.len()
    }

    /// From now on, messages that fit wait.
    pub(super) fn hold(&mut self, fits: impl Fn(&Message) -> bool + 'static) -> &mut Self {
        self.hold = Some(Box::new(move |stamped| fits(&stamped.message)));
        self
    }

    /// Those that waited go on.
    pub(super) fn let_go(&mut self) -> &mut Self {
        self.hold = None;
        self.mail.extend(std::mem::take(&mut self.held));
        self
    }

    /// Time passes: each second, and whenever somebody wants it.
    pub(super) fn pass(&mut self, ms: u64) -> &mut Self {
        let end = self.now.monotonic + Duration::from_millis(ms);
        while self.now.monotonic < end {
            let wanted =
                self.nodes.iter().filter_map(|node| node.unit.lock().unwrap().next_time(self.now));
            let wanted = wanted.chain(self.ingress.next_time(self.now)).min().unwrap_or(end);
            let next = wanted.clamp(self.now.monotonic + Duration::from_millis(1), end);
            let step = next - self.now.monotonic;
            self.now =
                Now { monotonic: next, wall: EventTime(self.now.wall.0 + step.as_millis() as i64) };
            for node in 0..self.nodes.len() {
                let actions = self.unit(node).on_time(self.now);
                self.act(node, actions);
                self.run(node);
            }
            let actions = self.ingress.on_time(self.now);
            self.act_ingress(actions);
            self.settle();
        }
        self
    }

    /// Has it passed the barrier of the running epoch?
    pub(super) fn is_past(&self, operator: &str) -> bool {
        self.epochs[self.node(operator)] == self.committed + 2
    }

    /// Time passes at once, and everybody is told; no message moves.
    pub(super) fn skip(&mut self, ms: u64) -> &mut Self {
        self.now.monotonic += Duration::from_millis(ms);
        self.now.wall.0 += ms as i64;
        for node in 0..self.nodes.len() {
            let actions = self.unit(node).on_time(self.now);
            self.act(node, actions);
            self.run(node);
        }
        let actions = self.ingress.on_time(self.now);
        self.act_ingress(actions);
        self
    }

    /// One unit passes its barrier.
    pub(super) fn barrier(&mut self, operator: &str) -> &mut Self {
        let node = self.node(operator);
        assert_eq!(self.epochs[node], self.committed + 1, "{operator} is already past it");
        self.epochs[node] += 1;
        let (changes, actions) = self.unit(node).on_barrier(self.now, Epoch(self.committed + 2));
        self.delta.extend(changes);
        self.act(node, actions);
        self.run(node);
        self
    }

    /// Whoever has not passed the barrier does, and the commit is durable. Only then
    /// do messages move again.
    pub(super) fn commit(&mut self) -> &mut Self {
        self.all_barriers();
        self.committed += 1;
        self.changed = self.delta.len();
        for change in std::mem::take(&mut self.delta) {
            match change.value {
                Some(value) => drop(self.store.lock().insert(change.key, value)),
                None => drop(self.store.lock().remove(&change.key)),
            }
        }
        for node in 0..self.nodes.len() {
            let actions = self.unit(node).on_committed(self.now, Epoch(self.committed));
            self.act(node, actions);
            self.run(node);
        }
        let actions = self.ingress.on_committed(self.now, Epoch(self.committed));
        self.act_ingress(actions);
        self
    }

    /// Whoever has not passed the barrier does.
    pub(super) fn all_barriers(&mut self) -> &mut Self {
        for node in 0..self.nodes.len() {
            if self.epochs[node] == self.committed + 1 {
                let name = self.nodes[node].program.name;
                self.barrier(name);
            }
        }
        let ingress = self.nodes.len();
        if self.epochs[ingress] == self.committed + 1 {
            self.epochs[ingress] += 1;
            let (changes, actions) = self.ingress.on_barrier(self.now, Epoch(self.committed + 2));
            self.delta.extend(changes);
            self.act_ingress(actions);
        }
        self
    }

    /// The process dies and starts again from the last commit.
    pub(super) fn crash(&mut self) -> &mut Self {
        self.mail.clear();
        self.held.clear();
        self.hold = None;
        self.delta.clear();
        // What was given on without a commit never was.
        let of = self.emitted_in.iter().map(|epoch| *epoch <= self.committed).collect::<Vec<_>>();
        let mut keep = of.iter();
        self.emitted.retain(|_| *keep.next().unwrap());
        self.emitted_in.retain(|epoch| *epoch <= self.committed);
        let epoch = Epoch(self.committed + 1);
        self.epochs.fill(epoch.0);
        self.now.monotonic = Duration::from_millis(3);
        for node in 0..self.nodes.len() {
            let config = self.nodes[node].config.clone();
            let unit = self.restored(config, epoch);
            self.nodes[node].unit = Mutex::new(unit);
            self.nodes[node].guest = SimGuest::default();
        }
        self.ingress = Ingress::new(self.ingress_config.clone(), epoch);
        let rows = self.scan(rows::ingress_range());
        self.ingress.restore(self.now, rows).unwrap();
        for node in 0..self.nodes.len() {
            let actions = self.unit(node).start(self.now);
            self.act(node, actions);
            self.run(node);
        }
        let actions = self.ingress.start(self.now);
        self.act_ingress(actions);
        self
    }

    /// The shards that an operator would have, from the committed rows.
    pub(super) fn resharded(&self, operator: &str, shards: u16) -> Vec<Unit> {
        let config = &self.nodes[self.node(operator)].config;
        let unit = |shard| {
            let config =
                UnitConfig { shard: Shard(shard), shards, task: 50 + shard, ..config.clone() };
            self.restored(config, Epoch(self.committed + 1))
        };
        (0..shards).map(unit).collect()
    }

    fn restored(&self, config: UnitConfig, epoch: Epoch) -> Unit {
        let ranges = rows::unit_ranges(&config.id, rows::groups_of(config.shard, config.shards));
        let mut unit = Unit::new(config, epoch, self.store.clone());
        for range in ranges {
            for (key, value) in self.scan(range) {
                unit.restore(self.now, &key, &value).unwrap();
            }
        }
        unit
    }

    /// Committed rows cannot be read any more, or can again.
    pub(super) fn break_store(&mut self, why: Option<&'static str>) -> &mut Self {
        *self.store.broken.lock().unwrap() = why;
        self
    }

    pub(super) fn request(&mut self, request: IngressRequest) -> &mut Self {
        let actions = self.ingress.on_request(self.now, request);
        self.act_ingress(actions);
        self
    }

    pub(super) fn with_ingress(
        &mut self,
        act: impl FnOnce(&mut Ingress, Now) -> Vec<IngressAction>,
    ) -> &mut Self {
        let actions = act(&mut self.ingress, self.now);
        self.act_ingress(actions);
        self
    }

    pub(super) fn with_unit(
        &mut self,
        operator: &str,
        act: impl FnOnce(&mut Unit, Now) -> Vec<Action>,
    ) -> &mut Self {
        let node = self.node(operator);
        let now = self.now;
        let actions = act(&mut self.unit(node), now);
        self.act(node, actions);
        self.run(node);
        self
    }

    pub(super) fn figures(&self, operator: &str) -> UnitFigures {
        self.nodes[self.node(operator)].unit.lock().unwrap().figures()
    }

    /// The committed counter of a key.
    pub(super) fn counter(&self, operator: &str, key: &str) -> i64 {
        let id: NodeId = operator.parse().unwrap();
        let cells = self.scan(rows::cells_of_key(&id, key.as_bytes()));
        let cells = cells.iter().map(|(row, value)| rows::cell(row, value).unwrap());
        let counter = cells.into_iter().find(|cell| cell.cell == "n");
        counter.map_or(0, |cell| i64::from_be_bytes(cell.value[..].try_into().unwrap()))
    }

    pub(super) fn dead_letters(&self) -> Vec<DeadLetter> {
        self.scan(rows::dead_letters())
            .iter()
            .map(|(_, value)| rows::dead_letter(value).unwrap())
            .collect()
    }

    /// How many committed rows each table has, but for cells, counts and dead letters.
    pub(super) fn tables(&self) -> BTreeMap<&'static str, usize> {
        let mut tables = BTreeMap::new();
        for key in self.store.lock().keys() {
            let name = rows::Table::of(key).unwrap().name();
            if !["cells", "counts", "edge taken", "dead letters"].contains(&name) {
                *tables.entry(name).or_default() += 1;
            }
        }
        tables
    }

    /// Commits until nothing changes, checks the audit of all, and that no
    /// bookkeeping is left.
    pub(super) fn rest(&mut self) -> &mut Self {
        for _ in 0..6 {
            self.settle().commit();
        }
        assert_eq!(self.changed, 0, "it does not come to rest");
        for node in &self.nodes {
            let unit = node.unit.lock().unwrap();
            let figures = unit.figures();
            assert!(
                figures.counts.balanced(figures.waiting as u64),
                "{}: {figures:?}",
                node.program.name
            );
            assert!(!unit.is_dirty());
        }
        assert!(!self.ingress.is_dirty());
        self
    }

    /// As [`World::rest`], and nothing waits any more.
    pub(super) fn finished(&mut self) -> &mut Self {
        self.rest();
        assert_eq!(self.tables(), BTreeMap::new());
        for node in &self.nodes {
            assert_eq!(node.unit.lock().unwrap().figures().waiting, 0, "{}", node.program.name);
        }
        self
    }

    fn scan(&self, range: rows::Range) -> Vec<(Vec<u8>, Bytes)> {
        let rows = self.store.lock();
        let all = rows.range(range.from..);
        let all = all.take_while(|(key, _)| range.to.as_ref().is_none_or(|to| *key < to));
        all.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    fn node(&self, operator: &str) -> usize {
        self.nodes.iter().position(|node| node.program.name == operator).unwrap()
    }

    fn unit(&self, node: usize) -> std::sync::MutexGuard<'_, Unit> {
        self.nodes[node].unit.lock().unwrap()
    }

    fn act_ingress(&mut self, actions: Vec<IngressAction>) {
        for action in actions {
            match action {
                IngressAction::Post(stamped) => self.mail.push_back((self.nodes.len(), stamped)),
                IngressAction::Respond { ticket, response } => {
                    self.responses.push((ticket, response))
                }
            }
        }
    }

    fn act(&mut self, node: usize, actions: Vec<Action>) {
        for action in actions {
            let name = self.nodes[node].program.name;
            match action {
                Action::Begin(invocation) => {
                    let handler = self.nodes[node].program.handlers[invocation.handler as usize].0;
                    let key = String::from_utf8_lossy(&invocation.key);
                    self.begun.push(format!("{name}.{handler} {key} #{}", invocation.attempt));
                    self.nodes[node].guest.begin(invocation);
                }
                Action::Answer { invocation, call, outcome } => {
                    self.nodes[node].guest.answer(invocation, call, outcome)
                }
                Action::Cancel(invocation) => self.nodes[node].guest.cancel(invocation),
                Action::Process(batch) => {
                    let values = (0..batch.len())
                        .map(|i| String::from_utf8_lossy(batch.value(i)).into_owned());
                    self.begun.push(format!("{name} [{}]", values.collect::<Vec<_>>().join(" ")));
                    let transform = self.nodes[node].program.transform.clone().unwrap();
                    let result = transform(&batch, &self.nodes[node].unit);
                    let actions = self.unit(node).on_processed(self.now, result);
                    self.act(node, actions);
                }
                Action::Post(stamped) => {
                    assert!(
                        stamped.to.node == Address::INGRESS
                            || stamped.to.group < KeyGroup(KeyGroup::COUNT)
                    );
                    self.mail.push_back((node, stamped));
                }
                Action::Emit(batch) => {
                    let values = (0..batch.len())
                        .map(|i| String::from_utf8_lossy(batch.value(i)).into_owned());
                    self.emitted.extend(values);
                    self.emitted_in.resize(self.emitted.len(), self.epochs[node]);
                }
                Action::Halt { reason } => self.halted = Some(reason),
            }
        }
    }

    /// Lets a guest run until it waits and nothing more can be handed to it.
    fn run(&mut self, node: usize) {
        if self.nodes[node].program.transform.is_some() {
            return;
        }
        loop {
            let Node { guest, program, unit, .. } = &mut self.nodes[node];
            match guest.run(&program.handlers, unit) {
                Ok(events) => {
                    let mut moved = false;
                    for event in events {
                        moved |= matches!(event, GuestEvent::Called { .. });
                        let actions = self.unit(node).on_guest(self.now, event);
                        moved |= self.moves(&actions);
                        self.act(node, actions);
                    }
                    let actions = self.unit(node).on_quiescent(self.now);
                    moved |= self.moves(&actions);
                    self.act(node, actions);
                    if !moved {
                        return;
                    }
                }
                Err(trap) => {
                    let actions = self.unit(node).on_trap(self.now, trap);
                    self.act(node, actions);
                }
            }
        }
    }

    fn moves(&self, actions: &[Action]) -> bool {
        actions.iter().any(|action| matches!(action, Action::Begin(_) | Action::Answer { .. }))
    }
}
