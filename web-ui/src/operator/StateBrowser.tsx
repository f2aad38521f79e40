/** Keyed state as of the last commit: search by prefix, choose a key, see its cells. The chosen key is in the URL. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { ArrowLeft, ChevronRight } from "lucide-react";
import { useDeferredValue, useState } from "react";
import { useSearchParams } from "react-router";
import { printJson } from "../api/json";
import { isBase64, keyText, valueText } from "../api/keys";
import { getState, listState } from "../api/pipelines";
import type { Cursor, Key, StateOfKey } from "../api/types";
import { Button } from "../ui/Button";
import { Code } from "../ui/Code";
import { Disclosure } from "../ui/Disclosure";
import { Fact, Facts } from "../ui/Facts";
import { SearchField } from "../ui/Field";
import { Empty, ErrorNote, Loading } from "../ui/Notes";
import { cellsOf, entriesText, isLong, summaryOf, type Cell } from "./cells";

interface StateBrowserProps {
  pipeline: string;
  operator: string;
}

export function StateBrowser(place: StateBrowserProps) {
  const [params, setParams] = useSearchParams();
  const [prefix, setPrefix] = useState("");
  const key = params.get("key");
  if (key !== null) return <OneKey {...place} stateKey={key} onBack={() => setParams({}, { replace: true })} />;
  return (
    <div className="flex flex-col">
      <div className="border-b border-line p-3">
        <SearchField
          label="Keys that begin with"
          placeholder="Keys that begin with…"
          value={prefix}
          onChange={setPrefix}
        />
      </div>
      <Keys {...place} prefix={prefix} onChoose={(chosen) => setParams({ key: chosen }, { replace: true })} />
    </div>
  );
}

function Keys({
  pipeline,
  operator,
  prefix,
  onChoose,
}: StateBrowserProps & { prefix: string; onChoose: (key: string) => void }) {
  const wanted = useDeferredValue(prefix);
  const list = useInfiniteQuery({
    queryKey: ["pipeline", pipeline, "state", operator, { prefix: wanted }],
    queryFn: ({ pageParam, signal }) => listState(pipeline, operator, { prefix: wanted, after: pageParam }, signal),
    initialPageParam: null as Cursor,
    getNextPageParam: (page) => page.next ?? undefined,
    placeholderData: (before) => before,
  });
  if (list.isError)
    return (
      <div className="p-3">
        <ErrorNote error={list.error} onRetry={() => void list.refetch()} />
      </div>
    );
  if (list.isPending) return <Loading what="keys" />;
  const keys = list.data.pages.flatMap((page) => page.keys);
  if (keys.length === 0) {
    return wanted === "" ? (
      <Empty title="No state yet">A key appears here after the first commit in which a handler wrote to it.</Empty>
    ) : (
      <Empty title="No such key">No key of this operator begins with “{wanted}”.</Empty>
    );
  }
  return (
    <>
      <ul className="divide-y divide-line">
        {keys.map((state) => (
          <KeyRow key={keyText(state.key)} state={state} onChoose={onChoose} />
        ))}
      </ul>
      {list.hasNextPage && (
        <div className="border-t border-line p-3">
          <Button isDisabled={list.isFetchingNextPage} onPress={() => void list.fetchNextPage()}>
            Show more keys
          </Button>
        </div>
      )}
    </>
  );
}

/** A key that is text can be opened; one of raw bytes has no address in a URL, so its cells are shown in place only. */
function KeyRow({ state, onChoose }: { state: StateOfKey; onChoose: (key: string) => void }) {
  const text = keyText(state.key);
  const content = (
    <>
      <span className="truncate font-mono text-xs font-medium">{text === "" ? "(empty key)" : text}</span>
      <span className="line-clamp-2 font-mono text-xs wrap-anywhere text-ink-3">{summaryOf(state)}</span>
    </>
  );
  const look = "grid w-full grid-cols-[minmax(5rem,auto)_minmax(0,1fr)] gap-3 px-4 py-1.5 text-left";
  return (
    <li className="[contain-intrinsic-size:auto_2rem] [content-visibility:auto]">
      {isText(state.key) ? (
        <button
          type="button"
          className={`${look} outline-offset-[-2px] hover:bg-sunken`}
          onClick={() => onChoose(text)}
        >
          {content}
        </button>
      ) : (
        <div className={look}>{content}</div>
      )}
    </li>
  );
}

function isText(key: Key): key is string {
  return typeof key === "string" && key !== "";
}

function OneKey({
  pipeline,
  operator,
  stateKey,
  onBack,
}: StateBrowserProps & { stateKey: string; onBack: () => void }) {
  const state = useQuery({
    queryKey: ["pipeline", pipeline, "state", operator, stateKey],
    queryFn: ({ signal }) => getState(pipeline, operator, stateKey, signal),
    refetchInterval: 2_000,
  });
  return (
    <div className="flex flex-col gap-3 p-4">
      <div className="flex items-center gap-2">
        <Button look="quiet" aria-label="Back to all keys" onPress={onBack}>
          <ArrowLeft aria-hidden />
        </Button>
        <code className="min-w-0 font-mono text-xs font-medium break-all">{stateKey}</code>
      </div>
      {state.isError && <ErrorNote error={state.error} onRetry={() => void state.refetch()} />}
      {state.isPending && <Loading what="cells" />}
      {state.data !== undefined && <Cells state={state.data} />}
    </div>
  );
}

/** Plain values as one list; lists and maps each in a block of their own, a long one closed at first. */
function Cells({ state }: { state: StateOfKey }) {
  const { plain, nested } = cellsOf(state);
  if (plain.length + nested.length === 0) return <p className="text-ink-3">This key holds no cells.</p>;
  return (
    <>
      {plain.length > 0 && (
        <Facts>
          {plain.map(({ name, value }) => (
            <Fact key={name} name={name}>
              <code className="font-mono text-xs">{isBase64(value) ? valueText(value) : printJson(value)}</code>
            </Fact>
          ))}
        </Facts>
      )}
      {nested.map(({ name, value }) =>
        isLong(value) ? (
          <LongCell key={name} name={name} value={value} />
        ) : (
          <Code key={name} titled label={name} text={printJson(value, 2)} />
        ),
      )}
    </>
  );
}

function LongCell({ name, value }: Cell) {
  return (
    <div className="rounded-md border border-line">
      <Disclosure
        summaryClass="flex items-center gap-2 rounded-md px-2 py-1.5"
        summary={
          <>
            <ChevronRight
              aria-hidden
              className="size-4 shrink-0 text-ink-3 transition-transform group-open:rotate-90"
            />
            <span>
              {name}: <span className="text-ink-2">{entriesText(value)}</span>
            </span>
          </>
        }
      >
        {() => (
          <div className="p-2 pt-0">
            <Code label={name} text={printJson(value, 2)} />
          </div>
        )}
      </Disclosure>
    </div>
  );
}
