/**
 * Rates from counters. The server sends counts once a second; a rate is the difference over the
 * last few samples, so that it neither jumps with each commit nor lags long behind. Pure: no clock, no network.
 */
import type { GraphNode, LivePipeline, Status } from "../api/types";

/** Samples that a rate spans; at one a second, three seconds. */
const SPAN = 4;
/** Points of a sparkline: two minutes. */
const HISTORY = 120;

export interface NodeRate {
  in: number;
  out: number;
  errors: number;
}

/** What is known of one pipeline now. A new object at each sample, never changed afterwards. */
export interface LiveView {
  at: number;
  status: Status;
  revision: number;
  figures: LivePipeline;
  /** Records per second by node and edge id; null until two samples are there. */
  rates: { nodes: Record<string, NodeRate>; edges: Record<string, number> } | null;
  /** Records per second into the pipeline, oldest first. */
  history: number[];
  samples: Sample[];
}

interface Sample {
  at: number;
  figures: LivePipeline;
}

export function advance(before: LiveView | undefined, at: number, figures: LivePipeline): LiveView {
  const kept = before === undefined || restarted(before.figures, figures) ? [] : before.samples;
  const last = kept.at(-1);
  const samples = last !== undefined && last.at >= at ? kept : [...kept, { at, figures }].slice(-SPAN);
  const rates = ratesOver(samples);
  const history = before?.history ?? [];
  return {
    at,
    status: figures.status,
    revision: figures.revision,
    figures,
    rates,
    history: rates === null ? history : [...history, intake(figures, rates.nodes)].slice(-HISTORY),
    samples,
  };
}

/** Records that entered at the sources. */
export function recordsIn(pipeline: LivePipeline): number {
  return sum(pipeline.nodes, (node) => (node.kind === "source" ? recordsOf(node) : 0));
}

/** The records that a node has taken; of a source, those that it has read. */
export function recordsOf(node: GraphNode): number {
  return node.kind === "source" ? Math.max(node.records_in, node.records_out) : node.records_in;
}

/** Totals over all nodes, for a list of pipelines. */
export function totals(pipeline: LivePipeline): { errors: number; deadLetters: number } {
  return {
    errors: sum(pipeline.nodes, (node) => node.errors),
    deadLetters: sum(pipeline.nodes, (node) => node.dead_letters),
  };
}

function ratesOver(samples: Sample[]): LiveView["rates"] {
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined || last.at <= first.at) return null;
  const seconds = (last.at - first.at) / 1000;
  const perSecond = (now: number, then: number | undefined) => Math.max(0, (now - (then ?? now)) / seconds);
  const nodesThen = new Map(first.figures.nodes.map((node) => [node.id, node]));
  const edgesThen = new Map(first.figures.edges.map((edge) => [edge.id, edge]));
  return {
    nodes: Object.fromEntries(
      last.figures.nodes.map((node) => {
        const then = nodesThen.get(node.id);
        return [
          node.id,
          {
            in: perSecond(node.records_in, then?.records_in),
            out: perSecond(node.records_out, then?.records_out),
            errors: perSecond(node.errors, then?.errors),
          },
        ];
      }),
    ),
    edges: Object.fromEntries(
      last.figures.edges.map((edge) => [edge.id, perSecond(edge.records, edgesThen.get(edge.id)?.records)]),
    ),
  };
}

/** Counters that went back: the server restarted or the pipeline was made anew. */
function restarted(before: LivePipeline, now: LivePipeline): boolean {
  return before.revision !== now.revision || recordsIn(now) < recordsIn(before);
}

function intake(figures: LivePipeline, rates: Record<string, NodeRate>): number {
  return sum(figures.nodes, (node) => {
    const rate = rates[node.id];
    return node.kind === "source" && rate !== undefined ? Math.max(rate.in, rate.out) : 0;
  });
}

function sum<T>(items: T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
