import { expect, test } from "vitest";
import { difference } from "./difference";

function shown(before: string, after: string): string {
  const signs = { kept: " ", added: "+", removed: "-" };
  return difference(before, after)
    .map(({ text, change }) => signs[change] + text)
    .join("\n");
}

test("equal texts have only kept lines, with or without an end of line", () => {
  expect(shown("a\nb\n", "a\nb")).toBe(" a\n b");
});

test("a changed line is removed and added in its place", () => {
  expect(shown("a\nb\nc", "a\nB\nc")).toBe(" a\n-b\n+B\n c");
});

test("lines are added and removed at the ends", () => {
  expect(shown("b\nc", "a\nb")).toBe("+a\n b\n-c");
});
