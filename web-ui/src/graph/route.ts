/**
 * A way for an edge that runs behind no node: level and upright stretches along lines beside the nodes, the
 * cheapest by length, bends and sharing with ways that are taken. A* over the crossings of those lines. Pure.
 */
import type { Box, Side } from "./layout";

export interface Point {
  x: number;
  y: number;
}

/** Where an edge meets a node, and by which of its sides. */
export interface Port extends Point {
  side: Side;
}

/** Distances from a node at which ways run beside it; without a way at the first, the second is tried. */
const CLEARANCES = [14, 7] as const;
/** A second track beside the first, as a multiple of the clearance. */
const TRACKS = [1, 2.4];
/** Lines nearer to each other than this are one. */
const CLOSE = 4;
const BEND = 60;
const SHARED = 3;
const [UNKNOWN, FREE, BLOCKED] = [0, 1, 2];

/** The corners of the way, the ends included; undefined if there is none. */
export function route(from: Port, to: Port, boxes: Box[], taken: Point[][]): Point[] | undefined {
  for (const clearance of CLEARANCES) {
    const way = routeAt(clearance, from, to, boxes, taken);
    if (way !== undefined) return way;
  }
  return undefined;
}

function routeAt(clearance: number, from: Port, to: Port, boxes: Box[], taken: Point[][]): Point[] | undefined {
  const start = stub(from, clearance);
  const end = stub(to, clearance);
  const grid = new Grid(start, end, boxes, clearance);
  const crossings = grid.search(upright(from.side), start, end, upright(to.side), (a, b) => sharedLength(a, b, taken));
  return crossings && withoutStraights([from, ...crossings, to]);
}

function stub({ x, y, side }: Port, distance: number): Point {
  switch (side) {
    case "top":
      return { x, y: y - distance };
    case "bottom":
      return { x, y: y + distance };
    case "left":
      return { x: x - distance, y };
    case "right":
      return { x: x + distance, y };
  }
}

function upright(side: Side): boolean {
  return side === "top" || side === "bottom";
}

/** A crossing of two lines, and whether it was reached on the upright one. */
interface Step {
  i: number;
  j: number;
  upright: boolean;
}

class Grid {
  readonly #xs: number[];
  readonly #ys: number[];
  readonly #walls: Box[];
  /** Per stretch from a crossing to the next: unknown, free or blocked. */
  readonly #known: Uint8Array;

