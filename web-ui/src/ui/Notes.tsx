/** What a view shows when it has no content yet: loading, empty, failed. */
import { CircleAlert, LoaderCircle } from "lucide-react";
import type { ReactNode } from "react";
import { Problem } from "../api/problem";
import { Button } from "./Button";
import { Prose } from "./Prose";

export function Loading({ what }: { what: string }) {
  return (
    <p role="status" className="flex items-center gap-2 p-6 text-ink-3">
      <LoaderCircle aria-hidden className="size-4 animate-spin" />
      Loading {what}…
    </p>
  );
}

export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="flex flex-col items-start gap-3 p-6">
      <h2 className="text-sm font-semibold">{title}</h2>
      {children !== undefined && <div className="max-w-prose text-ink-2">{children}</div>}
      {action}
    </div>
  );
}

export function ErrorNote({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const problem = error instanceof Problem ? error : undefined;
  const title = problem?.title ?? "This did not work";
  const detail = problem?.detail ?? (error instanceof Error ? error.message : String(error));
  return (
    <div role="alert" className="flex items-start gap-3 rounded-md border border-bad/40 bg-bad-soft p-3">
      <CircleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      <div className="min-w-0 flex-1">
        <p className="font-medium">
          {title}
          {problem !== undefined && <code className="ml-2 font-mono text-xs text-ink-3">{problem.code}</code>}
        </p>
        {detail !== "" && (
          <p className="break-words text-ink-2">
            <Prose text={detail} />
          </p>
        )}
        {problem !== undefined && problem.errors.length > 0 && (
          <ul className="mt-1 list-disc pl-4 text-ink-2">
            {problem.errors.map((item, i) => (
              <li key={i}>
                <Prose text={item.message} />
                {item.help != null && item.help !== "" && (
                  <span className="text-ink-3">
                    {" "}
                    <Prose text={item.help} />
                  </span>
                )}
              </li>
            ))}
          </ul>
        )}
      </div>
      {onRetry !== undefined && <Button onPress={onRetry}>Try again</Button>}
    </div>
  );
}
