/** Calls and sends between operators: dashed, in a colour of their own, with a dot at the callee. */
import { BaseEdge, EdgeLabelRenderer, type Edge, type EdgeProps } from "@xyflow/react";
import { rate as rateText } from "../ui/format";
import { EdgeLabel } from "./EdgeLabel";
import { useEdgeFigures } from "./figures";
import type { EdgeData } from "./GraphView";

export function CallEdge({ id, data }: EdgeProps<Edge<EdgeData>>) {
  const figures = useEdgeFigures(id);
  if (data === undefined) return null;
  const { path, label, end } = data.drawn;
  const name = data.edge.port ?? "";
  return (
    <>
      <BaseEdge path={path} style={{ stroke: "var(--call)", strokeWidth: 1.5, strokeDasharray: "5 4" }} />
      <circle cx={end.x} cy={end.y} r={3.5} fill="var(--call)" />
      <EdgeLabelRenderer>
        <EdgeLabel {...label}>
          <span className="text-call">{name === "" ? "calls, sends" : name}</span>
          {figures !== undefined && <span className="text-ink-2">{rateText(figures.rate)}/s</span>}
        </EdgeLabel>
      </EdgeLabelRenderer>
    </>
  );
}
