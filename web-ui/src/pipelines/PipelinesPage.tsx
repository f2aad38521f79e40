/** All pipelines, with live figures. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { listPipelines } from "../api/pipelines";
import type { Cursor, PipelineSummary } from "../api/types";
import { Button, ButtonLink } from "../ui/Button";
import { SearchField } from "../ui/Field";
import { Empty, ErrorNote, Loading } from "../ui/Notes";
import { Page, Panel } from "../ui/Page";
import { PipelineRow } from "./PipelineRow";

/** Whether a pipeline is balanced is not among the live figures, so the list is asked again. */
const AUDIT_MS = 10_000;

export function PipelinesPage() {
  const [filter, setFilter] = useState("");
  const list = useInfiniteQuery({
    queryKey: ["pipelines"],
    queryFn: ({ pageParam, signal }) => listPipelines(pageParam, signal),
    initialPageParam: null as Cursor,
    getNextPageParam: (page) => page.next ?? undefined,
    refetchInterval: AUDIT_MS,
  });
  const all = list.data?.pages.flatMap((page) => page.pipelines) ?? [];
  const shown = all.filter((pipeline) => pipeline.name.includes(filter.trim()));

  return (
    <Page
      name="Pipelines"
      title="Pipelines"
      actions={
        all.length > 0 && (
          <>
            <SearchField
              label="Filter by name"
              placeholder="Filter by name"
              value={filter}
              onChange={setFilter}
              className="w-44"
            />
            <ButtonLink look="primary" to="/deploy">
              Deploy a pipeline
            </ButtonLink>
          </>
        )
      }
    >
      {list.isError && <ErrorNote error={list.error} onRetry={() => void list.refetch()} />}
      <Panel flush>
        {list.isPending ? (
          <Loading what="pipelines" />
        ) : all.length > 0 ? (
          <Table pipelines={shown} />
        ) : (
          list.isSuccess && <GettingStarted />
        )}
      </Panel>
      {list.hasNextPage && (
        <Button className="self-start" isDisabled={list.isFetchingNextPage} onPress={() => void list.fetchNextPage()}>
          Show more
        </Button>
      )}
    </Page>
  );
}

function Table({ pipelines }: { pipelines: PipelineSummary[] }) {
  if (pipelines.length === 0) return <Empty title="No pipeline has such a name" />;
  return (
    <table className="table-dense">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Status</th>
          <th scope="col" className="num max-sm:hidden">
            Revision
          </th>
          <th scope="col" className="max-md:hidden">
            Last two minutes
          </th>
          <th scope="col" className="num">
            <span className="max-sm:hidden">Records </span>in/s
          </th>
          <th scope="col" className="num max-sm:hidden">
            Records in
          </th>
          <th scope="col" className="num">
            Errors
          </th>
          <th scope="col" className="num">
            Dead<span className="max-sm:hidden"> letters</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {pipelines.map((pipeline) => (
          <PipelineRow key={pipeline.name} pipeline={pipeline} />
        ))}
      </tbody>
    </table>
  );
}

function GettingStarted() {
  return (
    <Empty
      title="Nothing runs yet"
      action={
        <div className="flex flex-wrap gap-2">
          <ButtonLink look="primary" to="/modules">
            Upload a module
          </ButtonLink>
          <ButtonLink to="/deploy">Deploy a pipeline file</ButtonLink>
        </div>
      }
    >
      <ol className="list-decimal space-y-1 pl-5">
        <li>
          Upload a module: a WebAssembly component built with <code className="font-mono text-xs">weir build</code>.
        </li>
        <li>Deploy a pipeline file that names its sources, its operators and its sinks.</li>
        <li>Send records to a topic that it reads, and watch the graph.</li>
      </ol>
    </Empty>
  );
}
