import { expect, test } from "vitest";
import { ExactNumber } from "../api/json";
import { cellsOf, entriesText, isLong, summaryOf } from "./cells";

const lines = Object.fromEntries(Array.from({ length: 86 }, (_, i) => [`ord-${i}/0`, { quantity: i }]));
const stock = { cells: { stock: 84, lines, reserved: 0, last: { order: "a" }, exact: new ExactNumber("1.0") } };

test("cells are sorted by name, plain values apart from lists and maps", () => {
  const { plain, nested } = cellsOf(stock);
  expect(plain.map(({ name }) => name)).toEqual(["exact", "reserved", "stock"]);
  expect(nested.map(({ name }) => name)).toEqual(["last", "lines"]);
});

test("on one line plain values come first and a long map is a number of entries", () => {
  expect(summaryOf(stock)).toBe('exact: 1.0 · reserved: 0 · stock: 84 · last: {"order":"a"} · lines: 86 entries');
});

test("bytes are a plain value", () => {
  expect(summaryOf({ cells: { raw: { base64: "/w==" } } })).toBe("raw: base64:/w==");
});

test("entries of lists and of maps are counted", () => {
  expect([entriesText([1]), entriesText({ a: 1, b: 2 })]).toEqual(["1 entry", "2 entries"]);
  expect([isLong(lines), isLong([1, 2])]).toEqual([true, false]);
});
