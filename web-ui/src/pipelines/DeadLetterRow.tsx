/** One dead letter: a line that says why, and beneath it all that is needed to find the cause. */
import { ChevronRight, Trash2 } from "lucide-react";
import { printJson } from "../api/json";
import { hasMembers, keyText, valueText } from "../api/keys";
import type { DeadLetter } from "../api/types";
import { Badge } from "../ui/Badge";
import { Code } from "../ui/Code";
import { Confirm } from "../ui/Confirm";
import { Disclosure } from "../ui/Disclosure";
import { Fact, Facts } from "../ui/Facts";
import { dateTime, iso, plural } from "../ui/format";
import { Prose } from "../ui/Prose";

interface DeadLetterRowProps {
  letter: DeadLetter;
  onDiscard: () => Promise<void>;
}

export function DeadLetterRow({ letter, onDiscard }: DeadLetterRowProps) {
  return (
    <li className="border-b border-line [contain-intrinsic-size:auto_3.25rem] [content-visibility:auto] last:border-0">
      <Disclosure summaryClass="flex items-center gap-3 px-4 py-2" summary={<Cause letter={letter} />}>
        {() => <Details letter={letter} onDiscard={onDiscard} />}
      </Disclosure>
    </li>
  );
}

function Cause({ letter }: { letter: DeadLetter }) {
  return (
    <>
      <ChevronRight aria-hidden className="size-4 shrink-0 text-ink-3 transition-transform group-open:rotate-90" />
      <span className="min-w-0 flex-1">
        <span className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
          <Badge tone="bad">{letter.code}</Badge>
          <span className="font-medium">{letter.operator}</span>
          <span className="min-w-0 truncate font-mono text-xs text-ink-2">{keyText(letter.key)}</span>
        </span>
        <span className="block truncate text-ink-2">
          <Prose text={letter.error} />
        </span>
      </span>
      <span className="hidden shrink-0 text-right text-xs text-ink-3 sm:block">
        <time dateTime={iso(letter.at)} title={iso(letter.at)} className="block">
          {dateTime(letter.at)}
        </time>
        {plural(letter.attempts, "attempt")}
      </span>
    </>
  );
}

function Details({ letter, onDiscard }: DeadLetterRowProps) {
  const { source, calls_done: calls = [] } = letter;
  return (
    <div className="grid gap-4 px-4 pt-1 pb-4 sm:pl-11">
      <Facts>
        <Fact name="Error">
          <Prose text={letter.error} />
        </Fact>
        {letter.panic != null && (
          <Fact name="Panic">
            <Prose text={letter.panic} />
          </Fact>
        )}
        {letter.handler != null && <Fact name="Handler or input">{letter.handler}</Fact>}
        {letter.module != null && (
          <Fact name="Module">
            <code className="font-mono text-xs break-all">{letter.module}</code>
          </Fact>
        )}
        {source != null && (
          <Fact name="From">
            {source.topic}, partition {source.partition}, offset {source.offset}
          </Fact>
        )}
        <Fact name="When">
          {dateTime(letter.at)}, after {plural(letter.attempts, "attempt")}
        </Fact>
      </Facts>
      <Code
        titled
        label="value"
        text={typeof letter.value === "object" ? printJson(letter.value, 2) : valueText(letter.value)}
      />
      {hasMembers(letter.headers) && <Code titled label="headers" text={printJson(letter.headers, 2)} />}
      {letter.backtrace != null && letter.backtrace !== "" && <Code titled label="backtrace" text={letter.backtrace} />}
      {calls.length > 0 && (
        <div>
          <Code
            titled
            label="calls that stay done"
            text={calls.map((call) => (typeof call === "string" ? call : printJson(call))).join("\n")}
          />
        </div>
      )}
      <div>
        <Confirm
          look="danger"
          danger
          trigger={
            <>
              <Trash2 aria-hidden />
              Discard
            </>
          }
          title="Discard this dead letter?"
          action="Discard"
          onConfirm={onDiscard}
        >
          The event is given up for good. The audit keeps counting it.
        </Confirm>
      </div>
    </div>
  );
}
