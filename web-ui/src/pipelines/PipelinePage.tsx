/** One pipeline: its name, status and commands, and the tabs beneath. */
import { Link, NavLink, Outlet, useLocation } from "react-router";
import { useLive } from "../live/context";
import { totals } from "../live/rates";
import { Badge, StatusBadge } from "../ui/Badge";
import { count } from "../ui/format";
import { isNotFound, NoPipeline } from "../ui/NotFound";
import { ErrorNote, Loading } from "../ui/Notes";
import { useTitle } from "../ui/Page";
import { PipelineCommands } from "./PipelineCommands";
import { usePipeline, usePipelineName } from "./usePipeline";

export function PipelinePage() {
  const name = usePipelineName();
  const live = useLive(name);
  const { data, error, isPending, refetch } = usePipeline(name);
  const { pathname } = useLocation();
  useTitle(name);

  if (isNotFound(error)) return <NoPipeline name={name} />;
  if (isPending) return <Loading what={name} />;
  const status = live?.status ?? data?.status;
  const deadLetters = live === undefined ? 0 : totals(live.figures).deadLetters;

  return (
    <div className="flex min-h-full flex-col">
      <header className="flex flex-col gap-2 border-b border-line bg-surface px-4 pt-4 md:px-6">
        <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
          <h1 className="flex min-w-0 flex-wrap items-center gap-2 text-lg font-semibold">
            <span className="break-all">{name}</span>
            {status !== undefined && <StatusBadge status={status} />}
            {data?.balanced === false && <Badge tone="bad">not balanced</Badge>}
            {data !== undefined && <Badge>revision {data.revision}</Badge>}
          </h1>
          {status !== undefined && <PipelineCommands name={name} status={status} />}
        </div>
        {status === "failed" && data?.status_reason != null && (
          <p role="alert" className="max-w-prose rounded-md bg-bad-soft px-3 py-2 text-bad">
            {data.status_reason}
          </p>
        )}
        {data?.balanced === false && !pathname.endsWith("/audit") && (
          <p role="alert" className="max-w-prose rounded-md bg-bad-soft px-3 py-2 text-bad">
            The audit does not add up: events were lost or doubled.{" "}
            <Link to="audit" className="font-medium underline">
              See the audit
            </Link>
          </p>
        )}
        {error !== null && <ErrorNote error={error} onRetry={() => void refetch()} />}
        <nav aria-label="Parts of the pipeline" className="-mb-px flex gap-5 overflow-x-auto">
          <Tab to="." end={false}>
            Graph
          </Tab>
          <Tab to="dead-letters">
            Dead letters
            {deadLetters > 0 && <Badge tone="bad">{count(deadLetters)}</Badge>}
          </Tab>
          <Tab to="audit">Audit</Tab>
          <Tab to="file">File</Tab>
          <Tab to="revisions">Revisions</Tab>
        </nav>
      </header>
      <div className="flex min-h-0 flex-1 flex-col p-4 md:px-6">
        <Outlet />
      </div>
    </div>
  );
}

const others = /\/(dead-letters|audit|file|revisions)$/;

function Tab({ to, end = true, children }: { to: string; end?: boolean; children: React.ReactNode }) {
  return (
    <NavLink
      to={to}
      end={end}
      className={({ isActive }) => {
        const active = isActive && (to !== "." || !others.test(location.pathname));
        return `flex items-center gap-1.5 border-b-2 pt-1 pb-2 font-medium whitespace-nowrap ${
          active ? "border-accent text-ink" : "border-transparent text-ink-2 hover:text-ink"
        }`;
      }}
    >
      {children}
    </NavLink>
  );
}
