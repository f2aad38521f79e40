/** The graph as the monitor, the same figures as a table, and the panel of the chosen node beside it. */
import { useMemo, type CSSProperties } from "react";
import { useOutlet, useParams } from "react-router";
import { FiguresOf } from "../graph/figures";
import { GraphView, heightOf } from "../graph/GraphView";
import { signature } from "../graph/layout";
import { Loading } from "../ui/Notes";
import { Panel } from "../ui/Page";
import { NodesTable } from "./NodesTable";
import { useGraph, usePipelineName } from "./usePipeline";

export function GraphTab() {
  const pipeline = usePipelineName();
  const selected = useParams()["operator"];
  const graph = useGraph(pipeline);
  const panel = useOutlet();
  const structure = graph && signature(graph);
  // As in the graph itself: figures change each second, places do not.
  // eslint-disable-next-line react-hooks/exhaustive-deps
  const height = useMemo(() => (graph === undefined ? 0 : heightOf(graph, "figures")), [structure]);
  if (graph === undefined) return <Loading what="the graph" />;
  const linkTo = (id: string) => `/pipelines/${encodeURIComponent(pipeline)}/operators/${encodeURIComponent(id)}`;
  return (
    <div
      className={`grid flex-1 items-start gap-4 ${selected === undefined ? "" : "lg:grid-cols-[minmax(0,1fr)_26rem]"}`}
    >
      <div className="flex min-w-0 flex-col gap-4">
        <section
          aria-label="Graph"
          style={{ "--content": `${height}px` } as CSSProperties}
          className="relative h-80 overflow-hidden rounded-lg border border-line bg-surface md:h-[clamp(24rem,max(100vh-16rem,var(--content)),52rem)]"
        >
          <FiguresOf pipeline={pipeline}>
            <GraphView detail="figures" graph={graph} linkTo={linkTo} selected={selected} />
          </FiguresOf>
        </section>
        <div className="@container">
          <Panel flush>
            <NodesTable pipeline={pipeline} nodes={graph.nodes} linkTo={linkTo} selected={selected} />
          </Panel>
        </div>
      </div>
      {selected !== undefined && panel}
    </div>
  );
}
