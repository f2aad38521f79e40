/** One record of a tail; it opens to show its value in full. */
import { memo } from "react";
import { printJson } from "../api/json";
import { hasMembers, isBase64 } from "../api/keys";
import { Code } from "../ui/Code";
import { Disclosure } from "../ui/Disclosure";
import { iso, time } from "../ui/format";
import type { TailRecord } from "./tail";

export const RecordRow = memo(function RecordRow({ item }: { item: TailRecord }) {
  const { record } = item;
  return (
    <li className="border-b border-line [contain-intrinsic-size:auto_2rem] [content-visibility:auto] last:border-0">
      <Disclosure summaryClass="flex items-baseline gap-3 px-4 py-1.5 font-mono text-xs" summary={<Line item={item} />}>
        {() => (
          <div className="grid gap-2 px-4 pt-1 pb-3">
            <Code titled label="value" text={isBase64(record.value) ? item.value : printJson(record.value, 2)} />
            {hasMembers(record.headers) && <Code titled label="headers" text={printJson(record.headers, 2)} />}
          </div>
        )}
      </Disclosure>
    </li>
  );
});

function Line({ item }: { item: TailRecord }) {
  const { record } = item;
  return (
    <>
      <time dateTime={iso(record.timestamp)} title={iso(record.timestamp)} className="shrink-0 text-ink-3">
        {time(record.timestamp)}
      </time>
      <span title="Partition and offset" className="hidden w-20 shrink-0 text-ink-3 sm:block">
        {record.partition}:{record.offset}
      </span>
      <span className="max-w-40 shrink-0 truncate font-medium text-accent">{item.key}</span>
      <span className="min-w-0 flex-1 truncate text-ink-2">{item.value.slice(0, 400)}</span>
    </>
  );
}
