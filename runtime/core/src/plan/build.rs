//! [`Graph`] -> [`Plan`]: shards and fusion, by the rules in the module's doc.

use super::{Edge, KeyRule, Node, NodeKind, Partitioning, Plan, TaskPlan};
use crate::graph::{Graph, GraphEdge};

impl From<Graph> for Plan {
    fn from(graph: Graph) -> Self {
        let shards = shards(&graph);
        let tasks = fuse(&graph, &shards);
        let mut first_unit = 0;
        let nodes: Vec<Node> = graph
            .nodes
            .into_iter()
            .enumerate()
            .map(|(index, node)| {
                let node = Node {
                    index: index as u16,
                    id: node.id,
                    shards: shards[index],
                    first_unit,
                    task: tasks[index] as u16,
                    kind: node.kind,
                };
                first_unit += node.shards;
                node
            })
            .collect();
        let mut edges: Vec<Edge> =
            graph.edges.into_iter().map(|edge| self::edge(edge, &tasks)).collect();
        edges.sort_by_key(|edge| (edge.from, edge.port, edge.to, edge.entry));
        for (index, edge) in edges.iter_mut().enumerate() {
            edge.index = index as u16;
        }
        let mut task_plans: Vec<TaskPlan> = Vec::new();
        for node in &nodes {
            match task_plans.get_mut(usize::from(node.task)) {
                Some(task) => task.nodes.push(node.index),
                None => task_plans.push(TaskPlan {
                    index: node.task,
                    nodes: vec![node.index],
                    shards: node.shards,
                }),
            }
        }
        Self { pipeline: graph.pipeline, nodes, edges, tasks: task_plans }
    }
}

fn edge(edge: GraphEdge, tasks: &[usize]) -> Edge {
    Edge {
        index: 0,
        from: edge.from as u16,
        port: edge.port,
        port_name: edge.port_name,
        to: edge.to as u16,
        entry: edge.entry,
        key: edge.key,
        partitioning: if tasks[edge.from] == tasks[edge.to] {
            Partitioning::Forward
        } else {
            Partitioning::Hash
        },
    }
}

/// How many shards each node has.
fn shards(graph: &Graph) -> Vec<u16> {
    let mut shards: Vec<u16> = graph.nodes.iter().map(|node| node.parallelism).collect();
    let widest = |of: &dyn Fn(&GraphEdge) -> Option<usize>, shards: &[u16]| {
        graph.edges.iter().filter_map(of).map(|other| shards[other]).max().unwrap_or(1)
    };
    for (index, node) in graph.nodes.iter().enumerate() {
        if let NodeKind::Source(source) = &node.kind {
            let consumers = widest(&|edge| (edge.from == index).then_some(edge.to), &shards);
            shards[index] =
                consumers.min(u16::try_from(source.partitions).unwrap_or(u16::MAX)).max(1);
        }
    }
    for (index, node) in graph.nodes.iter().enumerate() {
        if matches!(node.kind, NodeKind::Sink(_)) {
            shards[index] = widest(&|edge| (edge.to == index).then_some(edge.from), &shards);
        }
    }
    shards
}

/// The task of each node. A task's number is given when its first node comes, so
/// that they are without gaps.
fn fuse(graph: &Graph, shards: &[u16]) -> Vec<usize> {
    let mut tasks = Vec::with_capacity(graph.nodes.len());
    let mut count = 0;
    for (index, node) in graph.nodes.iter().enumerate() {
        let mut inputs = graph.edges.iter().filter(|edge| edge.to == index);
        let joined = inputs.next().and_then(|first| {
            let task = tasks[first.from];
            let fits = match &node.kind {
                NodeKind::Source(_) => false,
                NodeKind::Sink(_) => inputs.all(|edge| tasks[edge.from] == task),
                NodeKind::Operator(_) => {
                    let from_source = matches!(graph.nodes[first.from].kind, NodeKind::Source(_));
                    inputs.next().is_none()
                        && shards[index] == 1
                        && shards[first.from] == 1
                        && (!from_source || first.key == KeyRule::Keep)
                }
            };
            fits.then_some(task)
        });
        tasks.push(joined.unwrap_or_else(|| {
            count += 1;
            count - 1
        }));
    }
    tasks
}
