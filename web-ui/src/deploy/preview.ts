/** What a graph that is planned looks like. Pure. */
import type { Graph } from "../api/types";

/**
 * A plan knows streams only: calls are seen when they are made. Those that the running revision has made are
 * drawn between the operators that stay.
 */
export function withCalls(planned: Graph, running: Graph | undefined): Graph {
  const stays = new Set(planned.nodes.filter(({ kind }) => kind === "operator").map(({ id }) => id));
  const calls = (running?.edges ?? []).filter(
    (edge) => edge.kind === "call" && stays.has(edge.from) && stays.has(edge.to),
  );
  return { ...planned, edges: [...planned.edges.filter(({ kind }) => kind !== "call"), ...calls] };
}
