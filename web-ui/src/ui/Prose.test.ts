import { expect, test } from "vitest";
import { partsOf } from "./Prose";

test("what stands in backticks is code", () => {
  expect(partsOf("There is no `a`, try `b c`.")).toEqual([
    { text: "There is no ", code: false },
    { text: "a", code: true },
    { text: ", try ", code: false },
    { text: "b c", code: true },
    { text: ".", code: false },
  ]);
});

test.each(["", "plain", "a ` alone", "``"])("in %j nothing is code", (text) => {
  expect(partsOf(text).some((part) => part.code)).toBe(false);
});
