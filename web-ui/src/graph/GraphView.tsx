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
import { boundsOf, place, signature, type Box, type Detail } from "./layout";
import { NodeCard } from "./NodeCard";
import { pathsOf, type EdgePath } from "./paths";
import { StreamEdge } from "./StreamEdge";
import { MARGIN, viewOf } from "./view";

export interface NodeData extends Record<string, unknown> {
  node: GraphNode;
  href: string | undefined;
  selected: boolean;
}

export interface EdgeData extends Record<string, unknown> {
  edge: GraphEdge;
  drawn: EdgePath;
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
  useView(drawn, selected);
  return (
    <div className="flex h-full flex-col">
      {/* Above the graph, not on it: however it is moved, no node lies under a button. */}
      <div className="relative shrink-0 border-b border-line" style={{ height: BAR }}>
        <Controls
          showInteractive={false}
          orientation="horizontal"
          position="top-right"
          fitViewOptions={whole}
          style={{ margin: "0.25rem" }}
        />
      </div>
      <div className="min-h-0 flex-1">
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
        />
      </div>
    </div>
  );
}

/** Height of the bar with the buttons, in pixels. */
const BAR = 36;

/** What the button shows: all of the graph, however small. */
const whole = { padding: `${MARGIN}px`, maxZoom: 1.1 } as const;

interface Drawn {
  nodes: Node<NodeData>[];
  edges: Edge<EdgeData>[];
  places: Map<string, Box>;
}

/** Chooses what is in sight anew when the graph's structure, the chosen node or the room changes. */
function useView({ places }: Drawn, selected: string | undefined): void {
  const { setViewport } = useReactFlow();
  const width = useStore((store) => store.width);
  const height = useStore((store) => store.height);
  useEffect(() => {
    if (width === 0 || places.size === 0) return;
    const focus = selected === undefined ? undefined : places.get(selected);
    void setViewport(viewOf(boundsOf(places.values()), { width, height }, focus));
  }, [setViewport, places, width, height, selected]);
}

function draw(graph: Graph, detail: Detail): Drawn {
  const places = place(graph, detail);
  const paths = pathsOf(graph, places);
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
    const path = paths.get(edge.id);
    if (path === undefined) return [];
    return [{ id: edge.id, type: edge.kind, source: edge.from, target: edge.to, data: { edge, drawn: path } }];
  });
  return { nodes, edges, places };
}

/** The height in which all of the graph can be read without moving it. */
export function heightOf(graph: Graph, detail: Detail): number {
  return BAR + boundsOf(place(graph, detail).values()).height + 2 * MARGIN;
}
