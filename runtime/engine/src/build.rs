//! Puts the actors of a pipeline together, as of its last commit.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::AtomicU64},
};

use bytes::Bytes;
use weir_core::{
    clock::Now,
    epoch::{Alignment, Credit},
    ids::{Epoch, KeyGroup, NodeId, Partition, Shard},
    ingress::{Ingress, IngressConfig},
    message::Stamped,
    plan::{Edge, Node, NodeKind, Operator, Partitioning, Plan, Runs, Sink, Source},
    rows::{self, RowError},
    unit::{CommittedRows, DEADLINE, Target, Unit, UnitConfig, Waiting},
};
use weir_store::{DomainName, Store};

use crate::{
    actor::{Actor, Signal},
    channel::Channel,
    coordinator::{Board, Control, Coordinator, Event, Line},
    domain::{DomainConfig, DomainHandle, Inner, Status},
    error::EngineError,
    figures::Figures,
    ingress::IngressTask,
    ledger::{EdgeName, Ledger},
    mailbox::Mailbox,
    network::Network,
    router::{Lane, Outlet, To},
    shared::Shared,
    sink::SinkShard,
    source::{Reader, SourceShard},
    station::Station,
    task::{Input, Place, Root, Task},
};

/// Loads a pipeline as of its last commit. Nothing runs before the actors are
/// stepped.
///
/// # Errors
/// If a module or a topic is missing, or what is stored cannot be read.
pub fn build(config: DomainConfig) -> Result<(Vec<Box<dyn Actor>>, DomainHandle), EngineError> {
    Builder::new(config).build()
}

/// The mailboxes of one shard of a task.
struct Post {
    signal: Arc<Signal>,
    control: Mailbox<Control>,
    inbox: Mailbox<Stamped>,
}

/// What the parts are made with.
struct Builder {
    config: DomainConfig,
    plan: Arc<Plan>,
    domain: DomainName,
    now: Now,
    running: Epoch,
    figures: Arc<Figures>,
    nodes: Arc<[NodeId]>,
    edges: Arc<[EdgeName]>,
    edge_names: Arc<[String]>,
    topics: Arc<[String]>,
    targets: Arc<HashMap<String, Target>>,
    /// By node: what waits there, which only operators have.
    waiting: Vec<Arc<Waiting>>,
    /// By task, then by shard.
    posts: Vec<Vec<Post>>,
    /// By edge, producer's shard, consumer's shard.
    channels: HashMap<(u16, u16, u16), Arc<Channel>>,
}

impl Builder {
    fn new(config: DomainConfig) -> Self {
        let plan = config.plan.clone();
        let domain = DomainName::of_pipeline(&config.name);
        let figures = Arc::new(Figures::new(&plan));
        let quota = config.tuning.waiting_quota;
        let waiting: Vec<_> = plan.nodes.iter().map(|_| Arc::new(Waiting::new(quota))).collect();
        let durable = config.store.last_epoch(&domain);
        figures.set_epoch(durable);
        let edges: Arc<[EdgeName]> = plan.edges.iter().map(|edge| edge_name(&plan, edge)).collect();
        let post = || {
            let signal = Signal::new();
            Post {
                control: Mailbox::new(signal.clone()),
                inbox: Mailbox::new(signal.clone()),
                signal,
            }
        };
        Self {
            now: config.clock.now(),
            running: durable.next(),
            nodes: plan.nodes.iter().map(|node| node.id.clone()).collect(),
            edge_names: edges.iter().map(|edge| edge.name.clone()).collect(),
            topics: plan.nodes.iter().map(topic_of_source).collect(),
            targets: Arc::new(
                plan.operators()
                    .filter_map(|(node, operator)| target(node, operator, &waiting))
                    .collect(),
            ),
            posts: plan
                .tasks
                .iter()
                .map(|task| (0..task.shards).map(|_| post()).collect())
                .collect(),
            channels: HashMap::new(),
            config,
            plan,
            domain,
            figures,
            edges,
            waiting,
        }
    }

