/** One stored module: its report and who uses it. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Download, Trash2 } from "lucide-react";
import { useSyncExternalStore } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { deleteModule, getModule, wasmUrl } from "../api/modules";
import { useLiveStore } from "../live/context";
import { Confirm } from "../ui/Confirm";
import { dateTime } from "../ui/format";
import { isNotFound, NotFound } from "../ui/NotFound";
import { ErrorNote, Loading } from "../ui/Notes";
import { Page, Panel } from "../ui/Page";
import { Report } from "./Report";

export function ModulePage() {
  const { module: name = "", version = "" } = useParams();
  const full = `${name}@${version}`;
  const module = useQuery({
    queryKey: ["module", name, version],
    queryFn: ({ signal }) => getModule(name, version, signal),
  });
  const queries = useQueryClient();
  const navigate = useNavigate();
  const remove = async () => {
    await deleteModule(name, version);
    await queries.invalidateQueries({ queryKey: ["modules"] });
    await navigate("/modules");
  };
  const users = useUsers(full);
  if (isNotFound(module.error)) {
    return (
      <NotFound title={`There is no module “${full}”`} to="/modules" action="Go to the modules">
        It may have been deleted, or its name or version is written otherwise.
      </NotFound>
    );
  }
  return (
    <Page
      name={full}
      title={
        <>
          {name} <span className="font-mono text-sm font-normal text-ink-2">{version}</span>
        </>
      }
      actions={
        module.isSuccess && (
          <>
            <a
              href={wasmUrl(name, version)}
              download={`${name}-${version}.wasm`}
              className="inline-flex h-8 items-center gap-1.5 rounded-md border border-line-strong bg-surface px-3 font-medium hover:bg-sunken"
            >
              <Download aria-hidden className="size-4" />
              Download
            </a>
            {users.length > 0 && (
              <span id="in-use" className="text-ink-3">
                In use, so it cannot be deleted
              </span>
            )}
            <Confirm
              look="danger"
              danger
              isDisabled={users.length > 0}
              describedBy={users.length > 0 ? "in-use" : undefined}
              trigger={
                <>
                  <Trash2 aria-hidden />
                  Delete
                </>
              }
              title={`Delete ${full}?`}
              action="Delete"
              onConfirm={remove}
            >
              Its bytes go. A module that a pipeline uses cannot be deleted.
            </Confirm>
          </>
        )
      }
    >
      {module.isPending && <Loading what={full} />}
      {module.isError && <ErrorNote error={module.error} onRetry={() => void module.refetch()} />}
      {module.isSuccess && (
        <>
          <Panel title="Report" actions={<span className="text-ink-3">stored {dateTime(module.data.created_at)}</span>}>
            <Report report={module.data.report} />
          </Panel>
          <Users users={users} />
        </>
      )}
    </Page>
  );
}

interface User {
  pipeline: string;
  operator: string;
}

/** The operators of deployed pipelines that are of this module. */
function useUsers(module: string): User[] {
  const store = useLiveStore();
  const views = useSyncExternalStore(store.subscribe, store.views);
  return [...views.values()].flatMap(({ figures }) =>
    figures.nodes
      .filter((node) => node.module === module)
      .map((node) => ({ pipeline: figures.name, operator: node.id })),
  );
}

function Users({ users }: { users: User[] }) {
  return (
    <Panel title="Used by">
      {users.length === 0 ? (
        <p className="text-ink-2">No deployed pipeline uses this version.</p>
      ) : (
        <ul className="flex flex-col gap-1">
          {users.map(({ pipeline, operator }) => (
            <li key={`${pipeline}/${operator}`}>
              <Link
                className="hover:text-accent hover:underline"
                to={`/pipelines/${encodeURIComponent(pipeline)}/operators/${encodeURIComponent(operator)}`}
              >
                {pipeline} <span className="text-ink-3">/</span> {operator}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
