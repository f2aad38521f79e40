/** Name and value pairs. */
import type { ReactNode } from "react";

export function Facts({ children }: { children: ReactNode }) {
  return <dl className="grid content-start grid-cols-[max-content_minmax(0,1fr)] gap-x-6 gap-y-1.5">{children}</dl>;
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-3">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </>
  );
}

/** One large figure with its label, for a row of them. */
export function Figure({
  name,
  value,
  unit,
  tone,
}: {
  name: string;
  value: string;
  unit?: string;
  tone?: "bad" | "warn";
}) {
  const colour = tone === "bad" ? "text-bad" : tone === "warn" ? "text-warn" : "text-ink";
  return (
    <div className="min-w-0">
      <dt className="truncate text-xs text-ink-3">{name}</dt>
      <dd className={`truncate text-base font-medium ${colour}`}>
        {value}
        {unit !== undefined && <span className="ml-1 text-xs font-normal text-ink-3">{unit}</span>}
      </dd>
    </div>
  );
}
