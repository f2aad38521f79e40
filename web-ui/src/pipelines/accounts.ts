/** What an audit says in words: which accounts do not add up and by how much; and where each source stands. Pure. */
import type { Audit, AuditOperator, SourcePosition } from "../api/types";
import { sectionOf } from "../operator/section";
import { exactCount } from "../ui/format";

/** What may become of what an operator takes. */
export const FATES = [
  ["ended", "ended"],
  ["filtered", "filtered"],
  ["skipped", "skipped"],
  ["dead_lettered", "dead-lettered"],
  ["late", "late"],
  ["shed", "shed"],
  ["waiting", "waiting"],
] as const satisfies readonly (readonly [keyof AuditOperator, string])[];

/** One sentence for each account that the server calls unbalanced. */
export function findings({ operators, edges, sources }: Audit): string[] {
  return [
    ...unbalanced(operators).map((row) => {
      const parts = FATES.filter(([field]) => row[field] > 0).map(([field, text]) => [text, row[field]] as const);
      return `Operator ${row.id}: ${differs("taken", row.taken, parts)}`;
    }),
    ...unbalanced(edges).map((row) => {
      const parts = [["taken", row.taken] as const, ["queued", row.queued] as const];
      return `Edge ${portName(row)} to ${row.to}: ${differs("sent", row.sent, parts)}`;
    }),
    ...unbalanced(sources).map((row) => {
      const read = inOrder(row.position).map(
        ({ partition, offset, start }) => [`partition ${partition}:`, offset - start] as const,
      );
      return `Source ${row.id}: ${differs("taken", row.taken, read)}`;
    }),
  ];
}

export function portName({ from, port }: { from: string; port?: string | null }): string {
  return port == null || port === "" ? from : `${from}.${port}`;
}

/** “taken 10, but ended 7 + waiting 2 = 9: 1 is missing.” */
function differs(name: string, whole: number, parts: (readonly [string, number])[]): string {
  const sum = parts.reduce((total, [, n]) => total + n, 0);
  const said =
    parts.length === 0 ? "nothing came of it" : parts.map(([part, n]) => `${part} ${exactCount(n)}`).join(" + ");
  const total = parts.length > 1 ? ` = ${exactCount(sum)}` : "";
  if (sum === whole)
    return `${name} ${exactCount(whole)} is ${said}${total}, but the server does not call it balanced.`;
  const off = Math.abs(whole - sum);
  const verdict = sum < whole ? (off === 1 ? "is missing" : "are missing") : "too many";
  return `${name} ${exactCount(whole)}, but ${said}${total}: ${exactCount(off)} ${verdict}.`;
}

function unbalanced<T extends { balanced: boolean }>(rows: T[]): T[] {
  return rows.filter((row) => !row.balanced);
}

/** By partition. */
export function inOrder(position: SourcePosition[]): SourcePosition[] {
  return position.toSorted((a, b) => a.partition - b.partition);
}

/** The topic that a source reads, as its pipeline file says, in YAML or JSON. */
export function topicOf(file: string, source: string): string | undefined {
  try {
    const parsed = JSON.parse(file) as { sources?: Record<string, { topic?: string }> };
    return parsed.sources?.[source]?.topic;
  } catch {
    const match = /(?:^|[\s{,])topic:\s*(?:"([^"]+)"|'([^']+)'|([^\s,}#]+))/m.exec(sectionOf(file, source) ?? "");
    return match?.[1] ?? match?.[2] ?? match?.[3];
  }
}
