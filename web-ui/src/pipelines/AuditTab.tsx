/** The accounts as of the last commit: what every operator took must equal what became of it. */
import { useQuery } from "@tanstack/react-query";
import { Check, TriangleAlert } from "lucide-react";
import { getAudit } from "../api/pipelines";
import { Link } from "react-router";
import type { Audit, AuditOperator, SourcePosition } from "../api/types";
import { Badge } from "../ui/Badge";
import { exactCount } from "../ui/format";
import { ErrorNote, Loading } from "../ui/Notes";
import { Panel } from "../ui/Page";
import { FATES, findings, inOrder, topicOf } from "./accounts";
import { usePipeline, usePipelineName } from "./usePipeline";

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
      {balanced ? <Balanced epoch={epoch} /> : <NotBalanced audit={audit.data} />}
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

const RULE = "Taken = ended + filtered + skipped + dead-lettered + late + shed + waiting.";

function Balanced({ epoch }: { epoch: number }) {
  return (
    <div className="flex items-start gap-3 rounded-lg bg-good-soft px-4 py-3">
      <Check aria-hidden className="mt-0.5 size-4 shrink-0 text-good" />
      <div>
        <p className="font-semibold">Balanced</p>
        <p className="text-ink-2">
          Everything taken in is accounted for, as of epoch {exactCount(epoch)}. {RULE}
        </p>
      </div>
    </div>
  );
}

function NotBalanced({ audit }: { audit: Audit }) {
  return (
    <div role="alert" className="flex items-start gap-3 rounded-lg border-2 border-bad bg-bad-soft px-4 py-3">
      <TriangleAlert aria-hidden className="mt-0.5 size-5 shrink-0 text-bad" />
      <div className="min-w-0">
        <p className="text-base font-semibold text-bad">Not balanced: events were lost or doubled</p>
        <ul className="my-1.5 list-disc pl-5 font-medium">
          {findings(audit).map((finding) => (
            <li key={finding}>{finding}</li>
          ))}
        </ul>
        <p className="text-ink-2">
          As of epoch {exactCount(audit.epoch)}. {RULE} This is a defect of Weir: please report it with this page.
        </p>
      </div>
    </div>
  );
}

const columns = [["taken", "taken"], ...FATES] as const satisfies readonly (readonly [keyof AuditOperator, string])[];

function Operators({ rows }: { rows: AuditOperator[] }) {
  return (
    <table className="table-dense">
      <thead>
        <tr>
          <th scope="col">Operator</th>
          {columns.map(([field, text]) => (
            <th key={field} scope="col" className="num first-letter:uppercase">
              {text}
            </th>
          ))}
          <th scope="col">Balanced</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id} className={row.balanced ? "" : "bg-bad-soft"}>
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
          <tr key={i} className={row.balanced ? "" : "bg-bad-soft"}>
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

/** Each source with its topic, and beside it a line for each partition. */
function Sources({ rows }: { rows: Audit["sources"] }) {
  const { data } = usePipeline(usePipelineName());
  return (
    <table className="table-dense">
      <thead>
        <tr>
          <th scope="col">Source</th>
          <th scope="col">Topic</th>
          <th scope="col" className="num">
            Partition
          </th>
          <th scope="col" className="num">
            Began at
          </th>
          <th scope="col" className="num">
            Next offset
          </th>
          <th scope="col" className="num">
            Taken
          </th>
          <th scope="col">Balanced</th>
        </tr>
      </thead>
      {rows.map((row) => (
        <Source key={row.id} row={row} topic={data && topicOf(data.file, row.id)} />
      ))}
    </table>
  );
}

function Source({ row, topic }: { row: Audit["sources"][number]; topic: string | undefined }) {
  const [first, ...others] = inOrder(row.position);
  const rows = Math.max(1, row.position.length);
  return (
    <tbody className={row.balanced ? "" : "bg-bad-soft"}>
      <tr className="[&>td[rowspan]]:align-top">
        <td rowSpan={rows} className="font-medium">
          {row.id}
        </td>
        <td rowSpan={rows}>
          {topic !== undefined && (
            <Link to={`/topics/${encodeURIComponent(topic)}`} className="hover:text-accent hover:underline">
              {topic}
            </Link>
          )}
        </td>
        <Position position={first} />
        <td rowSpan={rows} className="num">
          {exactCount(row.taken)}
        </td>
        <td rowSpan={rows}>
          <YesNo yes={row.balanced} />
        </td>
      </tr>
      {others.map((position) => (
        <tr key={position.partition}>
          <Position position={position} />
        </tr>
      ))}
    </tbody>
  );
}

function Position({ position }: { position: SourcePosition | undefined }) {
  if (position === undefined) return <td colSpan={3} />;
  return (
    <>
      <td className="num !px-3">{position.partition}</td>
      <td className="num text-ink-3">{exactCount(position.start)}</td>
      <td className="num !px-3">{exactCount(position.offset)}</td>
    </>
  );
}

function Amount({ n }: { n: number }) {
  return <td className={`num ${n === 0 ? "text-ink-3" : ""}`}>{exactCount(n)}</td>;
}

function Sum({ balanced }: { balanced: boolean }) {
  return (
    <td>
      <YesNo yes={balanced} />
    </td>
  );
}

function YesNo({ yes }: { yes: boolean }) {
  return yes ? <Badge tone="good">yes</Badge> : <Badge tone="bad">no</Badge>;
}
