import { expect, test } from "vitest";
import { jsonProblem, parseExact, printJson } from "./json";

test.each([
  "null",
  "true",
  '"a\\"b"',
  "[]",
  "{}",
  "[1,2,[3]]",
  '{"a":{"b":[null,false]}}',
  "0",
  "-1.5",
  "1796095554239",
])("%s is printed as it was read", (text) => {
  expect(printJson(parseExact(text))).toBe(text);
});

test.each(["12345678901234567890", "1.0", "1e400", '{"a":[0.10,1]}'])("the number in %s keeps its digits", (text) => {
  expect(printJson(parseExact(text))).toBe(text);
});

test("digits inside strings are not numbers", () => {
  expect(parseExact('["1.0","\\"1.0"]')).toEqual(["1.0", '"1.0']);
});

test.each(["", "{", "01", "1.", "[1 2]", "tru"])("%j is refused", (text) => {
  expect(() => parseExact(text)).toThrow(SyntaxError);
});

test("an indent puts each member on a line of its own", () => {
  expect(printJson({ a: [1, { b: "x" }], c: {} }, 2)).toBe(JSON.stringify({ a: [1, { b: "x" }], c: {} }, null, 2));
});

test("text that is written is JSON or has a problem", () => {
  expect([jsonProblem("{}"), jsonProblem(" null ")]).toEqual([null, null]);
  expect(jsonProblem(" ")).toBe("Write JSON, such as {} or null.");
  expect(jsonProblem("{")).not.toBeNull();
});
