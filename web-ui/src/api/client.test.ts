import { expect, test } from "vitest";
import { path, query } from "./client";
import { keyText, valueText } from "./keys";

test("parts of a path are escaped", () => {
  expect(path`/pipelines/${"a/b"}/operators/${"ü"}/state`).toBe("/pipelines/a%2Fb/operators/%C3%BC/state");
});

test("a query leaves out what has no value", () => {
  expect(query({ a: "x y", b: undefined, c: null, d: "", e: 0 })).toBe("?a=x+y&e=0");
  expect(query({})).toBe("");
});

test("keys and values that are bytes say so", () => {
  expect(keyText({ base64: "/w==" })).toBe("base64:/w==");
  expect(keyText(null)).toBe("");
  expect(valueText({ base64: "/w==" })).toBe("base64:/w==");
  expect(valueText({ base64: "x", other: 1 })).toBe('{"base64":"x","other":1}');
});
