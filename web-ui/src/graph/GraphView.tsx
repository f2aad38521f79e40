/** A pipeline's graph, drawn by xyflow. Every node is a link; panning and pinching work, the wheel scrolls the page. */
import {
  Controls,
  ReactFlow,
  useReactFlow,
  useStore,
  ReactFlowProvider,
  type Edge,
  type EdgeTypes,
  type Node,
  type NodeTypes,
} from "@xyflow/react";
import { useEffect, useMemo } from "react";
import type { Graph, GraphEdge, GraphNode } from "../api/types";
import { CallEdge } from "./CallEdge";
import { callSides, place, signature, type Detail } from "./layout";
import { NodeCard } from "./NodeCard";
import { StreamEdge } from "./StreamEdge";

export interface NodeData extends Record<string, unknown> {
  node: GraphNode;
  href: string | undefined;
  selected: boolean;
}

export interface EdgeData extends Record<string, unknown> {
  edge: GraphEdge;
}

const nodeTypes: NodeTypes = { card: NodeCard };
const edgeTypes: EdgeTypes = { stream: StreamEdge, call: CallEdge };

interface GraphViewProps {
  graph: Graph;
  /** Without it the nodes are not links. */
  linkTo?: (id: string) => string;
  selected?: string | undefined;
  detail: Detail;
}

export function GraphView(props: GraphViewProps) {
  return (
    <ReactFlowProvider>
      <Flow {...props} />
    </ReactFlowProvider>
  );
}

function Flow({ graph, linkTo, selected, detail }: GraphViewProps) {
  const structure = signature(graph);
  // The structure stands for the graph here: figures change each second, places do not.
  // eslint-disable-next-line react-hooks/exhaustive-deps
  const drawn = useMemo(() => draw(graph, detail), [structure, detail]);
  const nodes = drawn.nodes.map((node) => ({
    ...node,
    data: { ...node.data, href: linkTo?.(node.id), selected: node.id === selected },
  }));
  useFit(structure);
  return (
    <ReactFlow
      nodes={nodes}
      edges={drawn.edges}
      nodeTypes={nodeTypes}
      edgeTypes={edgeTypes}
      nodesDraggable={false}
      nodesConnectable={false}
      nodesFocusable={false}
      edgesFocusable={false}
      elementsSelectable={false}
      zoomOnScroll={false}
      zoomOnDoubleClick={false}
      preventScrolling={false}
      minZoom={0.1}
      maxZoom={1.5}
      fitView
      fitViewOptions={fit}
    >
      <Controls showInteractive={false} orientation="horizontal" position="top-right" fitViewOptions={fit} />
    </ReactFlow>
  );
}

/** Narrower than this, the whole graph would be too small to read: then it is moved by hand. */
const NARROW = 640;
const fit = { padding: { top: "20px", left: "20px", right: "20px", bottom: "24px" }, maxZoom: 1.1 } as const;

/** Fits the whole graph again when its structure or the room for it changes. */
function useFit(structure: string): void {
  const { fitView } = useReactFlow();
  const width = useStore((store) => store.width);
  const height = useStore((store) => store.height);
  useEffect(() => {
    const frame = requestAnimationFrame(() => void fitView(width < NARROW ? { ...fit, minZoom: 0.5 } : fit));
    return () => cancelAnimationFrame(frame);
  }, [fitView, structure, width, height]);
}

function draw(graph: Graph, detail: Detail): { nodes: Node<NodeData>[]; edges: Edge<EdgeData>[] } {
  const places = place(graph, detail);
  const nodes = graph.nodes.flatMap((node): Node<NodeData>[] => {
    const box = places.get(node.id);
    if (box === undefined) return [];
    const { x, y, width, height } = box;
    return [
      {
        id: node.id,
        type: "card",
        position: { x, y },
        width,
        height,
        data: { node, href: undefined, selected: false },
      },
    ];
  });
  const edges = graph.edges.flatMap((edge): Edge<EdgeData>[] => {
    const from = places.get(edge.from);
    const to = places.get(edge.to);
    if (from === undefined || to === undefined) return [];
    const sides = edge.kind === "call" ? callSides(from, to) : ({ from: "right", to: "left" } as const);
    return [
      {
        id: edge.id,
        type: edge.kind,
        source: edge.from,
        target: edge.to,
        sourceHandle: `${sides.from}-out`,
        targetHandle: `${sides.to}-in`,
        data: { edge },
      },
    ];
  });
  return { nodes, edges };
}
