/** The registry of modules. */
import { path, query, request } from "./client";
import { problemOf, unreachable } from "./problem";
import type { Cursor, ModuleDetail, ModuleSummary, Page, Report } from "./types";

export interface Stored {
  name: string;
  version: string;
  digest: string;
  report: Report;
}

export function listModules(after: Cursor, signal?: AbortSignal) {
  return request<{ modules: ModuleSummary[] } & Page>(`/modules${query({ limit: 200, after })}`, { signal });
}

export function getModule(name: string, version: string, signal?: AbortSignal) {
  return request<ModuleDetail>(path`/modules/${name}/${version}`, { signal });
}

export function deleteModule(name: string, version: string) {
  return request<unknown>(path`/modules/${name}/${version}`, { method: "DELETE" });
}

/** Where the original bytes can be had. */
export function wasmUrl(name: string, version: string): string {
  return path`/v1/modules/${name}/${version}/wasm`;
}

export function checkModule(bytes: Blob, onProgress: (sent: number) => void) {
  return upload<Report>("/v1/modules/check", bytes, onProgress);
}

export function storeModule(name: string, version: string, bytes: Blob, onProgress: (sent: number) => void) {
  return upload<Stored>(`/v1/modules${query({ name, version })}`, bytes, onProgress);
}

/** A POST that tells how far it is, 0 to 1. `fetch` cannot, so this is the one place with XMLHttpRequest. */
function upload<T>(url: string, bytes: Blob, onProgress: (sent: number) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const call = new XMLHttpRequest();
    call.open("POST", url);
    call.setRequestHeader("content-type", "application/wasm");
    call.setRequestHeader("accept", "application/json");
    call.upload.onprogress = (event) => onProgress(event.lengthComputable ? event.loaded / event.total : 0);
    call.onerror = () => reject(unreachable());
    call.onload = () => {
      if (call.status >= 200 && call.status < 300) resolve(JSON.parse(call.responseText) as T);
      else reject(problemOf(call.status, call.responseText));
    };
    call.send(bytes);
  });
}
