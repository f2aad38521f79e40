/** A small pipeline for tests: orders -> count -> counts. */
import type { GraphEdge, GraphNode, LivePipeline, NodeKind } from "../api/types";

export function node(id: string, kind: NodeKind, figures: Partial<GraphNode> = {}): GraphNode {
  const zero = {
    records_in: 0,
    records_out: 0,
    errors: 0,
    retries: 0,
    dead_letters: 0,
    waiting: 0,
    running: 0,
    busy: 0,
  };
  return { id, kind, ...zero, ...figures };
}

export function edge(from: string, to: string, kind: GraphEdge["kind"] = "stream", records = 0): GraphEdge {
  return { id: `${from}->${to}`, from, to, kind, records, queue_fill: 0 };
}

/** All of `orders` records have passed through every node. */
export function livePipeline({ orders }: { orders: number }): LivePipeline {
  const passed = { records_in: orders, records_out: orders };
  return {
    name: "counting",
    status: "running",
    revision: 1,
    nodes: [
      node("orders", "source", passed),
      node("count", "operator", passed),
      node("counts", "sink", { records_in: orders }),
    ],
    edges: [edge("orders", "count", "stream", orders), edge("count", "counts", "stream", orders)],
  };
}
