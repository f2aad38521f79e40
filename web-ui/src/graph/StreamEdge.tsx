/** A stream: solid, thicker and warmer as its queue fills, with the rate beside it. */
import { BaseEdge, EdgeLabelRenderer, type Edge, type EdgeProps } from "@xyflow/react";
import { percent, rate as rateText } from "../ui/format";
import { EdgeLabel } from "./EdgeLabel";
import { useEdgeFigures } from "./figures";
import { fillColour, fillWidth } from "./fill";
import type { EdgeData } from "./GraphView";

export function StreamEdge({ id, data }: EdgeProps<Edge<EdgeData>>) {
  const figures = useEdgeFigures(id);
  const fill = figures?.edge.queue_fill ?? 0;
  if (data === undefined) return null;
  const { path, label } = data.drawn;
  const { port } = data.edge;
  return (
    <>
      <BaseEdge
        path={path}
        style={{ stroke: fillColour(fill), strokeWidth: fillWidth(fill), transition: "stroke-width 0.7s, stroke 0.7s" }}
      />
      <EdgeLabelRenderer>
        <EdgeLabel {...label}>
          {port != null && port !== "" && <span className="text-ink-3">{port}</span>}
          {figures !== undefined && (
            <span className="font-medium text-ink-2">
              {rateText(figures.rate)}/s
              {fill >= 0.01 && <span style={{ color: fillColour(fill) }}> · {percent(fill)}</span>}
            </span>
          )}
        </EdgeLabel>
      </EdgeLabelRenderer>
    </>
  );
}
