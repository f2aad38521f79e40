/**
 * The tail of a topic: a bounded ring of the newest records. Records arrive one by one and are shown
 * in batches, so that a fast topic costs a few draws a second. While paused nothing shown moves; what
 * arrives is still counted and kept, up to the bound.
 */
import { follow } from "../api/events";
import { parseExact } from "../api/json";
import { keyText, valueText } from "../api/keys";
import type { TopicRecord } from "../api/types";

/** Records kept in memory. */
export const RING = 500;
const BATCH_MS = 200;

export interface TailRecord {
  record: TopicRecord;
  id: string;
  key: string;
  value: string;
}

export interface TailView {
  /** Newest first. */
  records: readonly TailRecord[];
  received: number;
  /** Arrived since the view was paused. */
  unseen: number;
  paused: boolean;
  connection: "connecting" | "open" | "lost";
}

const start: TailView = { records: [], received: 0, unseen: 0, paused: false, connection: "connecting" };

export class Tail {
  #view = start;
  #ring: TailRecord[] = [];
  #received = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #listeners = new Set<() => void>();

  readonly view = (): TailView => this.#view;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Follows the stream at `url` until the returned function is called. */
  connect(url: string): () => void {
    const stop = follow(url, {
      onOpen: () => this.#set({ connection: "open" }),
      onLost: () => this.#set({ connection: "lost" }),
      onRestart: () => this.clear(),
      on: { message: (data) => this.take(data) },
    });
    return () => {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      stop();
    };
  }

  take(data: string): void {
    const record = parseExact(data) as TopicRecord;
    const id = `${record.partition}/${record.offset}`;
    this.#ring.push({ record, id, key: keyText(record.key), value: valueText(record.value) });
    if (this.#ring.length > RING) this.#ring.shift();
    this.#received += 1;
    this.#timer ??= setTimeout(() => this.#flush(), BATCH_MS);
  }

  pause(): void {
    this.#set({ paused: true });
  }

  resume(): void {
    this.#set({ paused: false });
    this.#flush();
  }

  clear(): void {
    this.#ring = [];
    this.#received = 0;
    this.#set({ records: [], received: 0, unseen: 0 });
  }

  #flush(): void {
    this.#timer = undefined;
    if (this.#view.paused) this.#set({ unseen: this.#received - this.#view.received });
    else this.#set({ records: this.#ring.toReversed(), received: this.#received, unseen: 0 });
  }

  #set(change: Partial<TailView>): void {
    this.#view = { ...this.#view, ...change };
    for (const listener of this.#listeners) listener();
  }
}

/** Those that hold the text in their key or value, whatever the case. */
export function matching(records: readonly TailRecord[], text: string): readonly TailRecord[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return records;
  return records.filter(({ key, value }) => key.toLowerCase().includes(wanted) || value.toLowerCase().includes(wanted));
}
