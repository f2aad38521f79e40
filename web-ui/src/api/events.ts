/**
 * Server-sent events that go on. The browser reconnects a broken stream by itself and resumes it by id;
 * it gives up when the answer is an error (a proxy without its server, a server that starts). Then a new stream is opened here.
 */

const RETRY_MS = 2_000;

export interface Follower {
  onOpen: () => void;
  onLost: () => void;
  /** A new stream begins at its start, not where the old one ended. */
  onRestart?: () => void;
  /** By event name; `message` for events without one. */
  on: Record<string, (data: string) => void>;
}

/** Follows the stream at `url` until the returned function is called. */
export function follow(url: string, follower: Follower): () => void {
  let source: EventSource;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const open = () => {
    source = new EventSource(url);
    source.onopen = follower.onOpen;
    source.onerror = () => {
      follower.onLost();
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(reopen, RETRY_MS);
    };
    for (const [name, take] of Object.entries(follower.on)) {
      source.addEventListener(name, (event: MessageEvent<string>) => take(event.data));
    }
  };
  const reopen = () => {
    follower.onRestart?.();
    open();
  };

  open();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}
