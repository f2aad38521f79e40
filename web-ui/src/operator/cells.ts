/** The cells of a key as people look for them: by name, plain values before lists and maps. Pure. */
import { ExactNumber, printJson } from "../api/json";
import { isBase64, valueText } from "../api/keys";
import type { Json, StateOfKey } from "../api/types";
import { plural } from "../ui/format";

export interface Cell {
  name: string;
  value: Json;
}

/** More than this many characters of JSON are given as a number of entries. */
const SHORT = 100;

export function cellsOf({ cells }: Pick<StateOfKey, "cells">): { plain: Cell[]; nested: Cell[] } {
  const all = Object.entries(cells)
    .map(([name, value]) => ({ name, value }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    plain: all.filter(({ value }) => !isNested(value)),
    nested: all.filter(({ value }) => isNested(value)),
  };
}

/** All cells on one line. */
export function summaryOf(state: Pick<StateOfKey, "cells">): string {
  const { plain, nested } = cellsOf(state);
  return [
    ...plain.map(({ name, value }) => `${name}: ${valueText(value)}`),
    ...nested.map(({ name, value }) => `${name}: ${isLong(value) ? entriesText(value) : printJson(value)}`),
  ].join(" · ");
}

export function isLong(value: Json): boolean {
  return printJson(value).length > SHORT;
}

/** “86 entries”, of a list or a map. */
export function entriesText(value: Json): string {
  return plural(Object.keys(value as object).length, "entry", "entries");
}

function isNested(value: Json): boolean {
  return typeof value === "object" && value !== null && !(value instanceof ExactNumber) && !isBase64(value);
}
