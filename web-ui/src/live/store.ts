/**
 * The live figures of all pipelines, from one SSE stream for the whole page. Views subscribe to the
 * pipeline that they show.
 */
import { follow } from "../api/events";
import type { Figures, Lifecycle } from "../api/types";
import { advance, type LiveView } from "./rates";

export type Connection = "connecting" | "live" | "lost";

type Listener = () => void;

/** After this long without figures the display no longer claims to be live. */
const SILENCE_MS = 5_000;

export class LiveStore {
  #views = new Map<string, LiveView>();
  #at: number | undefined;
  #connection: Connection = "connecting";
  #listeners = new Set<Listener>();
  #lifecycleListeners = new Set<(event: Lifecycle) => void>();
  #silence: ReturnType<typeof setTimeout> | undefined;

  readonly subscribe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly onLifecycle = (listener: (event: Lifecycle) => void): (() => void) => {
    this.#lifecycleListeners.add(listener);
    return () => this.#lifecycleListeners.delete(listener);
  };

  readonly view = (name: string): LiveView | undefined => this.#views.get(name);

  /** All views; the same map object until the next figures. */
  readonly views = (): ReadonlyMap<string, LiveView> => this.#views;

  /** The server's time of the newest figures. */
  readonly at = (): number | undefined => this.#at;

  readonly connection = (): Connection => this.#connection;

  /** Opens the stream; the returned function closes it. */
  connect(url: string): () => void {
    const stop = follow(url, {
      onOpen: () => this.#setConnection("live"),
      onLost: () => this.#setConnection("lost"),
      on: {
        figures: (data) => this.take(JSON.parse(data) as Figures),
        lifecycle: (data) => {
          const event = JSON.parse(data) as Lifecycle;
          for (const listener of this.#lifecycleListeners) listener(event);
        },
      },
    });
    return () => {
      clearTimeout(this.#silence);
      stop();
    };
  }

  take(figures: Figures): void {
    this.#views = new Map(
      figures.pipelines.map((pipeline) => [
        pipeline.name,
        advance(this.#views.get(pipeline.name), figures.at, pipeline),
      ]),
    );
    this.#at = figures.at;
    this.#connection = "live";
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#setConnection("lost"), SILENCE_MS);
    this.#tell();
  }

  #setConnection(connection: Connection): void {
    if (connection === this.#connection) return;
    this.#connection = connection;
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
