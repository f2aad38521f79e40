/** One way to the server: paths under /v1, JSON in and out, every failure a `Problem`. */
import { problemOf, unreachable } from "./problem";

export interface RequestOptions {
  method?: string;
  body?: BodyInit;
  type?: string;
  signal?: AbortSignal;
  /** How the answer is read; `parseExact` for payloads. */
  parse?: (text: string, headers: Headers) => unknown;
}

export async function request<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const { method = "GET", body, type, signal, parse = readJson } = options;
  const headers: Record<string, string> = { accept: "application/json" };
  if (type !== undefined) headers["content-type"] = type;
  const response = await send(`/v1${path}`, { method, headers, body, signal });
  const text = await response.text();
  if (!response.ok) throw problemOf(response.status, text);
  return (text === "" ? undefined : parse(text, response.headers)) as T;
}

function readJson(text: string): unknown {
  return JSON.parse(text);
}

async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw unreachable();
  }
}

/** A path with each part escaped: path`/topics/${name}`. */
export function path(strings: TemplateStringsArray, ...parts: (string | number)[]): string {
  return strings.reduce((out, text, i) => out + encodeURIComponent(parts[i - 1] ?? "") + text);
}

/** A query string of those entries that have a value. */
export function query(entries: Record<string, string | number | null | undefined>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(entries)) {
    if (value !== undefined && value !== null && value !== "") params.set(name, String(value));
  }
  const text = params.toString();
  return text === "" ? "" : `?${text}`;
}
