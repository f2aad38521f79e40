import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { matching, RING, Tail } from "./tail";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function record(offset: number, value: unknown = { n: offset }): string {
  return JSON.stringify({ partition: 0, offset, timestamp: 1_000, key: `k${offset}`, value, headers: {} });
}

function offsets(tail: Tail): number[] {
  return tail.view().records.map(({ record }) => record.offset);
}

test("records appear in batches, newest first", () => {
  const tail = new Tail();
  for (const offset of [0, 1, 2]) tail.take(record(offset));
  expect(offsets(tail)).toEqual([]);
  vi.runAllTimers();
  expect(offsets(tail)).toEqual([2, 1, 0]);
});

test("only the newest are kept, all are counted", () => {
  const tail = new Tail();
  for (let offset = 0; offset < RING + 10; offset++) tail.take(record(offset));
  vi.runAllTimers();
  expect(tail.view().records).toHaveLength(RING);
  expect(offsets(tail).at(-1)).toBe(10);
  expect(tail.view().received).toBe(RING + 10);
});

test("while paused nothing moves, and what came meanwhile is shown on resume", () => {
  const tail = new Tail();
  tail.take(record(0));
  vi.runAllTimers();
  tail.pause();
  tail.take(record(1));
  vi.runAllTimers();
  expect(offsets(tail)).toEqual([0]);
  expect(tail.view().unseen).toBe(1);
  tail.resume();
  expect(offsets(tail)).toEqual([1, 0]);
  expect(tail.view().unseen).toBe(0);
});

test("a filter looks at keys and values, whatever the case", () => {
  const tail = new Tail();
  tail.take(record(1, { city: "Lyon" }));
  tail.take(record(2, { city: "Oslo" }));
  vi.runAllTimers();
  const found = (text: string) => matching(tail.view().records, text).map(({ key }) => key);
  expect(found("lyon")).toEqual(["k1"]);
  expect(found("K2")).toEqual(["k2"]);
  expect(found(" ")).toHaveLength(2);
});
