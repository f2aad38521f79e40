/** The editor with its live check beside it. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { FolderOpen } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { FileTrigger } from "react-aria-components";
import { useNavigate } from "react-router";
import { putPipeline } from "../api/pipelines";
import type { Graph } from "../api/types";
import { GraphView, heightOf } from "../graph/GraphView";
import { Button } from "../ui/Button";
import { ErrorNote } from "../ui/Notes";
import { Page, Panel } from "../ui/Page";
import { Diagnostics } from "./Diagnostics";
import { Editor, type EditorHandle } from "./Editor";
import { withCalls } from "./preview";
import { useCheck, type Check } from "./useCheck";

interface DeployFormProps {
  title: string;
  initial: string;
  /** The pipeline whose file is being edited; none for a new one. */
  editing?: string;
  /** What runs of it. */
  running?: Graph;
}

export function DeployForm({ title, initial, editing, running }: DeployFormProps) {
  const [text, setText] = useState(initial);
  const editor = useRef<EditorHandle>(null);
  const check = useCheck(text);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const apply = useMutation({
    mutationFn: (name: string) => putPipeline(name, text, false),
    onSuccess: async (applied) => {
      await queries.invalidateQueries({ queryKey: ["pipeline", applied.name] });
      await queries.invalidateQueries({ queryKey: ["pipelines"] });
      await navigate(`/pipelines/${encodeURIComponent(applied.name)}`);
    },
  });
  const open = async (files: FileList | null) => {
    const file = files?.[0];
    if (file !== undefined) setText(await file.text());
  };
  const unchanged = editing !== undefined && text === initial;

  return (
    <Page
      name={title}
      title={title}
      actions={
        <>
          <FileTrigger acceptedFileTypes={[".yaml", ".yml", ".json"]} onSelect={(files) => void open(files)}>
            <Button>
              <FolderOpen aria-hidden />
              Open a file
            </Button>
          </FileTrigger>
          <Button
            look="primary"
            isDisabled={check.state !== "right" || unchanged || apply.isPending}
            onPress={() => {
              if (check.state === "right") apply.mutate(check.name);
            }}
          >
            {apply.isPending ? "Applying…" : "Apply"}
          </Button>
        </>
      }
    >
      {apply.isError && <ErrorNote error={apply.error} />}
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_minmax(20rem,26rem)]">
        <div className="h-[26rem] overflow-hidden rounded-lg border border-line lg:h-[max(26rem,calc(100vh-26rem))]">
          <Editor
            ref={editor}
            text={text}
            onChange={setText}
            diagnostics={check.state === "wrong" ? check.diagnostics : []}
          />
        </div>
        <div className="flex min-w-0 flex-col gap-3">
          <Diagnostics check={check} onGoTo={(line, column) => editor.current?.goTo(line, column)} />
          <Consequence check={check} editing={editing} unchanged={unchanged} />
        </div>
      </div>
      <Preview check={check} running={running} />
    </Page>
  );
}

function Consequence({ check, editing, unchanged }: { check: Check; editing: string | undefined; unchanged: boolean }) {
  if (check.state !== "right") return null;
  const { name, applied } = check;
  if (unchanged) return <p className="text-ink-2">This is the file that runs. Change it to make a new revision.</p>;
  return (
    <p className="text-ink-2">
      Apply makes revision {applied.revision} of <strong className="font-medium text-ink">{name}</strong>.
      {editing !== undefined &&
        editing !== name &&
        ` It does not touch ${editing}: the file now names another pipeline.`}
    </p>
  );
}

const PREVIEW_MIN = "16rem";
const PREVIEW_MAX = "36rem";

/** The last graph that could be planned stays in sight while the file has mistakes. */
function Preview({ check, running }: { check: Check; running: Graph | undefined }) {
  const [last, setLast] = useState(check.state === "right" ? check.applied.plan.graph : undefined);
  if (check.state === "right" && check.applied.plan.graph !== last) setLast(check.applied.plan.graph);
  const graph = useMemo(() => last && withCalls(last, running), [last, running]);
  const height = useMemo(() => (graph === undefined ? 0 : heightOf(graph, "structure")), [graph]);
  return (
    <Panel
      flush
      title="Graph"
      actions={
        last !== undefined && check.state === "wrong" && <span className="text-ink-3">as of the last correct file</span>
      }
    >
      <div
        style={{ height: `clamp(${PREVIEW_MIN}, ${height}px, ${PREVIEW_MAX})` }}
        className={check.state === "wrong" ? "opacity-50" : ""}
      >
        {graph === undefined ? (
          <p className="p-4 text-ink-3">The graph appears here once the file is correct.</p>
        ) : (
          <GraphView detail="structure" graph={graph} />
        )}
      </div>
    </Panel>
  );
}
