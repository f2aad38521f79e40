/** What the check found, each at its place with what to do; a click puts the cursor there. */
import { CircleCheck, CircleX, LoaderCircle, TriangleAlert } from "lucide-react";
import type { Diagnostic } from "../api/types";
import { ErrorNote } from "../ui/Notes";
import { Prose } from "../ui/Prose";
import type { Check } from "./useCheck";

interface DiagnosticsProps {
  check: Check;
  onGoTo: (line: number, column: number) => void;
}

export function Diagnostics({ check, onGoTo }: DiagnosticsProps) {
  return (
    <div id="diagnostics" aria-live="polite" className="flex flex-col gap-2">
      <Summary check={check} />
      {check.state === "wrong" && (
        <ul className="flex flex-col gap-1.5">
          {check.diagnostics.map((diagnostic, i) => (
            <Item key={i} diagnostic={diagnostic} onGoTo={onGoTo} />
          ))}
        </ul>
      )}
      {check.state === "unknown" && <ErrorNote error={check.error} onRetry={check.retry} />}
      {check.state === "right" && check.applied.warnings.length > 0 && (
        <ul className="flex flex-col gap-1.5">
          {check.applied.warnings.map((warning, i) => (
            <li key={i} className="flex gap-2 rounded-md bg-warn-soft px-3 py-2">
              <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
              <span>
                <Prose text={typeof warning === "string" ? warning : warning.message} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Summary({ check }: { check: Check }) {
  switch (check.state) {
    case "empty":
      return <p className="text-ink-2">Write, paste or open a pipeline file. It is checked as you type.</p>;
    case "checking":
      return (
        <p className="flex items-center gap-2 text-ink-2">
          <LoaderCircle aria-hidden className="size-4 animate-spin" />
          Checking…
        </p>
      );
    case "wrong":
      return (
        <p className="flex items-center gap-2 font-medium text-bad">
          <CircleX aria-hidden className="size-4" />
          {check.diagnostics.length === 1 ? "One problem" : `${check.diagnostics.length} problems`}
        </p>
      );
    case "right":
      return (
        <p className="flex items-center gap-2 font-medium text-good">
          <CircleCheck aria-hidden className="size-4" />
          The file is correct.
        </p>
      );
    case "unknown":
      return null;
  }
}

function Item({ diagnostic, onGoTo }: { diagnostic: Diagnostic; onGoTo: DiagnosticsProps["onGoTo"] }) {
  const { line, column, path, message, help, code } = diagnostic;
  return (
    <li>
      <button
        type="button"
        disabled={line == null}
        onClick={() => onGoTo(line ?? 1, column ?? 1)}
        className="w-full rounded-md border border-line bg-surface px-3 py-2 text-left enabled:hover:border-line-strong enabled:hover:bg-sunken"
      >
        <span className="flex flex-wrap items-baseline gap-x-2 text-xs text-ink-3">
          {line != null && (
            <span>
              line {line}
              {column != null && `, column ${column}`}
            </span>
          )}
          {path != null && path !== "" && <code className="font-mono break-all">{path}</code>}
          {code !== undefined && <code className="ml-auto font-mono">{code}</code>}
        </span>
        <span className="block">
          <Prose text={message} />
        </span>
        {help != null && help !== "" && (
          <span className="block text-ink-2">
            <Prose text={help} />
          </span>
        )}
      </button>
    </li>
  );
}
