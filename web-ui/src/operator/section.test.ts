import { expect, test } from "vitest";
import { sectionOf } from "./section";

const file = `pipeline: p
# order: not this one
sources:
  orders: { topic: orders }
operators:
  order:
    module: order@1.0.0

    config:
      order: nested
  "in voice": { module: x@1.0.0 }
sinks:
  out: { topic: out, input: order.out }
`;

test("a section is the node's own lines, moved to the margin", () => {
  expect(sectionOf(file, "order")).toBe("order:\n  module: order@1.0.0\n\n  config:\n    order: nested");
});

test("a section may be one line, and a name may be quoted", () => {
  expect(sectionOf(file, "orders")).toBe("orders: { topic: orders }");
  expect(sectionOf(file, "in voice")).toBe('"in voice": { module: x@1.0.0 }');
});

test("names that are not nodes have no section", () => {
  expect(sectionOf(file, "config")).toBeUndefined();
  expect(sectionOf(file, "pipeline")).toBeUndefined();
  expect(sectionOf('{"operators":{"order":{}}}', "order")).toBeUndefined();
});
