/** What the server found in a module: first what is wrong, then what it is, what it has and what it wants. */
import { CircleCheck, CircleX } from "lucide-react";
import type { ReactNode } from "react";
import { printJson } from "../api/json";
import type { PortInfo, Report as ReportData } from "../api/types";
import { Badge, type Tone } from "../ui/Badge";
import { Code, CopyButton } from "../ui/Code";
import { Fact, Facts } from "../ui/Facts";
import { bytes, exactCount } from "../ui/format";
import { Prose } from "../ui/Prose";

export function Report({ report }: { report: ReportData }) {
  return (
    <section aria-label="Report" className="flex flex-col gap-4">
      {report.problems.length > 0 && <Problems problems={report.problems} />}
      {report.ok && (
        <p className="flex items-center gap-2 text-good">
          <CircleCheck aria-hidden className="size-4" />
          The module can be used.
        </p>
      )}
      <div className="grid gap-x-10 gap-y-5 lg:grid-cols-2">
        <Summary report={report} />
        <div className="flex flex-col gap-5">
          {report.handlers.length > 0 && <Handlers handlers={report.handlers} />}
          <Ports title="Inputs" ports={report.ports.inputs} />
          <Ports title="Outputs" ports={report.ports.outputs} />
          {report.cells.length > 0 && <Cells cells={report.cells} />}
        </div>
      </div>
      {report.imports.length > 0 && <Imports imports={report.imports} />}
    </section>
  );
}

function Problems({ problems }: { problems: ReportData["problems"] }) {
  return (
    <div role="alert" className="rounded-md bg-bad-soft p-3">
      <p className="flex items-center gap-2 font-medium text-bad">
        <CircleX aria-hidden className="size-4" />
        {problems.length === 1 ? "One problem" : `${problems.length} problems`}: the file cannot be stored as it is.
      </p>
      <ul className="mt-2 flex flex-col gap-2 pl-6">
        {problems.map((problem, i) => (
          <li key={i}>
            <p>
              <Prose text={problem.message} /> <code className="font-mono text-xs text-ink-3">{problem.code}</code>
            </p>
            {problem.help != null && (
              <p className="text-ink-2">
                <Prose text={problem.help} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Summary({ report }: { report: ReportData }) {
  return (
    <Facts>
      <Fact name="Size">{bytes(report.size)}</Fact>
      {/* Of a file that is no module there is nothing more to tell. */}
      {(report.ok || report.language !== null) && (
        <Fact name="Language">
          {report.language ?? "unknown"}
          {report.sdk != null && <span className="text-ink-3"> · {report.sdk}</span>}
        </Fact>
      )}
      {(report.ok || report.faces.length > 0) && (
        <Fact name="Faces">
          <span className="flex flex-wrap gap-1">
            {report.faces.length === 0 ? "none" : report.faces.map((face) => <Badge key={face}>{face}</Badge>)}
          </span>
        </Fact>
      )}
      {report.memory_floor !== null && <Fact name="Memory floor">{bytes(report.memory_floor)}</Fact>}
      {report.compile_ms !== null && <Fact name="Compile time">{exactCount(report.compile_ms)} ms</Fact>}
      <Fact name="Digest">
        <span className="flex items-center gap-1">
          <code className="min-w-0 truncate font-mono text-xs" title={report.digest}>
            {report.digest}
          </code>
          <CopyButton text={report.digest} label="Copy digest" />
        </span>
      </Fact>
    </Facts>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h3 className="mb-1 text-xs font-medium text-ink-3">{title}</h3>
      {children}
    </section>
  );
}

function Handlers({ handlers }: { handlers: ReportData["handlers"] }) {
  return (
    <Part title="Handlers">
      <ul className="flex flex-col gap-1">
        {handlers.map((handler) => (
          <li key={handler.name}>
            <code className="font-mono text-xs font-medium">{handler.name}</code>
            {handler.read_only === true && (
              <span className="ml-2">
                <Badge>read-only</Badge>
              </span>
            )}
            {handler.doc != null && (
              <span className="ml-2 text-ink-2">
                <Prose text={handler.doc} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </Part>
  );
}

function Ports({ title, ports }: { title: string; ports: PortInfo[] }) {
  if (ports.length === 0) return null;
  return (
    <Part title={title}>
      <ul className="flex flex-col gap-1">
        {ports.map((port) => (
          <li key={port.name}>
            {port.schema == null ? (
              <code className="font-mono text-xs font-medium">{port.name}</code>
            ) : (
              <details>
                <summary>
                  <code className="font-mono text-xs font-medium">{port.name}</code>
                  <span className="ml-2 text-ink-3">schema</span>
                </summary>
                <div className="mt-1">
                  <Code label={`schema of ${port.name}`} text={printJson(port.schema, 2)} />
                </div>
              </details>
            )}
          </li>
        ))}
      </ul>
    </Part>
  );
}

function Cells({ cells }: { cells: ReportData["cells"] }) {
  return (
    <Part title="Cells">
      <ul className="flex flex-wrap gap-x-4 gap-y-1">
        {cells.map((cell) => (
          <li key={cell.name}>
            <code className="font-mono text-xs font-medium">{cell.name}</code>{" "}
            <span className="text-ink-3">
              {cell.kind} v{cell.version}
            </span>
          </li>
        ))}
      </ul>
    </Part>
  );
}

const importTones: Record<ReportData["imports"][number]["status"], Tone> = {
  granted: "good",
  grantable: "warn",
  refused: "bad",
};

function Imports({ imports }: { imports: ReportData["imports"] }) {
  return (
    <Part title="Imports">
      <ul className="divide-y divide-line rounded-md border border-line">
        {imports.map((item) => (
          <li key={item.name} className="flex flex-wrap items-baseline gap-x-3 px-3 py-1.5">
            <Badge tone={importTones[item.status]}>{item.status}</Badge>
            <code className="min-w-0 font-mono text-xs break-all">{item.name}</code>
            {item.status !== "granted" && item.help != null && (
              <span className="text-ink-2">
                <Prose text={item.help} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </Part>
  );
}
