/**
 * Which pipeline's live figures the cards and edges of a graph show. Without one (a preview of a
 * plan) they show structure only. Cards follow the figures themselves, so xyflow is not drawn anew each second.
 */
import { createContext, useContext, type ReactNode } from "react";
import type { GraphEdge, GraphNode } from "../api/types";
import { useLive } from "../live/context";
import type { NodeRate } from "../live/rates";

const PipelineContext = createContext<string | null>(null);

export function FiguresOf({ pipeline, children }: { pipeline: string; children: ReactNode }) {
  return <PipelineContext value={pipeline}>{children}</PipelineContext>;
}

export function useNodeFigures(id: string): { node: GraphNode; rate: NodeRate | undefined } | undefined {
  const live = useLive(useContext(PipelineContext) ?? "");
  const node = live?.figures.nodes.find((candidate) => candidate.id === id);
  return node && { node, rate: live?.rates?.nodes[id] };
}

export function useEdgeFigures(id: string): { edge: GraphEdge; rate: number | undefined } | undefined {
  const live = useLive(useContext(PipelineContext) ?? "");
  const edge = live?.figures.edges.find((candidate) => candidate.id === id);
  return edge && { edge, rate: live?.rates?.edges[id] };
}
