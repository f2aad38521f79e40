/** One topic: its tail, live, and a form that sends a record. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { getTopic } from "../api/topics";
import { bytes, exactCount } from "../ui/format";
import { isNotFound, NotFound } from "../ui/NotFound";
import { ErrorNote } from "../ui/Notes";
import { Page, Panel } from "../ui/Page";
import { SendRecord } from "./SendRecord";
import { TailPanel } from "./TailPanel";

export function TopicPage() {
  const name = useParams()["topic"] ?? "";
  const topic = useQuery({
    queryKey: ["topic", name],
    queryFn: ({ signal }) => getTopic(name, signal),
    refetchInterval: 2_000,
  });
  if (isNotFound(topic.error)) {
    return (
      <NotFound title={`There is no topic “${name}”`} to="/topics" action="Go to the topics">
        It appears when a pipeline that uses it is deployed, or when you create it.
      </NotFound>
    );
  }
  return (
    <Page
      name={name}
      title={<span className="break-all">{name}</span>}
      actions={
        topic.data !== undefined && (
          <p className="text-ink-2">
            {topic.data.partitions} partitions · {exactCount(topic.data.records)} records · {bytes(topic.data.bytes)}
          </p>
        )
      }
    >
      {topic.isError && <ErrorNote error={topic.error} onRetry={() => void topic.refetch()} />}
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <TailPanel key={name} topic={name} />
        <Panel title="Send a record">
          <SendRecord topic={name} />
        </Panel>
      </div>
    </Page>
  );
}
