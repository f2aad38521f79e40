/** Gives the views the live store, and keeps cached answers true when something changes. */
import { useQueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useState, useSyncExternalStore, type ReactNode } from "react";
import type { LiveView } from "./rates";
import { LiveStore, type Connection } from "./store";

const LiveContext = createContext<LiveStore | null>(null);

export function LiveProvider({ children }: { children: ReactNode }) {
  const [store] = useState(() => new LiveStore());
  const queries = useQueryClient();
  useEffect(() => store.connect("/v1/live"), [store]);
  useEffect(
    () =>
      store.onLifecycle((event) => {
        void queries.invalidateQueries({ queryKey: ["pipelines"] });
        void queries.invalidateQueries({ queryKey: ["pipeline", event.pipeline] });
      }),
    [store, queries],
  );
  return <LiveContext value={store}>{children}</LiveContext>;
}

export function useLiveStore(): LiveStore {
  const store = useContext(LiveContext);
  if (store === null) throw new Error("useLiveStore needs a LiveProvider above it");
  return store;
}

/** The live view of one pipeline; undefined until its first figures are there. */
export function useLive(name: string): LiveView | undefined {
  const store = useLiveStore();
  return useSyncExternalStore(store.subscribe, () => store.view(name));
}

/** The time of the newest figures, read when the connection changes. */
export function useFiguresAt(): number | undefined {
  const store = useLiveStore();
  useConnection();
  return store.at();
}

export function useConnection(): Connection {
  const store = useLiveStore();
  return useSyncExternalStore(store.subscribe, store.connection);
}
