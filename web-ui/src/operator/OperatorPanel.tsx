/** The side panel of one node, at a URL of its own: figures, state, dead letters, and calls of its handlers. */
import { X } from "lucide-react";
import { useEffect, useRef } from "react";
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components";
import { Link, useNavigate, useParams, useSearchParams } from "react-router";
import type { GraphNode } from "../api/types";
import { KindIcon } from "../graph/KindIcon";
import { DeadLetterList } from "../pipelines/DeadLetterList";
import { useGraph, usePipelineName } from "../pipelines/usePipeline";
import { Empty } from "../ui/Notes";
import { CallForm } from "./CallForm";
import { OperatorFigures } from "./OperatorFigures";
import { StateBrowser } from "./StateBrowser";
import { useHandlers } from "./useHandlers";

export function OperatorPanel() {
  const pipeline = usePipelineName();
  const id = useParams()["operator"] ?? "";
  const node = useGraph(pipeline)?.nodes.find((candidate) => candidate.id === id);
  const back = `/pipelines/${encodeURIComponent(pipeline)}`;
  const heading = useRef<HTMLHeadingElement>(null);
  const navigate = useNavigate();

  useEffect(() => heading.current?.focus({ preventScroll: true }), [id]);
  useEffect(() => {
    const close = (event: KeyboardEvent) => {
      // What is being written must not be lost by a key that is near.
      if (event.target instanceof HTMLTextAreaElement) return;
      if (event.key === "Escape" && !event.defaultPrevented && document.querySelector("[role=alertdialog]") === null)
        void navigate(back);
    };
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, [navigate, back]);

  return (
    <aside
      aria-label={id}
      className="fixed inset-0 z-40 overflow-y-auto bg-surface lg:sticky lg:inset-auto lg:top-4 lg:z-auto lg:max-h-[calc(100vh-2rem)] lg:rounded-lg lg:border lg:border-line"
    >
      <header className="sticky top-0 z-10 flex items-center gap-2 bg-surface px-4 pt-3 pb-1">
        {node !== undefined && <KindIcon kind={node.kind} />}
        <h2 ref={heading} tabIndex={-1} className="min-w-0 flex-1 truncate text-sm font-semibold outline-none">
          {id}
          {node !== undefined && <span className="ml-2 font-normal text-ink-3">{node.kind}</span>}
        </h2>
        <Link to={back} aria-label="Close" className="rounded p-1 text-ink-2 hover:bg-sunken">
          <X aria-hidden className="size-4" />
        </Link>
      </header>
      {node === undefined ? (
        <Empty title="No such node">The running revision has no node “{id}”.</Empty>
      ) : (
        <Parts key={id} pipeline={pipeline} node={node} />
      )}
    </aside>
  );
}

function Parts({ pipeline, node }: { pipeline: string; node: GraphNode }) {
  const [params] = useSearchParams();
  const handlers = useHandlers(node);
  if (node.kind !== "operator") {
    return (
      <div className="p-4">
        <OperatorFigures pipeline={pipeline} node={node} />
      </div>
    );
  }
  return (
    <Tabs defaultSelectedKey={params.has("key") ? "state" : "figures"}>
      <TabList aria-label="Parts of the operator" className="flex gap-4 border-b border-line px-4">
        <PartTab id="figures" text="Figures" />
        <PartTab id="state" text="State" />
        <PartTab id="dead-letters" text="Dead letters" />
        {handlers.length > 0 && <PartTab id="call" text="Call" />}
      </TabList>
      <TabPanel id="figures" className="p-4 outline-offset-[-2px]">
        <OperatorFigures pipeline={pipeline} node={node} />
      </TabPanel>
      <TabPanel id="state" className="outline-offset-[-2px]">
        <StateBrowser pipeline={pipeline} operator={node.id} />
      </TabPanel>
      <TabPanel id="dead-letters" className="outline-offset-[-2px]">
        <DeadLetterList pipeline={pipeline} operator={node.id} />
      </TabPanel>
      {handlers.length > 0 && (
        <TabPanel id="call" className="outline-offset-[-2px]">
          <CallForm pipeline={pipeline} operator={node.id} handlers={handlers} />
        </TabPanel>
      )}
    </Tabs>
  );
}

function PartTab({ id, text }: { id: string; text: string }) {
  return (
    <Tab
      id={id}
      className="-mb-px cursor-pointer border-b-2 border-transparent py-2 font-medium text-ink-2 outline-offset-[-2px] hover:text-ink data-selected:border-accent data-selected:text-ink"
    >
      {text}
    </Tab>
  );
}
