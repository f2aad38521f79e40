/** The revisions of a pipeline, newest first; each opens to show its file and what it changed. */
import { useQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { listRevisions } from "../api/pipelines";
import type { Revision } from "../api/types";
import { Badge } from "../ui/Badge";
import { Code } from "../ui/Code";
import { Disclosure } from "../ui/Disclosure";
import { dateTime, iso } from "../ui/format";
import { ErrorNote, Loading } from "../ui/Notes";
import { Panel } from "../ui/Page";
import { difference, type Line } from "./difference";
import { usePipeline, usePipelineName } from "./usePipeline";

export function RevisionsTab() {
  const pipeline = usePipelineName();
  const current = usePipeline(pipeline).data?.revision;
  const list = useQuery({
    queryKey: ["pipeline", pipeline, "revisions", current],
    queryFn: ({ signal }) => listRevisions(pipeline, signal),
    placeholderData: (before) => before,
  });
  if (list.isError) return <ErrorNote error={list.error} onRetry={() => void list.refetch()} />;
  if (list.isPending) return <Loading what="the revisions" />;
  const { revisions } = list.data;
  return (
    <Panel flush title="Revisions">
      <ol aria-label="Revisions, newest first">
        {revisions
          .map((revision, i) => <Row key={revision.revision} revision={revision} before={revisions[i - 1]} />)
          .reverse()}
      </ol>
    </Panel>
  );
}

function Row({ revision, before }: { revision: Revision; before: Revision | undefined }) {
  return (
    <li className="border-b border-line last:border-0">
      <Disclosure
        summaryClass="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2"
        summary={
          <>
            <ChevronRight
              aria-hidden
              className="size-4 shrink-0 text-ink-3 transition-transform group-open:rotate-90"
            />
            <span className="font-medium">Revision {revision.revision}</span>
            {revision.current && <Badge tone="good">current</Badge>}
            <span className="min-w-0 flex-1 truncate font-mono text-xs text-ink-2">{revision.modules.join(" ")}</span>
            <time dateTime={iso(revision.created_at)} title={iso(revision.created_at)} className="text-ink-2">
              {dateTime(revision.created_at)}
            </time>
          </>
        }
      >
        {() => (
          <div className="grid gap-4 px-4 pt-1 pb-4 sm:pl-11">
            {before !== undefined && <Changes lines={difference(before.file, revision.file)} since={before.revision} />}
            <Code titled label={`file of revision ${revision.revision}`} text={revision.file} />
          </div>
        )}
      </Disclosure>
    </li>
  );
}

const signs = { added: "+", removed: "−", kept: " " };
const tones = { added: "bg-good-soft text-good", removed: "bg-bad-soft text-bad", kept: "" };
const words = { added: "added: ", removed: "removed: ", kept: "" };
/** Kept lines that are shown around a change. */
const AROUND = 2;

function Changes({ lines, since }: { lines: Line[]; since: number }) {
  const changed = lines.flatMap(({ change }, i) => (change === "kept" ? [] : [i]));
  if (changed.length === 0) return <p className="text-ink-2">The file is that of revision {since}.</p>;
  const near = (i: number) => changed.some((at) => Math.abs(at - i) <= AROUND);
  return (
    <figure className="min-w-0 rounded-md border border-line font-mono text-xs leading-5">
      <figcaption className="px-3 pt-2 font-sans text-ink-3">changed since revision {since}</figcaption>
      <ul className="overflow-x-auto py-2">
        {lines.map(
          ({ text, change }, i) =>
            near(i) && (
              <li
                key={i}
                className={`px-3 whitespace-pre ${tones[change]} ${i > 0 && !near(i - 1) ? "border-t border-line" : ""}`}
              >
                <span aria-hidden>{signs[change]} </span>
                <span className="sr-only">{words[change]}</span>
                {text === "" ? " " : text}
              </li>
            ),
        )}
      </ul>
    </figure>
  );
}
