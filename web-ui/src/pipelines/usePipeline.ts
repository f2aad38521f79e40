/** The pipeline that the URL names. */
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { useParams } from "react-router";
import { getPipeline } from "../api/pipelines";
import type { Graph } from "../api/types";
import { useLive } from "../live/context";

export function usePipelineName(): string {
  return useParams()["pipeline"] ?? "";
}

/** Whether it is balanced is not among the live figures, so it is asked again. */
const AUDIT_MS = 10_000;

/** What the server says of it, asked again as soon as the live figures show another revision or status. */
export function usePipeline(name: string) {
  const live = useLive(name);
  const query = useQuery({
    queryKey: ["pipeline", name],
    queryFn: ({ signal }) => getPipeline(name, signal),
    refetchInterval: AUDIT_MS,
  });
  const { data, refetch } = query;
  const behind =
    data !== undefined && live !== undefined && (live.revision > data.revision || live.status !== data.status);
  useEffect(() => {
    if (behind) void refetch();
  }, [behind, refetch]);
  return query;
}

/** The graph with the newest figures at hand. */
export function useGraph(name: string): Graph | undefined {
  const live = useLive(name);
  const { data } = usePipeline(name);
  return live?.figures ?? data?.graph;
}
