import { expect, test } from "vitest";
import { pipelineName } from "./pipelineName";

test.each([
  ["pipeline: order-fulfilment\nsources: {}", "order-fulfilment"],
  ["# a comment\npipeline:   spaced   # why", "spaced"],
  ['pipeline: "quoted name"', "quoted name"],
  ["pipeline: 'single'", "single"],
  ['"pipeline": json-ish', "json-ish"],
  ['{ "pipeline": "from-json", "sources": {} }', "from-json"],
  ["pipeline: p\r\nsources: {}\r\n", "p"],
])("%j names %s", (file, name) => {
  expect(pipelineName(file)).toBe(name);
});

test.each(["", "pipeline:", "pipeline: \nsources: {}", "sources:\n  pipeline: { topic: x }", "# pipeline: commented"])(
  "%j names nothing",
  (file) => {
    expect(pipelineName(file)).toBeUndefined();
  },
);
