import { expect, test } from "vitest";
import type { Graph } from "../api/types";
import { edge, node } from "../test/pipeline";
import { place } from "./layout";
import { passes, pathsOf } from "./paths";

/** The example, with every sink that it has. */
const fulfilment: Graph = {
  nodes: [
    node("orders", "source"),
    node("restock", "source"),
    node("order", "operator"),
    node("inventory", "operator"),
    node("payment", "operator"),
    node("shipping", "operator"),
    node("confirmed", "sink"),
    node("rejected", "sink"),
    node("cancelled", "sink"),
    node("shipments", "sink"),
  ],
  edges: [
    edge("orders", "order"),
    edge("restock", "inventory"),
    edge("order", "shipping"),
    edge("order", "confirmed"),
    edge("order", "rejected"),
    edge("order", "cancelled"),
    edge("shipping", "shipments"),
    edge("order", "inventory", "call"),
    edge("order", "payment", "call"),
    edge("shipping", "inventory", "call"),
  ],
};

/** A stream that skips a step, calls across a band, calls back and between neighbours. */
const tangle: Graph = {
  nodes: [
    node("in", "source"),
    ...["a", "b", "c", "d", "e", "f", "g"].map((id) => node(id, "operator")),
    node("out", "sink"),
  ],
  edges: [
    edge("in", "a"),
    edge("a", "b"),
    edge("b", "c"),
    edge("a", "out"),
    edge("c", "out"),
    edge("c", "a"),
    edge("a", "c", "call"),
    edge("a", "d", "call"),
    edge("d", "e", "call"),
    edge("e", "f", "call"),
    edge("a", "f", "call"),
    edge("c", "f", "call"),
    edge("f", "a", "call"),
    edge("b", "g", "call"),
    edge("g", "d", "call"),
  ],
};

test.each([
  ["the example", fulfilment, "figures"],
  ["the example's preview", fulfilment, "structure"],
  ["a tangle", tangle, "figures"],
] as const)("in %s no edge runs behind a node", (_name, graph, detail) => {
  const places = place(graph, detail);
  const paths = pathsOf(graph, places);
  for (const { id } of graph.edges) {
    const behind = [...places].filter(([, box]) => passes(paths.get(id)?.points ?? [], inner(box)));
    expect([id, behind.map(([name]) => name)]).toEqual([id, []]);
  }
});

test("calls meet a node apart from each other", () => {
  const places = place(fulfilment, "figures");
  const paths = pathsOf(fulfilment, places);
  const at = (id: string) => paths.get(id)?.end.x ?? 0;
  expect(Math.abs(at("order->inventory") - at("shipping->inventory"))).toBeGreaterThan(40);
});

test("an edge to a node that is not there has no path", () => {
  const graph = { nodes: [node("a", "source")], edges: [edge("a", "gone")] };
  expect(pathsOf(graph, place(graph, "figures")).size).toBe(0);
});

/** Without its border, which the ends of edges touch. */
function inner({ x, y, width, height }: { x: number; y: number; width: number; height: number }) {
  return { x: x + 1, y: y + 1, width: width - 2, height: height - 2 };
}