    fn build(mut self) -> Result<(Vec<Box<dyn Actor>>, DomainHandle), EngineError> {
        self.connect();
        let ingress = Signal::new();
        let ingress_inbox = Mailbox::new(ingress.clone());
        let ingress_control = Mailbox::new(ingress.clone());
        let commands = Mailbox::new(ingress.clone());
        let signal = Signal::new();
        let events: Mailbox<Event> = Mailbox::new(signal.clone());
        let by_node = |of: fn(&Post) -> Mailbox<Stamped>| -> Vec<Vec<Mailbox<Stamped>>> {
            let shards = |node: &Node| match node.kind {
                NodeKind::Operator(_) => {
                    self.posts[usize::from(node.task)].iter().map(of).collect()
                }
                _ => Vec::new(),
            };
            self.plan.nodes.iter().map(shards).collect()
        };
        let network = Arc::new(Network::new(
            by_node(|post| post.inbox.clone()),
            ingress_inbox.clone(),
            self.figures.clone(),
        ));
        let controls = self
            .plan
            .nodes
            .iter()
            .map(|node| {
                self.posts[usize::from(node.task)].iter().map(|post| post.control.clone()).collect()
            })
            .collect();
        let shared = Arc::new(self.shared(signal.clone()));

        let mut actors: Vec<Box<dyn Actor>> = Vec::new();
        let mut lines = vec![Line { control: ingress_control.clone(), is_root: true }];
        for task in 0..self.plan.tasks.len() {
            for shard in 0..self.plan.tasks[task].shards {
                let actor = self.task(task, shard, &shared, &network, &events)?;
                lines.push(Line {
                    control: actor.control.clone(),
                    is_root: actor.alignment.is_none(),
                });
                actors.push(Box::new(actor));
            }
        }
        actors.push(Box::new(IngressTask {
            name: format!("{}/ingress", self.config.name),
            signal: ingress,
            shared: shared.clone(),
            network: network.clone(),
            control: ingress_control,
            inbox: ingress_inbox,
            commands: commands.clone(),
            coordinator: events.clone(),
            epoch: self.running,
            ingress: self.ingress()?,
            askers: HashMap::new(),
            started: false,
        }));
        let all_lines = lines.iter().map(|line| line.control.clone()).collect();
        let board = Arc::new(Board::default());
        let status = if self.config.paused { Status::Paused } else { Status::Running };
        actors.push(Box::new(Coordinator::new(
            format!("{}/coordinator", self.config.name),
            self.domain.clone(),
            shared,
            network,
            events.clone(),
            signal,
            lines,
            board.clone(),
            self.running,
            status,
        )));
        let handle = DomainHandle {
            inner: Arc::new(Inner {
                plan: self.plan,
                waiting: self.waiting,
                figures: self.figures,
                board,
                events,
                commands,
                lines: all_lines,
                controls,
                tickets: AtomicU64::new(1),
            }),
        };
        Ok((actors, handle))
    }

    /// Makes the queues of all edges between tasks.
    fn connect(&mut self) {
        let tuning = &self.config.tuning;
        for edge in self.plan.edges.iter().filter(|edge| edge.partitioning == Partitioning::Hash) {
            let from = &self.plan.nodes[usize::from(edge.from)];
            let to = &self.plan.nodes[usize::from(edge.to)];
            for producer in 0..from.shards {
                for consumer in 0..to.shards {
                    let channel = Channel::new(
                        edge.index,
                        self.running,
                        Credit::new(tuning.queue_records, tuning.queue_bytes),
                        self.posts[usize::from(from.task)][usize::from(producer)].signal.clone(),
                        self.posts[usize::from(to.task)][usize::from(consumer)].signal.clone(),
                        self.figures.clone(),
                    );
                    self.channels.insert((edge.index, producer, consumer), channel);
                }
            }
            if let Some(figures) = self.figures.edge(edge.index) {
                let queues = u64::from(from.shards) * u64::from(to.shards);
                figures.set_capacity(queues * tuning.queue_records as u64);
            }
        }
    }

