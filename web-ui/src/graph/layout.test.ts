import { expect, test } from "vitest";
import type { Graph } from "../api/types";
import { edge, node } from "../test/pipeline";
import { callSides, place, signature, type Box } from "./layout";

const orders: Graph = {
  nodes: [
    node("orders", "source"),
    node("restock", "source"),
    node("order", "operator"),
    node("inventory", "operator"),
    node("payment", "operator"),
    node("shipping", "operator"),
    node("shipments", "sink"),
  ],
  edges: [
    edge("orders", "order"),
    edge("restock", "inventory"),
    edge("order", "shipping"),
    edge("shipping", "shipments"),
    edge("order", "inventory", "call"),
    edge("order", "payment", "call"),
    edge("shipping", "inventory", "call"),
  ],
};

function placed(graph: Graph): (id: string) => Box {
  const places = place(graph, "figures");
  return (id) => {
    const box = places.get(id);
    if (box === undefined) throw new Error(`${id} was not placed`);
    return box;
  };
}

test("streams run from left to right", () => {
  const at = placed(orders);
  const xs = ["orders", "order", "shipping", "shipments"].map((id) => at(id).x);
  expect(xs).toEqual(xs.toSorted((a, b) => a - b));
});

test("what is only called stands beneath its callers", () => {
  const at = placed(orders);
  for (const callee of ["inventory", "payment", "restock"]) {
    for (const caller of ["order", "shipping"]) {
      expect(at(callee).y).toBeGreaterThanOrEqual(at(caller).y + at(caller).height);
    }
  }
});

test("no two nodes overlap", () => {
  const boxes = [...place(orders, "figures").values()];
  for (const [i, a] of boxes.entries()) {
    for (const b of boxes.slice(i + 1)) {
      const apart = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
      expect(apart).toBe(true);
    }
  }
});

test("operators that call each other in a circle are all placed", () => {
  const circle: Graph = {
    nodes: [node("a", "operator"), node("b", "operator"), node("c", "operator")],
    edges: [edge("a", "b", "call"), edge("b", "c", "call"), edge("c", "a", "call")],
  };
  expect(place(circle, "structure").size).toBe(3);
});

test("an edge to a node that is not there is left out", () => {
  expect(place({ nodes: [node("a", "source")], edges: [edge("a", "gone")] }, "figures").size).toBe(1);
});

test("new figures keep the signature, new structure does not", () => {
  const busier = { ...orders, nodes: orders.nodes.map((each) => ({ ...each, records_in: 99, busy: 1 })) };
  expect(signature(busier)).toBe(signature(orders));
  expect(signature({ ...orders, edges: orders.edges.slice(1) })).not.toBe(signature(orders));
});

test.each([
  ["beneath", { x: 0, y: 200 }, "bottom", "top"],
  ["above", { x: 0, y: -200 }, "top", "bottom"],
  ["beside", { x: 300, y: 10 }, "bottom", "bottom"],
])("a call to a node %s leaves and enters by facing sides", (_where, to, leaves, enters) => {
  const size = { width: 100, height: 50 };
  expect(callSides({ x: 0, y: 0, ...size }, { ...to, ...size })).toEqual({ from: leaves, to: enters });
});
