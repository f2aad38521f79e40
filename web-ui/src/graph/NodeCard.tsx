/** One node of the graph. Shape tells its kind: a source is round to the left, a sink to the right, an operator square. */
import { Handle, Position, type Node, type NodeProps } from "@xyflow/react";
import { Link } from "react-router";
import type { GraphNode } from "../api/types";
import { recordsOf, type NodeRate } from "../live/rates";
import { count, percent, rate as rateText } from "../ui/format";
import { Meter } from "../ui/Meter";
import { useNodeFigures } from "./figures";
import type { NodeData } from "./GraphView";
import { KindIcon } from "./KindIcon";

const shapes = {
  source: "rounded-l-[2.375rem] rounded-r-md pl-6 pr-3",
  operator: "rounded-md px-3",
  sink: "rounded-l-md rounded-r-[2.375rem] pl-3 pr-6",
};

export function NodeCard({ data }: NodeProps<Node<NodeData>>) {
  const { node, href, selected } = data;
  const figures = useNodeFigures(node.id);
  const failing = (figures?.rate?.errors ?? 0) > 0;
  const frame = `flex h-full w-full flex-col justify-center gap-1.5 border bg-raised text-left transition-colors ${shapes[node.kind]} ${
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
  return (
    <>
      <span className="flex min-w-0 items-center gap-1.5">
        <KindIcon kind={node.kind} />
        <span className="min-w-0 flex-1 truncate font-semibold">{node.id}</span>
        {(node.parallelism ?? 1) > 1 && (
          <span title="Parallelism" className="text-xs text-ink-3">
            ×{node.parallelism}
          </span>
        )}
      </span>
      {node.kind === "operator" && (
        <span className="truncate font-mono text-2xs text-ink-3">
          {node.module ?? "built in"}
          {node.handler != null && ` · ${node.handler}`}
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
        <Pair name="errors" value={count(node.errors)} bad={node.errors > 0} />
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
        <Pair name="errors" value={count(node.errors)} bad />
      ) : (
        <span className="text-xs text-ink-3">{count(recordsOf(node))}</span>
      )}
    </span>
  );
}

function Pair({ name, value, bad = false }: { name: string; value: string; bad?: boolean }) {
  return (
    <span className="whitespace-nowrap">
      <span className="text-xs text-ink-3">{name}</span>{" "}
      <span className={`font-medium ${bad ? "text-bad" : ""}`}>{value}</span>
    </span>
  );
}

function Handles() {
  return (
    <>
      {(["top", "right", "bottom", "left"] as const).flatMap((side) => [
        <Handle
          key={`${side}-out`}
          id={`${side}-out`}
          type="source"
          position={positions[side]}
          isConnectable={false}
        />,
        <Handle key={`${side}-in`} id={`${side}-in`} type="target" position={positions[side]} isConnectable={false} />,
      ])}
    </>
  );
}

const positions = { top: Position.Top, right: Position.Right, bottom: Position.Bottom, left: Position.Left };

function spoken(node: GraphNode, figures: NodeFigures): string {
  const parts = [`${node.kind} ${node.id}`];
  if (node.module != null) parts.push(`module ${node.module}`);
  if (figures !== undefined) {
    parts.push(`in ${rateText(figures.rate?.in)} per second`, `out ${rateText(figures.rate?.out)} per second`);
    parts.push(`${figures.node.errors} errors`, `busy ${percent(figures.node.busy)}`);
  }
  return parts.join(", ");
}
