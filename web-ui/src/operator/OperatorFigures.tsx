/** The figures of one node, its edges, and how it is set up. */
import { Link } from "react-router";
import type { GraphEdge, GraphNode } from "../api/types";
import { fillColour } from "../graph/fill";
import { useLive } from "../live/context";
import { useGraph, usePipeline } from "../pipelines/usePipeline";
import { Code } from "../ui/Code";
import { Fact, Facts, Figure } from "../ui/Facts";
import { count, percent, rate } from "../ui/format";
import { moduleRef } from "./moduleRef";
import { sectionOf } from "./section";

export function OperatorFigures({ pipeline, node }: { pipeline: string; node: GraphNode }) {
  const rates = useLive(pipeline)?.rates?.nodes[node.id];
  const edges = useGraph(pipeline)?.edges ?? [];
  const { data } = usePipeline(pipeline);
  const config = data === undefined ? undefined : sectionOf(data.file, node.id);
  const isOperator = node.kind === "operator";
  return (
    <div className="flex flex-col gap-5">
      <dl className="grid grid-cols-3 gap-x-4 gap-y-3">
        {node.kind !== "source" && <Figure name="In" value={rate(rates?.in)} unit="/s" />}
        {node.kind !== "sink" && <Figure name="Out" value={rate(rates?.out)} unit="/s" />}
        {isOperator && <Figure name="Busy" value={percent(node.busy)} />}
        {isOperator && <Figure name="In flight" value={count(node.running)} />}
        {isOperator && <Figure name="Waiting" value={count(node.waiting)} />}
        {isOperator && <Figure name="Retries" value={count(node.retries)} />}
        <Figure name="Errors" value={count(node.errors)} tone={node.errors > 0 ? "bad" : undefined} />
        {isOperator && (
          <Figure
            name="Dead letters"
            value={count(node.dead_letters)}
            tone={node.dead_letters > 0 ? "bad" : undefined}
          />
        )}
        {node.kind !== "source" && <Figure name="Records in" value={count(node.records_in)} />}
        {node.kind !== "sink" && <Figure name="Records out" value={count(node.records_out)} />}
      </dl>
      {isOperator && (
        <Facts>
          <Fact name="Module">
            <ModuleLink module={node.module} />
          </Fact>
          {node.handler != null && <Fact name="Handler">{node.handler}</Fact>}
          {node.input != null && <Fact name="Input">{node.input}</Fact>}
          <Fact name="Parallelism">{node.parallelism ?? 1}</Fact>
        </Facts>
      )}
      <Neighbours title="From" pipeline={pipeline} edges={edges.filter((edge) => edge.to === node.id)} end="from" />
      <Neighbours title="To" pipeline={pipeline} edges={edges.filter((edge) => edge.from === node.id)} end="to" />
      {config !== undefined && (
        <section>
          <h3 className="mb-1.5 text-xs font-medium text-ink-3">In the pipeline file</h3>
          <Code label={`definition of ${node.id}`} text={config} />
        </section>
      )}
    </div>
  );
}

function ModuleLink({ module }: { module: string | null | undefined }) {
  if (module == null) return <>built in</>;
  const ref = moduleRef(module);
  if (ref === undefined) return <code className="font-mono text-xs">{module}</code>;
  return (
    <Link
      to={`/modules/${encodeURIComponent(ref.name)}/${encodeURIComponent(ref.version)}`}
      className="font-mono text-xs text-accent hover:underline"
    >
      {module}
    </Link>
  );
}

function Neighbours({
  title,
  pipeline,
  edges,
  end,
}: {
  title: string;
  pipeline: string;
  edges: GraphEdge[];
  end: "from" | "to";
}) {
  const rates = useLive(pipeline)?.rates?.edges;
  if (edges.length === 0) return null;
  return (
    <section>
      <h3 className="mb-1 text-xs font-medium text-ink-3">{title}</h3>
      <ul className="divide-y divide-line rounded-md border border-line">
        {edges.map((edge) => (
          <li key={edge.id} className="flex items-center gap-2 px-3 py-1.5">
            <Link
              to={`../operators/${encodeURIComponent(edge[end])}`}
              className="font-medium hover:text-accent hover:underline"
            >
              {edge[end]}
            </Link>
            {edge.port != null && edge.port !== "" && <span className="text-xs text-ink-3">{edge.port}</span>}
            {edge.kind === "call" && <span className="text-xs text-call">calls and sends</span>}
            <span className="ml-auto">{rate(rates?.[edge.id])}/s</span>
            {edge.kind === "stream" && (
              <span className="w-20 text-right text-xs" style={{ color: fillColour(edge.queue_fill) }}>
                queue {percent(edge.queue_fill)}
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