  constructor(start: Point, end: Point, boxes: Box[], clearance: number) {
    const tracks = TRACKS.map((factor) => factor * clearance);
    this.#xs = lines(
      [start.x, end.x],
      boxes.flatMap((b) => tracks.flatMap((t) => [b.x - t, b.x + b.width + t])),
    );
    this.#ys = lines(
      [start.y, end.y],
      boxes.flatMap((b) => tracks.flatMap((t) => [b.y - t, b.y + b.height + t])),
    );
    this.#walls = boxes.map((box) => grown(box, clearance - 1));
    this.#known = new Uint8Array(this.#xs.length * this.#ys.length * 2);
  }

  search(
    startsUpright: boolean,
    start: Point,
    end: Point,
    endsUpright: boolean,
    shared: (a: Point, b: Point) => number,
  ): Point[] | undefined {
    const first = { i: this.#xs.indexOf(start.x), j: this.#ys.indexOf(start.y), upright: startsUpright };
    const cost = new Map([[this.#id(first), 0]]);
    const before = new Map<number, Step>();
    const queue = new Queue<Step>();
    const done = new Set<number>();
    queue.push(distance(start, end), first);
    for (let step = queue.pop(); step !== undefined; step = queue.pop()) {
      const here = this.#at(step);
      if (here.x === end.x && here.y === end.y && step.upright === endsUpright) return this.#back(step, before);
      const spent = cost.get(this.#id(step)) ?? 0;
      if (done.has(this.#id(step))) continue;
      done.add(this.#id(step));
      for (const onward of this.#onward(step)) {
        const there = this.#at(onward);
        const turn = onward.i === step.i && onward.j === step.j;
        if (!turn && this.#blocked(step, onward)) continue;
        const sum = spent + (turn ? BEND : distance(here, there) + SHARED * shared(here, there));
        const id = this.#id(onward);
        if (sum >= (cost.get(id) ?? Infinity)) continue;
        cost.set(id, sum);
        before.set(id, step);
        queue.push(sum + distance(there, end), onward);
      }
    }
    return undefined;
  }

  /** One crossing on or back along the line, or onto the other line here. */
  #onward({ i, j, upright: onUpright }: Step): Step[] {
    const along = onUpright
      ? [j - 1, j + 1].map((to) => ({ i, j: to, upright: true }))
      : [i - 1, i + 1].map((to) => ({ i: to, j, upright: false }));
    const inside = along.filter((to) => to.i >= 0 && to.j >= 0 && to.i < this.#xs.length && to.j < this.#ys.length);
    return [...inside, { i, j, upright: !onUpright }];
  }

  #blocked(a: Step, b: Step): boolean {
    const id = this.#id({ i: Math.min(a.i, b.i), j: Math.min(a.j, b.j), upright: a.upright });
    if (this.#known[id] === UNKNOWN) {
      const [here, there] = [this.#at(a), this.#at(b)];
      this.#known[id] = this.#walls.some((wall) => crosses(here, there, wall)) ? BLOCKED : FREE;
    }
    return this.#known[id] === BLOCKED;
  }

  #back(last: Step, before: Map<number, Step>): Point[] {
    const way: Point[] = [];
    for (let step: Step | undefined = last; step !== undefined; step = before.get(this.#id(step)))
      way.unshift(this.#at(step));
    return way;
  }

  #at({ i, j }: Step): Point {
    return { x: this.#xs[i] ?? 0, y: this.#ys[j] ?? 0 };
  }

  #id({ i, j, upright: onUpright }: Step): number {
    return (i * this.#ys.length + j) * 2 + (onUpright ? 1 : 0);
  }
}

/** Whether a level or upright stretch enters the box; touching its border does not count. */
export function crosses(a: Point, b: Point, box: Box): boolean {
  return (
    Math.max(a.x, b.x) > box.x &&
    Math.min(a.x, b.x) < box.x + box.width &&
    Math.max(a.y, b.y) > box.y &&
    Math.min(a.y, b.y) < box.y + box.height
  );
}

/** Where lines are, in order; of those that lie close together, one. The places of the ends are kept. */
function lines(ends: number[], beside: number[]): number[] {
  const kept = new Set(ends);
  let last = -Infinity;
  for (const place of beside.sort((a, b) => a - b)) {
    if (place - last < CLOSE) continue;
    kept.add(place);
    last = place;
  }
  return [...kept].sort((a, b) => a - b);
}

function grown({ x, y, width, height }: Box, by: number): Box {
  return { x: x - by, y: y - by, width: width + 2 * by, height: height + 2 * by };
}

function distance(a: Point, b: Point): number {
  return Math.abs(a.x - b.x) + Math.abs(a.y - b.y);
}

/** How much of the stretch lies on ways that are taken. */
function sharedLength(a: Point, b: Point, taken: Point[][]): number {
  let shared = 0;
  for (const way of taken) {
    for (let i = 1; i < way.length; i++) {
      const [c, d] = [way[i - 1], way[i]];
      if (c === undefined || d === undefined) continue;
      if (a.x === b.x && c.x === d.x && Math.abs(a.x - c.x) < 6) shared += overlap(a.y, b.y, c.y, d.y);
      else if (a.y === b.y && c.y === d.y && Math.abs(a.y - c.y) < 6) shared += overlap(a.x, b.x, c.x, d.x);
    }
  }
  return shared;
}

function overlap(a: number, b: number, c: number, d: number): number {
  return Math.max(0, Math.min(Math.max(a, b), Math.max(c, d)) - Math.max(Math.min(a, b), Math.min(c, d)));
}

/** Only the ends and the corners. */
function withoutStraights(way: Point[]): Point[] {
  const points = way
    .map(({ x, y }) => ({ x, y }))
    .filter((point, i, all) => i === 0 || point.x !== all[i - 1]?.x || point.y !== all[i - 1]?.y);
  return points.filter((point, i) => {
    const [before, after] = [points[i - 1], points[i + 1]];
    if (before === undefined || after === undefined) return true;
    return !((before.x === point.x && point.x === after.x) || (before.y === point.y && point.y === after.y));
  });
}

/** A binary heap, the smallest first. */
class Queue<T> {
  readonly #items: [number, T][] = [];

  push(rank: number, item: T): void {
    const items = this.#items;
    let at = items.push([rank, item]) - 1;
    while (at > 0) {
      const up = (at - 1) >> 1;
      if (this.#rank(up) <= rank) break;
      this.#swap(at, up);
      at = up;
    }
  }

  pop(): T | undefined {
    const items = this.#items;
    const top = items[0]?.[1];
    const last = items.pop();
    if (last === undefined || items.length === 0) return top;
    items[0] = last;
    for (let at = 0; ;) {
      const left = 2 * at + 1;
      const least = this.#rank(left + 1) < this.#rank(left) ? left + 1 : left;
      if (this.#rank(least) >= this.#rank(at)) return top;
      this.#swap(at, least);
      at = least;
    }
  }

  #rank(at: number): number {
    return this.#items[at]?.[0] ?? Infinity;
  }

  #swap(a: number, b: number): void {
    const [x, y] = [this.#items[a], this.#items[b]];
    if (x === undefined || y === undefined) return;
    this.#items[a] = y;
    this.#items[b] = x;
  }
}
