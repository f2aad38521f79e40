/** The accounts as of the last commit: what every operator took must equal what became of it. */
import { useQuery } from "@tanstack/react-query";
import { Check, TriangleAlert } from "lucide-react";
import { printJson } from "../api/json";
import { getAudit } from "../api/pipelines";
import type { Audit, AuditOperator } from "../api/types";
import { Badge } from "../ui/Badge";
import { exactCount } from "../ui/format";
import { ErrorNote, Loading } from "../ui/Notes";
import { Panel } from "../ui/Page";
import { usePipelineName } from "./usePipeline";

export function AuditTab() {
  const pipeline = usePipelineName();
  const audit = useQuery({
    queryKey: ["pipeline", pipeline, "audit"],
    queryFn: ({ signal }) => getAudit(pipeline, signal),
    refetchInterval: 2_000,
  });
  if (audit.isError) return <ErrorNote error={audit.error} onRetry={() => void audit.refetch()} />;
  if (audit.isPending) return <Loading what="the audit" />;
  const { balanced, epoch, operators, edges, sources } = audit.data;
  return (
    <div className="flex flex-col gap-4">
      <Verdict balanced={balanced} epoch={epoch} />
      <Panel flush title="Operators">
        <Operators rows={operators} />
      </Panel>
      <Panel flush title="Edges">
        <Edges rows={edges} />
      </Panel>
      <Panel flush title="Sources">
        <Sources rows={sources} />
      </Panel>
    </div>
  );
}

function Verdict({ balanced, epoch }: { balanced: boolean; epoch: number }) {
  const Icon = balanced ? Check : TriangleAlert;
  return (
    <div className={`flex items-start gap-3 rounded-lg px-4 py-3 ${balanced ? "bg-good-soft" : "bg-bad-soft"}`}>
      <Icon aria-hidden className={`mt-0.5 size-4 shrink-0 ${balanced ? "text-good" : "text-bad"}`} />
      <div>
        <p className="font-semibold">{balanced ? "Balanced" : "Not balanced"}</p>
        <p className="text-ink-2">
          {balanced
            ? "Everything taken in is accounted for"
            : "Some rows below do not add up; please report it with this page"}
          , as of epoch {exactCount(epoch)}. Taken = ended + filtered + skipped + dead-lettered + late + shed + waiting.
        </p>
      </div>
    </div>
  );
}

const columns = [
  ["taken", "Taken"],
  ["ended", "Ended"],
  ["filtered", "Filtered"],
  ["skipped", "Skipped"],
  ["dead_lettered", "Dead-lettered"],
  ["late", "Late"],
  ["shed", "Shed"],
  ["waiting", "Waiting"],
] as const satisfies readonly (readonly [keyof AuditOperator, string])[];

function Operators({ rows }: { rows: AuditOperator[] }) {
  return (
    <table className="table-dense">
      <thead>
        <tr>
          <th scope="col">Operator</th>
          {columns.map(([field, text]) => (
            <th key={field} scope="col" className="num">
              {text}
            </th>
          ))}
          <th scope="col">Balanced</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id}>
            <td className="font-medium">{row.id}</td>
            {columns.map(([field]) => (
              <Amount key={field} n={row[field]} />
            ))}
            <Sum balanced={row.balanced} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Edges({ rows }: { rows: Audit["edges"] }) {
  return (
    <table className="table-dense">
      <thead>
        <tr>
          <th scope="col">From</th>
          <th scope="col">To</th>
          <th scope="col" className="num">
            Sent
          </th>
          <th scope="col" className="num">
            Taken
          </th>
          <th scope="col" className="num">
            Queued
          </th>
          <th scope="col">Balanced</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row, i) => (
          <tr key={i}>
            <td className="font-medium">
              {row.from}
              {row.port != null && row.port !== "" && <span className="text-ink-3">.{row.port}</span>}
            </td>
            <td className="font-medium">{row.to}</td>
            <Amount n={row.sent} />
            <Amount n={row.taken} />
            <Amount n={row.queued} />
            <Sum balanced={row.balanced} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Sources({ rows }: { rows: Audit["sources"] }) {
  return (
    <table className="table-dense">
      <thead>
        <tr>
          <th scope="col">Source</th>
          <th scope="col">Position</th>
          <th scope="col" className="num">
            Taken
          </th>
          <th scope="col">Balanced</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id}>
            <td className="font-medium">{row.id}</td>
            <td className="font-mono text-xs text-ink-2">
              {typeof row.position === "number" ? exactCount(row.position) : printJson(row.position)}
            </td>
            <Amount n={row.taken} />
            <Sum balanced={row.balanced} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Amount({ n }: { n: number }) {
  return <td className={`num ${n === 0 ? "text-ink-3" : ""}`}>{exactCount(n)}</td>;
}

function Sum({ balanced }: { balanced: boolean }) {
  return <td>{balanced ? <Badge tone="good">yes</Badge> : <Badge tone="bad">no</Badge>}</td>;
}
