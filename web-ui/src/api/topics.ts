/** Topics and their records. */
import { path, query, request } from "./client";
import type { Cursor, Page, Topic } from "./types";

export function listTopics(after: Cursor, signal?: AbortSignal) {
  return request<{ topics: Topic[] } & Page>(`/topics${query({ limit: 200, after })}`, { signal });
}

export function getTopic(name: string, signal?: AbortSignal) {
  return request<Topic>(path`/topics/${name}`, { signal });
}

export function createTopic(name: string, partitions: number) {
  return request<Topic>(path`/topics/${name}`, {
    method: "PUT",
    body: JSON.stringify({ partitions }),
    type: "application/json",
  });
}

/** Where an `EventSource` finds the tail of a topic. */
export function tailUrl(name: string, from: "earliest" | "latest"): string {
  return path`/v1/topics/${name}/records` + query({ from });
}

/** Sends one record. The value goes out as the very text that was written, which must be JSON. */
export function sendRecord(name: string, key: string, valueJson: string) {
  const keyMember = key === "" ? "" : `"key":${JSON.stringify(key)},`;
  return request<{ records: { partition: number; offset: number }[] }>(path`/topics/${name}/records`, {
    method: "POST",
    body: `[{${keyMember}"value":${valueJson}}]`,
    type: "application/json",
  });
}