    fn shared(&self, coordinator: Arc<Signal>) -> Shared {
        let sources = self
            .plan
            .nodes
            .iter()
            .filter(|node| matches!(node.kind, NodeKind::Source(_)))
            .flat_map(|node| {
                self.posts[usize::from(node.task)]
                    .iter()
                    .map(|post| (node.index, post.signal.clone()))
            })
            .collect();
        Shared::new(
            self.plan.clone(),
            self.figures.clone(),
            self.config.store.clone(),
            self.config.clock.clone(),
            self.config.tuning.clone(),
            coordinator,
            sources,
            self.waiting.clone(),
        )
    }

    /// One shard of a task with all its nodes.
    fn task(
        &self,
        task: usize,
        shard: u16,
        shared: &Arc<Shared>,
        network: &Arc<Network>,
        events: &Mailbox<Event>,
    ) -> Result<Task, EngineError> {
        let plan = &self.plan.tasks[task];
        let post = &self.posts[task][usize::from(shard)];
        let nodes = || plan.nodes.iter().map(|node| &self.plan.nodes[usize::from(*node)]);
        let operators: Vec<u16> =
            nodes().filter(|n| matches!(n.kind, NodeKind::Operator(_))).map(|n| n.index).collect();
        let sinks: Vec<u16> =
            nodes().filter(|n| matches!(n.kind, NodeKind::Sink(_))).map(|n| n.index).collect();
        let place = |node: u16| match operators.iter().position(|n| *n == node) {
            Some(i) => Place::Station(i),
            None => Place::Sink(sinks.iter().position(|n| *n == node).unwrap_or_default()),
        };
        let group = first_group(shard, plan.shards);
        let outlets = |node: &Node| -> Result<Vec<Outlet>, EngineError> {
            self.plan
                .outputs_of(node.index)
                .map(|edge| self.outlet(edge, shard, group, &place))
                .collect()
        };

        let mut root = None;
        let mut stations = Vec::new();
        let mut sink_shards = Vec::new();
        for node in nodes() {
            match &node.kind {
                NodeKind::Source(source) => {
                    let signal = post.signal.clone();
                    root = Some(Root {
                        _watch: self
                            .config
                            .store
                            .watch(&source.topic, Arc::new(move || signal.raise())),
                        source: self.source(node, source, shard)?,
                        outlets: outlets(node)?,
                    });
                }
                NodeKind::Operator(operator) => {
                    let factory = self
                        .config
                        .guests
                        .get(&node.id)
                        .ok_or_else(|| EngineError::NoModule(node.id.clone()))?
                        .clone();
                    stations.push(Station::new(
                        format!("{}/{}/{shard}", self.config.name, node.id),
                        node.index,
                        shard,
                        self.unit(node, operator, shard)?,
                        self.waiting[usize::from(node.index)].clone(),
                        factory,
                        outlets(node)?,
                        network.clone(),
                        self.figures.clone(),
                        &self.config.tuning,
                    ));
                }
                NodeKind::Sink(sink) => sink_shards.push(self.sink(node, sink, shard, group)?),
            }
        }
        let inputs = self.inputs(&plan.nodes, shard, &place);
        let first = nodes().next().map_or("?", |node| node.id.as_str());
        Ok(Task {
            name: format!("{}/{first}/{shard}", self.config.name),
            signal: post.signal.clone(),
            shared: shared.clone(),
            control: post.control.clone(),
            inbox: post.inbox.clone(),
            coordinator: events.clone(),
            epoch: self.running,
            root,
            alignment: (!inputs.is_empty()).then(|| Alignment::new(inputs.len())),
            inputs,
            stations,
            sinks: sink_shards,
            ledger: Ledger::new(self.nodes.clone(), self.edges.clone(), group),
            entries: self.plan.edges.iter().map(|edge| edge.entry).collect(),
            turn: 0,
            started: false,
            messages: Vec::new(),
            done: false,
        })
    }

