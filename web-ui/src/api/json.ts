/**
 * JSON that keeps numbers as they were written. `JSON.parse` would turn 12345678901234567890 into
 * 12345678901234567000; payloads are shown exactly, so such a number becomes an `ExactNumber`.
 */
import type { Json } from "./types";

export class ExactNumber {
  constructor(readonly source: string) {}
}

/** A string or a number; strings are matched so that digits inside them are left alone. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
/** The member that marks a number on its way through `JSON.parse`; no payload is likely to have it. */
const MARK = "\u0000number";

export function parseExact(text: string): Json {
  // Text that is not JSON must fail with its own message, not with that of the prepared text.
  const plain: Json = JSON.parse(text);
  const prepared = text.replace(TOKEN, (token) => (isLossy(token) ? JSON.stringify({ [MARK]: token }) : token));
  return prepared === text ? plain : JSON.parse(prepared, unmark);
}

function isLossy(token: string): boolean {
  return !token.startsWith('"') && String(Number(token)) !== token;
}

function unmark(_key: string, value: unknown): unknown {
  const source = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[MARK] : undefined;
  return typeof source === "string" ? new ExactNumber(source) : value;
}

/** The JSON text of a value, on one line (`indent` 0) or many. */
export function printJson(value: Json, indent = 0): string {
  return print(value, indent, "");
}

function print(value: Json, indent: number, margin: string): string {
  if (value instanceof ExactNumber) return value.source;
  if (Array.isArray(value))
    return block(
      "[",
      "]",
      value.map((item) => (inner: string) => print(item, indent, inner)),
      indent,
      margin,
    );
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(
      ([name, item]) =>
        (inner: string) =>
          `${JSON.stringify(name)}:${indent > 0 ? " " : ""}${print(item, indent, inner)}`,
    );
    return block("{", "}", members, indent, margin);
  }
  return value === undefined ? "null" : JSON.stringify(value);
}

function block(
  open: string,
  close: string,
  items: ((margin: string) => string)[],
  indent: number,
  margin: string,
): string {
  if (items.length === 0) return open + close;
  if (indent === 0) return open + items.map((item) => item("")).join(",") + close;
  const inner = margin + " ".repeat(indent);
  return `${open}\n${items.map((item) => inner + item(inner)).join(",\n")}\n${margin}${close}`;
}

/** What keeps text that someone writes from being JSON; null if it is. */
export function jsonProblem(text: string): string | null {
  if (text.trim() === "") return "Write JSON, such as {} or null.";
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : "This is not JSON.";
  }
}
