import { expect, test } from "vitest";
import type { Audit, AuditOperator } from "../api/types";
import { findings, inOrder, topicOf } from "./accounts";

const operator: AuditOperator = {
  id: "order",
  taken: 1_000,
  ended: 990,
  filtered: 0,
  skipped: 0,
  dead_lettered: 1,
  late: 0,
  shed: 0,
  waiting: 9,
  balanced: true,
};
const edge = { from: "order", to: "shipping", port: "confirmed", sent: 5, taken: 5, queued: 0, balanced: true };
const source = {
  id: "orders",
  taken: 7,
  position: [
    { partition: 1, offset: 4, start: 1 },
    { partition: 0, offset: 4, start: 0 },
  ],
  balanced: true,
};

function audit(change: Partial<Audit>): Audit {
  return { balanced: false, epoch: 1, operators: [operator], edges: [edge], sources: [source], ...change };
}

test("accounts that add up are not mentioned", () => {
  expect(findings(audit({ balanced: true }))).toEqual([]);
});

test("an operator that lost events is named with its figures", () => {
  expect(findings(audit({ operators: [{ ...operator, ended: 988, balanced: false }] }))).toEqual([
    "Operator order: taken 1,000, but ended 988 + dead-lettered 1 + waiting 9 = 998: 2 are missing.",
  ]);
});

test("an edge that doubled a record is named with its figures", () => {
  expect(findings(audit({ edges: [{ ...edge, queued: 1, balanced: false }] }))).toEqual([
    "Edge order.confirmed to shipping: sent 5, but taken 5 + queued 1 = 6: 1 too many.",
  ]);
});

test("a source whose positions moved by another number is named with them", () => {
  expect(findings(audit({ sources: [{ ...source, taken: 8, balanced: false }] }))).toEqual([
    "Source orders: taken 8, but partition 0: 4 + partition 1: 3 = 7: 1 is missing.",
  ]);
});

test("an operator of which nothing came, and one whose figures add up after all", () => {
  const nothing = { ...operator, taken: 3, ended: 0, dead_lettered: 0, waiting: 0, balanced: false };
  expect(findings(audit({ operators: [nothing, { ...operator, id: "odd", balanced: false }] }))).toEqual([
    "Operator order: taken 3, but nothing came of it: 3 are missing.",
    "Operator odd: taken 1,000 is ended 990 + dead-lettered 1 + waiting 9 = 1,000, but the server does not call it balanced.",
  ]);
});

test("positions are in the order of their partitions", () => {
  expect(inOrder(source.position).map(({ partition }) => partition)).toEqual([0, 1]);
});

test.each([
  ["a line", "sources:\n  orders: { topic: in-orders, from: earliest }\n", "in-orders"],
  ["a block", "sources:\n  orders:\n    from: earliest\n    topic: 'in orders'  # the old one\n", "in orders"],
  ["JSON", '{"sources":{"orders":{"topic":"in"}}}', "in"],
  ["another source", "sources:\n  other: { topic: o }\n", undefined],
])("the topic of a source is read from %s", (_form, file, topic) => {
  expect(topicOf(file, "orders")).toBe(topic);
});