    /// All queues into a task.
    fn inputs(&self, nodes: &[u16], shard: u16, place: &dyn Fn(u16) -> Place) -> Vec<Input> {
        let mut inputs = Vec::new();
        for edge in &self.plan.edges {
            if edge.partitioning == Partitioning::Hash && nodes.contains(&edge.to) {
                for producer in 0..self.plan.nodes[usize::from(edge.from)].shards {
                    if let Some(channel) = self.channels.get(&(edge.index, producer, shard)) {
                        inputs.push(Input {
                            channel: channel.clone(),
                            edge: edge.index,
                            into: place(edge.to),
                        });
                    }
                }
            }
        }
        inputs
    }

    fn outlet(
        &self,
        edge: &Edge,
        shard: u16,
        group: KeyGroup,
        place: &dyn Fn(u16) -> Place,
    ) -> Result<Outlet, EngineError> {
        let consumer = &self.plan.nodes[usize::from(edge.to)];
        let to = match edge.partitioning {
            Partitioning::Forward => match place(edge.to) {
                Place::Station(i) => To::Station(i),
                Place::Sink(i) => To::Sink(i),
            },
            Partitioning::Hash => To::Lanes(
                (0..consumer.shards)
                    .filter_map(|to| self.channels.get(&(edge.index, shard, to)))
                    .map(|channel| Lane::new(channel.clone()))
                    .collect(),
            ),
        };
        let entry_port = match &consumer.kind {
            NodeKind::Operator(operator) if operator.runs == Runs::Transform => edge.entry as u8,
            _ => 0,
        };
        let name = &self.edges[usize::from(edge.index)].name;
        let key = rows::edge_sent_key(&self.nodes[usize::from(edge.from)], group, name);
        let sent = self.number(edge.from, &key)?;
        Ok(Outlet::new(edge, entry_port, to, sent, &self.config.tuning, self.figures.clone()))
    }

    fn source(&self, node: &Node, source: &Source, shard: u16) -> Result<SourceShard, EngineError> {
        let info = self
            .config
            .store
            .topic(&source.topic)
            .ok_or_else(|| EngineError::NoTopic(source.topic.clone()))?;
        let mut committed = HashMap::new();
        for (key, value) in self.rows(rows::positions_of(&node.id))? {
            let (of, position) =
                rows::position(&key, &value).map_err(|error| unreadable(node, &error))?;
            if of.id == info.id {
                committed.insert(of.partition, position);
            }
        }
        let mut readers = Vec::new();
        for (i, partition) in info.partitions.iter().enumerate() {
            if i % usize::from(node.shards) != usize::from(shard) {
                continue;
            }
            let number = Partition(i as u32);
            readers.push(match committed.get(&number) {
                Some(position) => {
                    Reader::restored(number, position.start, position.next, position.read)
                }
                None => Reader::beginning(number, source.from, partition.first, partition.next),
            });
        }
        Ok(SourceShard::new(node.index, shard, source, info.id, readers))
    }

    fn unit(&self, node: &Node, operator: &Operator, shard: u16) -> Result<Unit, EngineError> {
        let task = node.first_unit + shard;
        let config = UnitConfig {
            node: node.index,
            id: node.id.clone(),
            task,
            incarnation: self.config.incarnation,
            shard: Shard(shard),
            shards: node.shards,
            description: operator.description.clone(),
            runs: operator.runs,
            keyed: operator.runs == Runs::Handlers || operator.key.is_some(),
            missing_key: operator.missing_key,
            module: operator.module.to_string(),
            digest: operator.module.digest.to_string(),
            retry: operator.retry,
            concurrency: (operator.concurrency as usize / usize::from(node.shards)).max(1),
            deadline: DEADLINE,
            targets: self.targets.clone(),
            nodes: self.nodes.clone(),
            edges: self.edge_names.clone(),
            topics: self.topics.clone(),
            waiting: self.waiting[usize::from(node.index)].clone(),
            waiting_bytes: self.config.tuning.waiting_bytes,
            seed: self.config.seed ^ u64::from(task).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        };
        let rows = Rows { store: self.config.store.clone(), domain: self.domain.clone() };
        let mut unit = Unit::new(config, self.running, Arc::new(rows));
        for range in rows::unit_ranges(&node.id, rows::groups_of(Shard(shard), node.shards)) {
            let rows = self.config.store.scan_all(&self.domain, &range.from, range.to.as_deref());
            for row in rows {
                let (key, value) = row?;
                unit.restore(self.now, &key, &value).map_err(|error| unreadable(node, &error))?;
            }
        }
        Ok(unit)
    }

