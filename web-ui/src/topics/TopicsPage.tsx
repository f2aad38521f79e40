/** All topics with their size. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { listTopics } from "../api/topics";
import type { Cursor } from "../api/types";
import { Button } from "../ui/Button";
import { bytes, exactCount } from "../ui/format";
import { Empty, ErrorNote, Loading } from "../ui/Notes";
import { Page, Panel } from "../ui/Page";
import { CreateTopic } from "./CreateTopic";

export function TopicsPage() {
  const list = useInfiniteQuery({
    queryKey: ["topics"],
    queryFn: ({ pageParam, signal }) => listTopics(pageParam, signal),
    initialPageParam: null as Cursor,
    getNextPageParam: (page) => page.next ?? undefined,
    refetchInterval: 2_000,
  });
  const topics = list.data?.pages.flatMap((page) => page.topics) ?? [];
  return (
    <Page name="Topics" title="Topics" actions={<CreateTopic />}>
      {list.isError && <ErrorNote error={list.error} onRetry={() => void list.refetch()} />}
      <Panel flush>
        {list.isPending ? (
          <Loading what="topics" />
        ) : topics.length > 0 ? (
          <table className="table-dense">
            <thead>
              <tr>
                <th scope="col">Topic</th>
                <th scope="col" className="num">
                  Partitions
                </th>
                <th scope="col" className="num">
                  Records
                </th>
                <th scope="col" className="num">
                  Size
                </th>
              </tr>
            </thead>
            <tbody>
              {topics.map((topic) => (
                <tr key={topic.name} className="hover:bg-sunken/60">
                  <td className="font-medium">
                    <Link
                      to={`/topics/${encodeURIComponent(topic.name)}`}
                      className="hover:text-accent hover:underline"
                    >
                      {topic.name}
                    </Link>
                  </td>
                  <td className="num text-ink-2">{topic.partitions}</td>
                  <td className="num">{exactCount(topic.records)}</td>
                  <td className="num text-ink-2">{bytes(topic.bytes)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        ) : (
          list.isSuccess && (
            <Empty title="No topics yet">
              Deploying a pipeline creates the topics that it reads and writes. You can also create one here.
            </Empty>
          )
        )}
      </Panel>
      {list.hasNextPage && (
        <Button className="self-start" onPress={() => void list.fetchNextPage()}>
          Show more
        </Button>
      )}
    </Page>
  );
}
