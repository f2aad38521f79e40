import { expect, test } from "vitest";
import { edge, node } from "../test/pipeline";
import { withCalls } from "./preview";

const planned = {
  nodes: [node("in", "source"), node("order", "operator"), node("stock", "operator")],
  edges: [edge("in", "order")],
};

test("calls of the running revision are drawn between the operators that stay", () => {
  const running = {
    nodes: [node("order", "operator"), node("stock", "operator"), node("gone", "operator")],
    edges: [edge("in", "stock"), edge("order", "stock", "call", 7), edge("order", "gone", "call")],
  };
  expect(withCalls(planned, running).edges).toEqual([edge("in", "order"), edge("order", "stock", "call", 7)]);
});

test("a new pipeline has streams only", () => {
  expect(withCalls(planned, undefined)).toEqual(planned);
});
