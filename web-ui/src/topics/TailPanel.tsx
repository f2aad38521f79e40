/** The live tail with pause, filter and where to begin. */
import { Eraser, Pause, Play } from "lucide-react";
import { useEffect, useState, useSyncExternalStore } from "react";
import { tailUrl } from "../api/topics";
import { Button } from "../ui/Button";
import { SearchField } from "../ui/Field";
import { count } from "../ui/format";
import { Empty } from "../ui/Notes";
import { Select } from "../ui/Select";
import { RecordRow } from "./RecordRow";
import { matching, RING, Tail, type TailView } from "./tail";

type From = "earliest" | "latest";

const starts = [
  { value: "latest", text: "now" },
  { value: "earliest", text: "the beginning" },
] as const;

export function TailPanel({ topic }: { topic: string }) {
  const [from, setFrom] = useState<From>("latest");
  const [filter, setFilter] = useState("");
  const [tail] = useState(() => new Tail());
  const view = useSyncExternalStore(tail.subscribe, tail.view);
  const shown = matching(view.records, filter);

  useEffect(() => {
    tail.clear();
    return tail.connect(tailUrl(topic, from));
  }, [tail, topic, from]);

  return (
    <section aria-label="Tail" className="min-w-0 overflow-hidden rounded-lg border border-line bg-surface">
      <header className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2">
        <SearchField
          label="Filter records"
          placeholder="Key or value contains…"
          value={filter}
          onChange={setFilter}
          className="min-w-40 flex-1"
        />
        <Select label="From" value={from} options={starts} onChange={setFrom} />
        {view.paused ? (
          <Button onPress={() => tail.resume()}>
            <Play aria-hidden />
            Resume{view.unseen > 0 && ` (${count(view.unseen)} new)`}
          </Button>
        ) : (
          <Button onPress={() => tail.pause()}>
            <Pause aria-hidden />
            Pause
          </Button>
        )}
        <Button look="quiet" aria-label="Clear" onPress={() => tail.clear()}>
          <Eraser aria-hidden />
        </Button>
      </header>
      <p role="status" className="border-b border-line px-4 py-1 text-xs text-ink-3">
        {statusText(view, shown.length, filter)}
      </p>
      {shown.length === 0 ? (
        <Empty title={view.records.length > 0 ? "No record fits the filter" : "No record yet"}>
          {view.records.length > 0
            ? `None of the ${view.records.length} records at hand contains “${filter}”.`
            : "Records appear here as soon as they are committed. Send one with the form, or read from the beginning."}
        </Empty>
      ) : (
        <ol aria-label="Records, newest first" className="max-h-[calc(100vh-14rem)] overflow-y-auto">
          {shown.map((item) => (
            <RecordRow key={item.id} item={item} />
          ))}
        </ol>
      )}
    </section>
  );
}

function statusText(view: TailView, shown: number, filter: string): string {
  if (view.connection === "lost") return "The connection is lost; it is tried again.";
  if (view.connection === "connecting") return "Connecting…";
  const kept = view.received > RING ? `, the newest ${RING} kept` : "";
  const fitting = filter.trim() === "" ? "" : `, ${shown} fit the filter`;
  return `${view.paused ? "Paused" : "Following"}: ${count(view.received)} received${kept}${fitting}`;
}
