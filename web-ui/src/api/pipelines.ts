/** Pipelines, their state, audit and dead letters. */
import { path, query, request } from "./client";
import { parseExact } from "./json";
import type {
  Applied,
  Audit,
  Cursor,
  DeadLetter,
  Page,
  Pipeline,
  PipelineSummary,
  Revision,
  StateOfKey,
} from "./types";

export type PipelineCommand = "pause" | "resume" | "stop";

export function listPipelines(after: Cursor, signal?: AbortSignal) {
  return request<{ pipelines: PipelineSummary[] } & Page>(`/pipelines${query({ limit: 200, after })}`, { signal });
}

export function getPipeline(name: string, signal?: AbortSignal) {
  return request<Pipeline>(path`/pipelines/${name}`, { signal });
}

/** Checks the file (`dryRun`) or deploys it. A file with mistakes throws a 422 `Problem`. */
export function putPipeline(name: string, file: string, dryRun: boolean, signal?: AbortSignal) {
  return request<Applied>(path`/pipelines/${name}` + (dryRun ? "?dry_run=true" : ""), {
    method: "PUT",
    body: file,
    type: file.trimStart().startsWith("{") ? "application/json" : "application/yaml",
    signal,
  });
}

export function commandPipeline(name: string, command: PipelineCommand) {
  return request<unknown>(path`/pipelines/${name}/${command}`, { method: "POST" });
}

export function deletePipeline(name: string, state: "keep" | "drop") {
  return request<unknown>(path`/pipelines/${name}` + query({ state }), { method: "DELETE" });
}

/** The oldest first. */
export function listRevisions(name: string, signal?: AbortSignal) {
  return request<{ revisions: Revision[] }>(path`/pipelines/${name}/revisions`, { signal });
}

export function getAudit(name: string, signal?: AbortSignal) {
  return request<Audit>(path`/pipelines/${name}/audit`, { signal });
}

export function listDeadLetters(name: string, operator: string | undefined, after: Cursor, signal?: AbortSignal) {
  return request<{ dead_letters: DeadLetter[] } & Page>(
    path`/pipelines/${name}/dead-letters` + query({ operator, after, limit: 100 }),
    { signal, parse: parseExact },
  );
}

export function discardDeadLetter(name: string, id: string | number) {
  return request<unknown>(path`/pipelines/${name}/dead-letters/${id}/discard`, { method: "POST" });
}

export interface StateQuery {
  cell?: string;
  prefix?: string;
  after?: Cursor;
}

export function listState(name: string, operator: string, { cell, prefix, after }: StateQuery, signal?: AbortSignal) {
  return request<{ keys: StateOfKey[] } & Page>(
    path`/pipelines/${name}/operators/${operator}/state` + query({ cell, prefix, after, limit: 100 }),
    { signal, parse: parseExact },
  );
}

export function getState(name: string, operator: string, key: string, signal?: AbortSignal) {
  return request<StateOfKey>(path`/pipelines/${name}/operators/${operator}/state/${key}`, {
    signal,
    parse: parseExact,
  });
}
