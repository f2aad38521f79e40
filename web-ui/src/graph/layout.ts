/**
 * Where nodes go. Streams are laid out by dagre, left to right. What is reached only by calls stands in a
 * band of its own beneath its callers, so that calls run downwards and streams sideways. Pure.
 */
import { Graph as DagreGraph, layout as runDagre } from "@dagrejs/dagre";
import type { Graph, GraphNode, NodeKind } from "../api/types";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** With live figures, or, for a preview, without. */
export type Detail = "figures" | "structure";

const SIZES: Record<Detail, { operator: Size; end: Size }> = {
  figures: { operator: { width: 208, height: 112 }, end: { width: 156, height: 52 } },
  structure: { operator: { width: 200, height: 56 }, end: { width: 152, height: 40 } },
};
const NODE_GAP = 20;
const RANK_GAP = 84;
const BAND_GAP = 76;
const GROUP_GAP = 48;

interface Size {
  width: number;
  height: number;
}

function sizeOf(kind: NodeKind, detail: Detail): Size {
  return SIZES[detail][kind === "operator" ? "operator" : "end"];
}

/** The place of each node by id; x and y are its upper left corner. */
export function place(graph: Graph, detail: Detail): Map<string, Box> {
  const groups = streamGroups(graph);
  const placed = new Map<string, Box>();
  let top = 0;
  for (const band of bandsOf(graph, groups)) {
    const boxes = band.flatMap((group) => group.map((node) => node.id));
    if (top === 0) addAll(placed, placeStreams(graph, band.flat(), detail), 0, 0);
    else placeBand(graph, band, detail, placed, top);
    top = Math.max(...boxes.map((id) => bottomOf(placed.get(id)))) + BAND_GAP;
  }
  return placed;
}

/** Puts the groups of a band side by side in the order of their callers, on average right beneath them. */
function placeBand(graph: Graph, band: GraphNode[][], detail: Detail, placed: Map<string, Box>, top: number): void {
  const groups = band
    .map((group) => {
      const boxes = placeStreams(graph, group, detail);
      const middle = callersMiddle(graph, group, placed);
      return { boxes, middle, wish: middle - middleOfCalled(graph, group, boxes) };
    })
    .sort((a, b) => a.middle - b.middle);
  let free = -Infinity;
  const lefts = groups.map(({ boxes, wish }) => {
    const left = Math.max(wish, free);
    free = left + widthOf(boxes) + GROUP_GAP;
    return left;
  });
  const shift = mean(groups.map(({ wish }, i) => wish - (lefts[i] ?? wish)));
  groups.forEach(({ boxes }, i) => addAll(placed, boxes, (lefts[i] ?? 0) + shift, top));
}

function placeStreams({ edges }: Graph, nodes: GraphNode[], detail: Detail): Map<string, Box> {
  const graph = new DagreGraph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: NODE_GAP, ranksep: RANK_GAP });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.id, { ...sizeOf(node.kind, detail) });
  for (const edge of edges) {
    if (edge.kind !== "stream" || edge.from === edge.to || !graph.hasNode(edge.from) || !graph.hasNode(edge.to))
      continue;
    graph.setEdge(edge.from, edge.to, {}, edge.id);
  }
  runDagre(graph);
  return new Map(
    nodes.map(({ id, kind }) => {
      const { x, y } = graph.node(id) as { x: number; y: number };
      const { width, height } = sizeOf(kind, detail);
      return [id, { x: x - width / 2, y: y - height / 2, width, height }];
    }),
  );
}

/** The nodes that streams connect, group by group, in the order of the file. */
function streamGroups({ nodes, edges }: Graph): GraphNode[][] {
  const leader = new Map(nodes.map(({ id }) => [id, id]));
  const find = (id: string): string => {
    const up = leader.get(id) ?? id;
    return up === id ? id : find(up);
  };
  for (const { kind, from, to } of edges) if (kind === "stream") leader.set(find(to), find(from));
  const groups = new Map<string, GraphNode[]>();
  for (const node of nodes) groups.set(find(node.id), [...(groups.get(find(node.id)) ?? []), node]);
  return [...groups.values()];
}

