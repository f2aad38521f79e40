/** One pipeline in the list. It follows the live figures by itself, so that one tick does not draw the whole page. */
import { Link } from "react-router";
import type { PipelineSummary } from "../api/types";
import { useLive } from "../live/context";
import { recordsIn, totals } from "../live/rates";
import { Badge, StatusBadge } from "../ui/Badge";
import { count, rate } from "../ui/format";
import { Sparkline } from "../ui/Sparkline";

export function PipelineRow({ pipeline }: { pipeline: PipelineSummary }) {
  const live = useLive(pipeline.name);
  const { errors, deadLetters } =
    live === undefined ? { errors: pipeline.errors, deadLetters: pipeline.dead_letters } : totals(live.figures);
  const here = `/pipelines/${encodeURIComponent(pipeline.name)}`;
  const status = live?.status ?? pipeline.status;
  return (
    <tr className="hover:bg-sunken/60">
      <td className="font-medium">
        <Link to={here} className="hover:text-accent hover:underline">
          {pipeline.name}
        </Link>
      </td>
      <td>
        <span className="flex flex-wrap items-center gap-1.5">
          <StatusBadge status={status} />
          {pipeline.balanced === false && (
            <Link to={`${here}/audit`} className="hover:underline">
              <Badge tone="bad">not balanced</Badge>
            </Link>
          )}
        </span>
      </td>
      <td className="num text-ink-2 max-sm:hidden">{live?.revision ?? pipeline.revision}</td>
      <td className="max-md:hidden">
        <Sparkline points={live?.history ?? []} />
      </td>
      <td className={`num ${status === "running" ? "font-medium" : "text-ink-3"}`}>{rate(live?.history.at(-1))}</td>
      <td className="num text-ink-2 max-sm:hidden">
        {count(live === undefined ? pipeline.records_in : recordsIn(live.figures))}
      </td>
      <td className={`num ${errors > 0 ? "text-bad" : "text-ink-3"}`}>{count(errors)}</td>
      <td className="num">
        {deadLetters > 0 ? (
          <Link to={`${here}/dead-letters`} className="text-bad underline decoration-dotted underline-offset-2">
            {count(deadLetters)}
          </Link>
        ) : (
          <span className="text-ink-3">0</span>
        )}
      </td>
    </tr>
  );
}
