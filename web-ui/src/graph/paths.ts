/**
 * The line of every edge and the place of its text. A stream is a curve from right to left unless that would
 * run behind a node; then, and for every call, the line goes round the nodes. Pure.
 */
import type { Graph, GraphEdge } from "../api/types";
import { callSides, type Box, type Side } from "./layout";
import { crosses, route, type Point, type Port } from "./route";

export interface EdgePath {
  /** As an SVG path. */
  path: string;
  label: Point;
  /** Where it meets the node that it leads to. */
  end: Point;
  /** Points along the line, close enough to tell what it passes. */
  points: Point[];
}

const CORNER = 8;
/** In a graph of more nodes the search would take too long; its calls are straight lines. */
const ROUTED_MAX = 60;
/** Calls meet a node this far from its corners at least. */
const INSET = 16;
/** How much of a curve is before its text: nearer to the end that the edge has for itself. */
const LABEL_AT = { alone: 0.5, fansOut: 0.66, fansIn: 0.34 };

export function pathsOf(graph: Graph, places: Map<string, Box>): Map<string, EdgePath> {
  const boxes = [...places.values()];
  const drawn = graph.edges.filter(({ from, to }) => places.has(from) && places.has(to));
  const streams = drawn.filter((edge) => edge.kind === "stream");
  const calls = drawn.filter((edge) => edge.kind === "call");
  const paths = new Map<string, EdgePath>();
  const taken: Point[][] = [];
  const goRound = (edge: GraphEdge, from: Port, to: Port) => {
    const way = (boxes.length <= ROUTED_MAX ? route(from, to, boxes, taken) : undefined) ?? [from, to];
    taken.push(way);
    paths.set(edge.id, { path: rounded(way), label: middleOfLongest(way), end: to, points: way });
  };

  for (const edge of streams) {
    const [from, to] = [portOf(places.get(edge.from), "right"), portOf(places.get(edge.to), "left")];
    const curve = curveOf(from, to, labelAt(edge, streams));
    const others = drawnBoxes(places, edge);
    if (from.x < to.x && !others.some((box) => passes(curve.points, box))) paths.set(edge.id, curve);
    else goRound(edge, from, to);
  }
  for (const { edge, from, to } of callPorts(calls, places)) goRound(edge, from, to);
  return paths;
}

/** Whether the line runs over the box. */
export function passes(points: Point[], box: Box): boolean {
  return points.some((point, i) => i > 0 && crosses(points[i - 1] ?? point, point, box));
}

function drawnBoxes(places: Map<string, Box>, { from, to }: GraphEdge): Box[] {
  return [...places].flatMap(([id, box]) => (id === from || id === to ? [] : [box]));
}

function labelAt({ from, to }: GraphEdge, streams: GraphEdge[]): number {
  if (streams.filter((edge) => edge.from === from).length > 1) return LABEL_AT.fansOut;
  return streams.filter((edge) => edge.to === to).length > 1 ? LABEL_AT.fansIn : LABEL_AT.alone;
}

function portOf(box: Box | undefined, side: Side): Port {
  const { x, y, width, height } = box ?? { x: 0, y: 0, width: 0, height: 0 };
  switch (side) {
    case "top":
      return { x: x + width / 2, y, side };
    case "bottom":
      return { x: x + width / 2, y: y + height, side };
    case "left":
      return { x, y: y + height / 2, side };
    case "right":
      return { x: x + width, y: y + height / 2, side };
  }
}

function curveOf(from: Point, to: Point, labelShare: number): EdgePath {
  const reach = Math.max(24, Math.abs(to.x - from.x) / 2);
  const [a, b] = [
    { x: from.x + reach, y: from.y },
    { x: to.x - reach, y: to.y },
  ];
  const at = (t: number): Point => {
    const mix = (p: number, q: number, r: number, s: number) =>
      (1 - t) ** 3 * p + 3 * (1 - t) ** 2 * t * q + 3 * (1 - t) * t ** 2 * r + t ** 3 * s;
    return { x: mix(from.x, a.x, b.x, to.x), y: mix(from.y, a.y, b.y, to.y) };
  };
  return {
    path: `M${from.x},${from.y} C${a.x},${a.y} ${b.x},${b.y} ${to.x},${to.y}`,
    label: at(labelShare),
    end: { x: to.x, y: to.y },
    points: Array.from({ length: 25 }, (_, i) => at(i / 24)),
  };
}

interface Call {
  edge: GraphEdge;
  from: Port;
  to: Port;
}

/** The calls at one side of a node meet it side by side, in the order of where they lead. */
function callPorts(calls: GraphEdge[], places: Map<string, Box>): Call[] {
  const ends = calls.flatMap((edge): Call[] => {
    const [from, to] = [places.get(edge.from), places.get(edge.to)];
    if (from === undefined || to === undefined) return [];
    const sides = callSides(from, to);
    return [{ edge, from: portOf(from, sides.from), to: portOf(to, sides.to) }];
  });
  const middle = (id: string) => portOf(places.get(id), "top").x;
  const spread = (id: string, side: Side): void => {
    const box = places.get(id);
    const here = ends
      .flatMap((call) => [
        ...(call.edge.from === id && call.from.side === side ? [{ port: call.from, other: middle(call.edge.to) }] : []),
        ...(call.edge.to === id && call.to.side === side ? [{ port: call.to, other: middle(call.edge.from) }] : []),
      ])
      .sort((a, b) => a.other - b.other);
    if (box === undefined) return;
    here.forEach(({ port }, i) => (port.x = box.x + (box.width * (i + 1)) / (here.length + 1)));
  };
  for (const id of places.keys()) {
    spread(id, "top");
    spread(id, "bottom");
  }
  for (const call of ends) straighten(call, ends, places);
  return ends;
}

/** An end that has its side of the node for itself moves to where the other end is, if the node is wide enough. */
function straighten(call: Call, calls: Call[], places: Map<string, Box>): void {
  const alone = (id: string, side: Side) =>
    calls.filter(
      ({ edge, from, to }) => (edge.from === id && from.side === side) || (edge.to === id && to.side === side),
    ).length === 1;
  const reaches = (box: Box | undefined, x: number) =>
    box !== undefined && x >= box.x + INSET && x <= box.x + box.width - INSET;
  const { edge, from, to } = call;
  if (from.side === to.side) return;
  if (alone(edge.to, to.side) && reaches(places.get(edge.to), from.x)) to.x = from.x;
  else if (alone(edge.from, from.side) && reaches(places.get(edge.from), to.x)) from.x = to.x;
}

/** The line with its corners rounded. */
function rounded(way: Point[]): string {
  const parts = way.map((point, i) => {
    const [before, after] = [way[i - 1], way[i + 1]];
    if (before === undefined) return `M${point.x},${point.y}`;
    if (after === undefined) return `L${point.x},${point.y}`;
    const [a, b] = [towards(point, before), towards(point, after)];
    return `L${a.x},${a.y} Q${point.x},${point.y} ${b.x},${b.y}`;
  });
  return parts.join(" ");
}

function towards(from: Point, to: Point): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  const share = length === 0 ? 0 : Math.min(CORNER, length / 2) / length;
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
}

function middleOfLongest(way: Point[]): Point {
  let longest = -1;
  let middle: Point = way[0] ?? { x: 0, y: 0 };
  way.forEach((b, i) => {
    const a = way[i - 1];
    if (a === undefined) return;
    const length = Math.hypot(b.x - a.x, b.y - a.y);
    if (length <= longest) return;
    longest = length;
    middle = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
  });
  return middle;
}
