import { expect, test } from "vitest";
import { bytes, count, dateTime, digest, iso, plural, rate, time } from "./format";

test.each([
  [0, "0"],
  [12_345, "12,345"],
  [123_456, "123K"],
  [4_560_000, "4.56M"],
])("count(%d) is %s", (n, text) => expect(count(n)).toBe(text));

test.each([
  [undefined, "–"],
  [0, "0"],
  [0.04, "<0.1"],
  [0.42, "0.4"],
  [9.96, "10"],
  [1_234.4, "1,234"],
  [45_600, "45.6K"],
])("rate(%s) is %s", (perSecond, text) => expect(rate(perSecond)).toBe(text));

test.each([
  [0, "0 B"],
  [1_023, "1,023 B"],
  [1_536, "1.5 KiB"],
  [200 * 1_048_576, "200 MiB"],
])("bytes(%d) is %s", (n, text) => expect(bytes(n)).toBe(text));

test("an event time beyond what a calendar holds is shown as its number", () => {
  expect(dateTime(9e18)).toBe("9000000000000000000");
  expect(iso(9e18)).toBe("9000000000000000000");
  expect(iso(-1)).toBe("1969-12-31T23:59:59.999Z");
});

test("a time has its day unless that is today", () => {
  const noon = new Date(2026, 11, 3, 12, 0, 0, 5).getTime();
  expect(time(noon, noon + 60_000)).toBe("12:00:00.005");
  expect(time(noon, noon + 86_400_000)).toBe("3 Dec 2026, 12:00:00.005");
  expect(time(9e18, noon)).toBe("9000000000000000000");
});

test("a digest is cut to what tells modules apart", () => {
  expect(digest("sha256:e1c04d1a3a70f3e0b02e")).toBe("e1c04d1a3a70");
});

test("one is not many", () => {
  expect([plural(1, "attempt"), plural(2, "attempt")]).toEqual(["1 attempt", "2 attempts"]);
});
