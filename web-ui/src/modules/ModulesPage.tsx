/** The registry: drop modules at the top, see what is stored beneath. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { listModules } from "../api/modules";
import type { Cursor, ModuleSummary } from "../api/types";
import { Badge } from "../ui/Badge";
import { Button } from "../ui/Button";
import { bytes, dateTime, digest, iso } from "../ui/format";
import { Empty, ErrorNote, Loading } from "../ui/Notes";
import { Page, Panel } from "../ui/Page";
import { Uploads } from "./Uploads";

export function ModulesPage() {
  const list = useInfiniteQuery({
    queryKey: ["modules"],
    queryFn: ({ pageParam, signal }) => listModules(pageParam, signal),
    initialPageParam: null as Cursor,
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const modules = list.data?.pages.flatMap((page) => page.modules) ?? [];
  return (
    <Page name="Modules" title="Modules">
      <Uploads />
      {list.isError && <ErrorNote error={list.error} onRetry={() => void list.refetch()} />}
      <Panel flush title="Stored modules">
        {list.isPending ? (
          <Loading what="modules" />
        ) : modules.length > 0 ? (
          <Table modules={modules} />
        ) : (
          list.isSuccess && (
            <Empty title="No modules yet">
              Build an operator with <code className="font-mono text-xs">weir build</code> and drop the .wasm file
              above, or send it with <code className="font-mono text-xs">weir push</code>.
            </Empty>
          )
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

function Table({ modules }: { modules: ModuleSummary[] }) {
  return (
    <table className="table-dense">
      <thead>
        <tr>
          <th scope="col">Module</th>
          <th scope="col">Version</th>
          <th scope="col">Faces</th>
          <th scope="col">Language</th>
          <th scope="col" className="num">
            Size
          </th>
          <th scope="col">Digest</th>
          <th scope="col">Stored</th>
        </tr>
      </thead>
      <tbody>
        {modules.map((module) => (
          <tr key={`${module.name}@${module.version}`} className="hover:bg-sunken/60">
            <td className="font-medium">
              <Link
                to={`/modules/${encodeURIComponent(module.name)}/${encodeURIComponent(module.version)}`}
                className="hover:text-accent hover:underline"
              >
                {module.name}
              </Link>
            </td>
            <td className="font-mono text-xs">{module.version}</td>
            <td>
              <span className="flex gap-1">
                {module.faces.map((face) => (
                  <Badge key={face}>{face}</Badge>
                ))}
              </span>
            </td>
            <td className="text-ink-2">{module.language ?? ""}</td>
            <td className="num text-ink-2 whitespace-nowrap">{bytes(module.size)}</td>
            <td className="font-mono text-xs text-ink-3" title={module.digest}>
              {digest(module.digest)}
            </td>
            <td className="whitespace-nowrap text-ink-2">
              <time dateTime={iso(module.created_at)}>{dateTime(module.created_at)}</time>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