/** Groups that nothing outside calls come first; beneath them those that they call, and so on. */
function bandsOf(graph: Graph, groups: GraphNode[][]): GraphNode[][][] {
  const groupOf = new Map(groups.flatMap((group, i) => group.map((node) => [node.id, i] as const)));
  const callers = groups.map(() => new Set<number>());
  for (const { kind, from, to } of graph.edges) {
    const [a, b] = [groupOf.get(from), groupOf.get(to)];
    if (kind === "call" && a !== undefined && b !== undefined && a !== b) callers[b]?.add(a);
  }
  const depth = (i: number, seen: ReadonlySet<number>): number => {
    if (seen.has(i)) return 0;
    return Math.max(0, ...[...(callers[i] ?? [])].map((caller) => 1 + depth(caller, new Set([...seen, i]))));
  };
  const bands: GraphNode[][][] = [];
  groups.forEach((group, i) => {
    const d = depth(i, new Set());
    bands[d] = [...(bands[d] ?? []), group];
  });
  return bands.filter((band) => band.length > 0);
}

function callersMiddle(graph: Graph, group: GraphNode[], placed: Map<string, Box>): number {
  const ids = new Set(group.map((node) => node.id));
  const callers = graph.edges.flatMap((edge) =>
    edge.kind === "call" && ids.has(edge.to) ? (placed.get(edge.from) ?? []) : [],
  );
  return mean(callers.map((box) => box.x + box.width / 2));
}

function middleOfCalled(graph: Graph, group: GraphNode[], boxes: Map<string, Box>): number {
  const called = group.filter(({ id }) => graph.edges.some((edge) => edge.kind === "call" && edge.to === id));
  return mean(called.flatMap(({ id }) => boxes.get(id) ?? []).map((box) => box.x + box.width / 2));
}

function addAll(into: Map<string, Box>, boxes: Map<string, Box>, dx: number, dy: number): void {
  for (const [id, box] of boxes) into.set(id, { ...box, x: box.x + dx, y: box.y + dy });
}

function widthOf(boxes: Map<string, Box>): number {
  return Math.max(...[...boxes.values()].map((box) => box.x + box.width));
}

function bottomOf(box: Box | undefined): number {
  return box === undefined ? 0 : box.y + box.height;
}

function mean(numbers: number[]): number {
  return numbers.length === 0 ? 0 : numbers.reduce((sum, n) => sum + n, 0) / numbers.length;
}

/** Equal for graphs of equal structure, so that new figures do not cause a new layout. */
export function signature({ nodes, edges }: Graph): string {
  return JSON.stringify([
    nodes.map((node) => [node.id, node.kind, node.module, node.handler, node.input, node.parallelism]),
    edges.map((edge) => [edge.id, edge.from, edge.to, edge.port, edge.kind]),
  ]);
}

/** The box around all places. */
export function boundsOf(places: Iterable<Box>): Box {
  const boxes = [...places];
  if (boxes.length === 0) return { x: 0, y: 0, width: 0, height: 0 };
  const x = Math.min(...boxes.map((box) => box.x));
  const y = Math.min(...boxes.map((box) => box.y));
  const right = Math.max(...boxes.map((box) => box.x + box.width));
  const bottom = Math.max(...boxes.map((box) => box.y + box.height));
  return { x, y, width: right - x, height: bottom - y };
}

export type Side = "top" | "right" | "bottom" | "left";

/** Which sides a call leaves and enters by: the ones that face each other, so that it stays apart from the streams. */
export function callSides(from: Box, to: Box): { from: Side; to: Side } {
  if (to.y >= from.y + from.height) return { from: "bottom", to: "top" };
  if (to.y + to.height <= from.y) return { from: "top", to: "bottom" };
  return to.x >= from.x ? { from: "bottom", to: "bottom" } : { from: "top", to: "top" };
}
