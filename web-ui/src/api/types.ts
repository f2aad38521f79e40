/**
 * The shapes of the HTTP API, as docs/openapi.json states them. Times are milliseconds since the
 * Unix epoch. Counters count since the pipeline was first deployed and never go back within a run.
 */

/** Any JSON value, numbers kept exactly (see `json.ts`). */
export type Json = unknown;

/** Bytes that are not UTF-8 (a key) or not JSON (a value). */
export interface Base64 {
  base64: string;
}

export type Key = string | Base64;

export type Status = "running" | "paused" | "stopped" | "finished" | "failed";

export interface PipelineSummary {
  name: string;
  revision: number;
  status: Status;
  records_in: number;
  records_out: number;
  errors: number;
  dead_letters: number;
  /** Whether its audit adds up; absent if the server does not say. */
  balanced?: boolean;
}

export type NodeKind = "source" | "operator" | "sink";

export interface GraphNode {
  id: string;
  kind: NodeKind;
  module?: string | null;
  /** What its streams go to: a handler, or the input of a transform. */
  handler?: string | null;
  input?: string | null;
  parallelism?: number;
  records_in: number;
  records_out: number;
  errors: number;
  retries: number;
  dead_letters: number;
  waiting: number;
  running: number;
  /** Share of the last second spent at work, 0 to 1. */
  busy: number;
}

export interface GraphEdge {
  id: string;
  from: string;
  to: string;
  port?: string | null;
  kind: "stream" | "call";
  records: number;
  /** How full the queue is, 0 to 1. */
  queue_fill: number;
}

export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

export interface Pipeline {
  name: string;
  revision: number;
  status: Status;
  status_reason?: string | null;
  balanced?: boolean;
  /** The text of the pipeline file of the running revision. */
  file: string;
  graph: Graph;
}

export interface Revision {
  revision: number;
  created_at: number;
  /** Whether it is the one that is deployed. */
  current: boolean;
  /** Modules that it was applied with, as name and version. */
  modules: string[];
  file: string;
}

export interface LivePipeline extends Graph {
  name: string;
  status: Status;
  revision: number;
}

export interface Figures {
  at: number;
  pipelines: LivePipeline[];
}

export interface Lifecycle {
  id: number | string;
  at: number;
  pipeline: string;
  what: string;
  message: string;
}

export interface Applied {
  name: string;
  revision: number;
  plan: { graph: Graph };
  warnings: (string | Diagnostic)[];
}

export interface Diagnostic {
  line?: number | null;
  column?: number | null;
  path?: string | null;
  code?: string;
  message: string;
  help?: string | null;
}

export interface ModuleSummary {
  name: string;
  version: string;
  digest: string;
  size: number;
  created_at: number;
  language: string | null;
  faces: string[];
}

export interface ModuleDetail extends ModuleSummary {
  report: Report;
}

export interface PortInfo {
  name: string;
  schema?: Json;
}

export interface Report {
  ok: boolean;
  size: number;
  digest: string;
  language: string | null;
  sdk?: string | null;
  faces: string[];
  handlers: { name: string; doc?: string | null; read_only?: boolean }[];
  ports: { inputs: PortInfo[]; outputs: PortInfo[] };
  cells: { name: string; kind: string; version: number }[];
  imports: { name: string; status: "granted" | "grantable" | "refused"; help?: string | null }[];
  memory_floor: number | null;
  compile_ms: number | null;
  problems: { code: string; message: string; help?: string | null }[];
}

export interface Audit {
  balanced: boolean;
  epoch: number;
  operators: AuditOperator[];
  edges: {
    from: string;
    to: string;
    port?: string | null;
    sent: number;
    taken: number;
    queued: number;
    balanced: boolean;
  }[];
  sources: { id: string; position: SourcePosition[]; taken: number; balanced: boolean }[];
}

/** Where a source stands in one partition of its topic. */
export interface SourcePosition {
  partition: number;
  /** The offset that is read next. */
  offset: number;
  /** The offset at which reading began. */
  start: number;
}

export interface AuditOperator {
  id: string;
  taken: number;
  ended: number;
  filtered: number;
  skipped: number;
  dead_lettered: number;
  late: number;
  shed: number;
  waiting: number;
  balanced: boolean;
}

export interface DeadLetter {
  id: string | number;
  operator: string;
  handler?: string | null;
  key: Key | null;
  value: Json;
  headers?: Json;
  source?: { topic: string; partition: number; offset: number } | null;
  module?: string | null;
  attempts: number;
  code: string;
  error: string;
  panic?: string | null;
  backtrace?: string | null;
  calls_done?: Json[];
  at: number;
}

export interface StateOfKey {
  key: Key;
  cells: Record<string, Json>;
}

export interface Topic {
  name: string;
  partitions: number;
  records: number;
  bytes: number;
}

export interface TopicRecord {
  partition: number;
  offset: number;
  timestamp: number;
  key: Key | null;
  value: Json;
  headers?: Json;
}

/** The cursor for the next page; absent or null on the last. */
export type Cursor = string | number | null;

export interface Page {
  next?: Cursor;
}
