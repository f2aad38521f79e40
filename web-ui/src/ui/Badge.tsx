/** Small labels: the status of a pipeline, and neutral or coloured tags. The word always says what the colour does. */
import type { ReactNode } from "react";
import type { Status } from "../api/types";

export type Tone = "neutral" | "good" | "warn" | "bad" | "info";

const tones: Record<Tone, string> = {
  neutral: "bg-sunken text-ink-2",
  good: "bg-good-soft text-good",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
  info: "bg-info-soft text-info",
};

export function Badge({ tone = "neutral", children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span
      className={`inline-flex items-center gap-1 rounded px-1.5 py-px text-xs font-medium whitespace-nowrap ${tones[tone]}`}
    >
      {children}
    </span>
  );
}

const statusTones: Record<Status, Tone> = {
  running: "good",
  paused: "warn",
  stopped: "neutral",
  finished: "info",
  failed: "bad",
};

export function StatusBadge({ status }: { status: Status }) {
  return (
    <Badge tone={statusTones[status]}>
      <span aria-hidden className={`size-1.5 rounded-full bg-current ${status === "running" ? "animate-pulse" : ""}`} />
      {status}
    </Badge>
  );
}
