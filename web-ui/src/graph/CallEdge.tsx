/** Calls and sends between operators: dashed, in a colour of their own, with an arrow at the callee. */
import { BaseEdge, EdgeLabelRenderer, getBezierPath, type Edge, type EdgeProps } from "@xyflow/react";
import { rate as rateText } from "../ui/format";
import { EdgeLabel } from "./EdgeLabel";
import { useEdgeFigures } from "./figures";
import type { EdgeData } from "./GraphView";

export function CallEdge({ id, data, ...ends }: EdgeProps<Edge<EdgeData>>) {
  const figures = useEdgeFigures(id);
  const [path, x, y] = getBezierPath(ends);
  const name = data?.edge.port ?? "";
  return (
    <>
      <BaseEdge path={path} style={{ stroke: "var(--call)", strokeWidth: 1.5, strokeDasharray: "5 4" }} />
      <circle cx={ends.targetX} cy={ends.targetY} r={3.5} fill="var(--call)" />
      <EdgeLabelRenderer>
        <EdgeLabel x={x} y={y}>
          <span className="text-call">{name === "" ? "calls" : name}</span>
          {figures !== undefined && <span className="text-ink-2">{rateText(figures.rate)}/s</span>}
        </EdgeLabel>
      </EdgeLabelRenderer>
    </>
  );
}
