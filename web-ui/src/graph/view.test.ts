import { expect, test } from "vitest";
import { MARGIN, viewOf } from "./view";

const graph = { x: 0, y: 0, width: 1000, height: 500 };

test("a graph that fits is in the middle", () => {
  const view = viewOf(graph, { width: 1040, height: 640 }, undefined);
  expect(view).toEqual({ zoom: 1, x: 20, y: 70 });
});

test("in a large room a graph grows, but not much", () => {
  expect(viewOf(graph, { width: 9000, height: 9000 }, undefined).zoom).toBe(1.25);
});

test("a graph that is too large keeps its size and shows its beginning", () => {
  expect(viewOf(graph, { width: 400, height: 300 }, undefined)).toEqual({ zoom: 1, x: MARGIN, y: MARGIN });
});

test("the chosen node of a graph that is too large is brought into sight", () => {
  const at = (x: number) => viewOf(graph, { width: 400, height: 640 }, { x, y: 0, width: 100, height: 50 }).x;
  expect(at(450)).toBe(200 - 500);
  expect(at(0)).toBe(MARGIN);
  expect(at(900)).toBe(400 - MARGIN - 1000);
});
