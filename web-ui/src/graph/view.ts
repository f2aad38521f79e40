/**
 * Which part of a graph is in sight. Text must stay readable, so a graph is never made smaller than it is
 * drawn: one that is too large for its room is moved by hand instead. Pure.
 */
import type { Box } from "./layout";

export interface View {
  x: number;
  y: number;
  zoom: number;
}

export interface Room {
  width: number;
  height: number;
}

export const MARGIN = 20;
/** At 1 the smallest text of a node has its 12 pixels. */
const ZOOM_MIN = 1;
const ZOOM_MAX = 1.25;

/** The whole graph in the middle if it fits; else its beginning, or what is around `focus`. */
export function viewOf(graph: Box, room: Room, focus: Box | undefined): View {
  const fit = Math.min((room.width - 2 * MARGIN) / graph.width, (room.height - 2 * MARGIN) / graph.height);
  const zoom = Math.min(ZOOM_MAX, Math.max(ZOOM_MIN, fit));
  return {
    zoom,
    x: shift(graph.x * zoom, graph.width * zoom, room.width, focus && (focus.x + focus.width / 2) * zoom),
    y: shift(graph.y * zoom, graph.height * zoom, room.height, focus && (focus.y + focus.height / 2) * zoom),
  };
}

/** Where zero comes to lie on one axis, in pixels. */
function shift(start: number, length: number, room: number, focus: number | undefined): number {
  const slack = room - 2 * MARGIN - length;
  if (slack >= 0) return room / 2 - (start + length / 2);
  const first = MARGIN - start;
  return focus === undefined ? first : Math.min(first, Math.max(first + slack, room / 2 - focus));
}
