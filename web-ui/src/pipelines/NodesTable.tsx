/**
 * The figures of all nodes as a table: easier to read closely, to hear, and to use on a narrow
 * screen. Where there is little room it leaves out what the node's panel says too.
 */
import { Link } from "react-router";
import type { GraphNode } from "../api/types";
import { KindIcon } from "../graph/KindIcon";
import { useLive } from "../live/context";
import { recordsOf } from "../live/rates";
import { count, percent, rate } from "../ui/format";

interface NodesTableProps {
  pipeline: string;
  nodes: GraphNode[];
  linkTo: (id: string) => string;
  selected: string | undefined;
}

export function NodesTable({ pipeline, nodes, linkTo, selected }: NodesTableProps) {
  const rates = useLive(pipeline)?.rates?.nodes;
  return (
    <table className="table-dense">
      <caption className="sr-only">Figures of all nodes</caption>
      <thead>
        <tr>
          <th scope="col">Node</th>
          <th scope="col" className="num">
            In/s
          </th>
          <th scope="col" className="num">
            Out/s
          </th>
          <th scope="col" className="num">
            Records
          </th>
          <th scope="col" className="num @max-2xl:hidden">
            In flight
          </th>
          <th scope="col" className="num">
            Waiting
          </th>
          <th scope="col" className="num">
            Busy
          </th>
          <th scope="col" className="num">
            Errors
          </th>
          <th scope="col" className="num @max-2xl:hidden">
            Retries
          </th>
          <th scope="col" className="num">
            Dead letters
          </th>
          <th scope="col" className="@max-3xl:hidden">
            Module
          </th>
        </tr>
      </thead>
      <tbody>
        {nodes.map((node) => (
          <tr
            key={node.id}
            data-node={node.id}
            className={node.id === selected ? "bg-accent-soft" : "hover:bg-sunken/60"}
          >
            <td className="font-medium whitespace-nowrap">
              <Link to={linkTo(node.id)} className="flex items-center gap-2 hover:text-accent hover:underline">
                <KindIcon kind={node.kind} />
                {node.id}
                <span className="sr-only">, {node.kind}</span>
              </Link>
            </td>
            <td className="num">{node.kind === "source" ? "" : rate(rates?.[node.id]?.in)}</td>
            <td className="num">{node.kind === "sink" ? "" : rate(rates?.[node.id]?.out)}</td>
            <td className="num text-ink-2" data-figure="records">
              {count(recordsOf(node))}
            </td>
            <td className="num @max-2xl:hidden">{node.kind === "operator" && count(node.running)}</td>
            <td className="num">{node.kind === "operator" && count(node.waiting)}</td>
            <td className="num">{node.kind === "operator" && percent(node.busy)}</td>
            <Alarm n={node.errors} />
            <td className="num text-ink-2 @max-2xl:hidden">{count(node.retries)}</td>
            <Alarm n={node.dead_letters} />
            <td className="font-mono text-xs whitespace-nowrap text-ink-2 @max-3xl:hidden">{node.module}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Alarm({ n }: { n: number }) {
  return <td className={`num ${n > 0 ? "text-bad" : "text-ink-3"}`}>{count(n)}</td>;
}