    fn sink(
        &self,
        node: &Node,
        sink: &Sink,
        shard: u16,
        group: KeyGroup,
    ) -> Result<SinkShard, EngineError> {
        let topic = match sink {
            Sink::Discard => None,
            Sink::Topic { topic, .. } => {
                let info = self
                    .config
                    .store
                    .topic(topic)
                    .ok_or_else(|| EngineError::NoTopic(topic.clone()))?;
                Some((topic.clone(), info.config.partitions))
            }
        };
        let mut taken = Vec::new();
        for edge in self.plan.inputs_of(node.index) {
            let key =
                rows::edge_taken_key(&node.id, group, &self.edges[usize::from(edge.index)].name);
            taken.push((edge.index, self.number(node.index, &key)?));
        }
        Ok(SinkShard::new(node.index, shard, topic, taken))
    }

    fn ingress(&self) -> Result<Ingress, EngineError> {
        let units = self.plan.nodes.iter().map(|node| node.first_unit + node.shards).max();
        let config = IngressConfig {
            incarnation: self.config.incarnation,
            task: units.unwrap_or(0),
            targets: self.targets.clone(),
            nodes: self.nodes.clone(),
        };
        let mut ingress = Ingress::new(config, self.running);
        let rows = self.rows(rows::ingress_range())?;
        ingress.restore(self.now, rows).map_err(|error| EngineError::Rows {
            node: "ingress".into(),
            reason: error.to_string(),
        })?;
        Ok(ingress)
    }

    fn number(&self, node: u16, key: &[u8]) -> Result<u64, EngineError> {
        match self.config.store.get(&self.domain, key)? {
            None => Ok(0),
            Some(value) => rows::number(&value)
                .map_err(|error| unreadable(&self.plan.nodes[usize::from(node)], &error)),
        }
    }

    /// All committed rows of a range.
    fn rows(&self, range: rows::Range) -> Result<Vec<(Vec<u8>, Bytes)>, EngineError> {
        scan(&self.config.store, &self.domain, range)
    }
}

/// All committed rows of a range.
///
/// # Errors
/// What the store says.
pub(crate) fn scan(
    store: &Store,
    domain: &DomainName,
    range: rows::Range,
) -> Result<Vec<(Vec<u8>, Bytes)>, EngineError> {
    let rows = store.scan_all(domain, &range.from, range.to.as_deref());
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Where units read back what they spilled.
struct Rows {
    store: Arc<Store>,
    domain: DomainName,
}

impl CommittedRows for Rows {
    fn row(&self, key: &[u8]) -> Result<Option<Bytes>, String> {
        self.store.get(&self.domain, key).map_err(|error| error.to_string())
    }
}

fn first_group(shard: u16, shards: u16) -> KeyGroup {
    KeyGroup(rows::groups_of(Shard(shard), shards).start)
}

fn edge_name(plan: &Plan, edge: &Edge) -> EdgeName {
    let id = |node: u16| &plan.nodes[usize::from(node)].id;
    EdgeName {
        name: rows::edge_label(id(edge.from), &edge.port_name, id(edge.to)),
        from: edge.from,
        to: edge.to,
    }
}

fn topic_of_source(node: &Node) -> String {
    match &node.kind {
        NodeKind::Source(source) => source.topic.to_string(),
        _ => String::new(),
    }
}

fn target(node: &Node, operator: &Operator, waiting: &[Arc<Waiting>]) -> Option<(String, Target)> {
    (operator.runs == Runs::Handlers).then(|| {
        let target = Target {
            node: node.index,
            description: operator.description.clone(),
            key: operator.key.clone(),
            waiting: waiting[usize::from(node.index)].clone(),
        };
        (node.id.to_string(), target)
    })
}

fn unreadable(node: &Node, error: &RowError) -> EngineError {
    EngineError::Rows { node: node.id.to_string(), reason: error.to_string() }
}
