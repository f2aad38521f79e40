/** One node of the graph. Shape tells its kind: a source is round to the left, a sink to the right, an operator square. */
import { Handle, Position, type Node, type NodeProps } from "@xyflow/react";
import { Link } from "react-router";
import type { GraphNode } from "../api/types";
import { recordsOf, type NodeRate } from "../live/rates";
import { count, percent, plural, rate as rateText } from "../ui/format";
import { Meter } from "../ui/Meter";
import { useNodeFigures } from "./figures";
import type { NodeData } from "./GraphView";
import { KindIcon } from "./KindIcon";

const shapes = {
  source: "rounded-l-[1.625rem] rounded-r-md pl-5 pr-3",
  operator: "rounded-md px-3 gap-1",
  sink: "rounded-l-md rounded-r-[1.625rem] pl-3 pr-5",
};

export function NodeCard({ data }: NodeProps<Node<NodeData>>) {
  const { node, href, selected } = data;
  const figures = useNodeFigures(node.id);
  const failing = (figures?.rate?.errors ?? 0) > 0;
  const frame = `flex h-full w-full flex-col justify-center border bg-raised text-left transition-colors ${shapes[node.kind]} ${
    selected ? "border-accent ring-2 ring-accent" : failing ? "border-bad" : "border-line-strong"
  }`;
  const content = <Content node={node} figures={figures} />;
  return (
    <>
      <Handles />
      {href === undefined ? (
        <div className={frame}>{content}</div>
      ) : (
        <Link
          to={href}
          aria-label={spoken(node, figures)}
          className={`nopan pointer-events-auto hover:border-accent ${frame}`}
        >
          {content}
        </Link>
      )}
    </>
  );
}

type NodeFigures = { node: GraphNode; rate: NodeRate | undefined } | undefined;

function Content({ node, figures }: { node: GraphNode; figures: NodeFigures }) {
  const instances = instancesOf(node);
  const errors = figures?.node.errors ?? 0;
  const entry = node.handler ?? node.input;
  const placed = `${node.module ?? "built in"}${entry == null ? "" : ` · ${entry}`}`;
  return (
    <>
      <span className="flex min-w-0 items-center gap-1.5">
        <KindIcon kind={node.kind} />
        <span className="min-w-0 flex-1 truncate font-semibold">{node.id}</span>
        {instances > 1 && <span className="shrink-0 text-xs text-ink-3">{instances} instances</span>}
      </span>
      {node.kind === "operator" && (
        <span className="flex justify-between gap-2 text-xs">
          <span className="min-w-0 truncate font-mono text-ink-3" title={placed}>
            {placed}
          </span>
          {errors > 0 && <span className="shrink-0 font-medium text-bad">{plural(errors, "error")}</span>}
        </span>
      )}
      {figures !== undefined &&
        (node.kind === "operator" ? <OperatorFigures {...figures} /> : <EndFigure {...figures} />)}
    </>
  );
}

function OperatorFigures({ node, rate }: { node: GraphNode; rate: NodeRate | undefined }) {
  return (
    <>
      <span className="flex justify-between gap-2">
        <Pair name="in" value={`${rateText(rate?.in)}/s`} />
        <Pair name="out" value={`${rateText(rate?.out)}/s`} />
      </span>
      <span className="flex justify-between gap-2 text-xs">
        <Pair name="in flight" value={count(node.running)} />
        <Pair name="waiting" value={count(node.waiting)} />
      </span>
      <Meter share={node.busy} label="Busy" />
    </>
  );
}

function EndFigure({ node, rate }: { node: GraphNode; rate: NodeRate | undefined }) {
  const perSecond = rate && (node.kind === "source" ? Math.max(rate.in, rate.out) : rate.in);
  return (
    <span className="flex justify-between gap-2">
      <span className="font-medium">{rateText(perSecond)}/s</span>
      {node.errors > 0 ? (
        <span className="text-xs font-medium text-bad">{plural(node.errors, "error")}</span>
      ) : (
        <span className="text-xs text-ink-3">{count(recordsOf(node))}</span>
      )}
    </span>
  );
}

function Pair({ name, value }: { name: string; value: string }) {
  return (
    <span className="whitespace-nowrap">
      <span className="text-xs text-ink-3">{name}</span> <span className="font-medium">{value}</span>
    </span>
  );
}

/** Lines are drawn by their own paths; xyflow draws none for a node without handles. */
function Handles() {
  return (
    <>
      <Handle type="source" position={Position.Right} isConnectable={false} />
      <Handle type="target" position={Position.Left} isConnectable={false} />
    </>
  );
}

/** Only operators say how many they are; sources and sinks follow the partitions of their topics. */
function instancesOf({ kind, parallelism }: GraphNode): number {
  return kind === "operator" ? (parallelism ?? 1) : 1;
}

function spoken(node: GraphNode, figures: NodeFigures): string {
  const parts = [`${node.kind} ${node.id}`];
  if (node.module != null) parts.push(`module ${node.module}`);
  if (instancesOf(node) > 1) parts.push(`${instancesOf(node)} instances`);
  if (figures !== undefined) {
    parts.push(`in ${rateText(figures.rate?.in)} per second`, `out ${rateText(figures.rate?.out)} per second`);
    parts.push(`${figures.node.errors} errors`, `busy ${percent(figures.node.busy)}`);
  }
  return parts.join(", ");
}
