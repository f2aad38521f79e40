/** Dead letters, newest pages on demand; all of them or those of one operator. */
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { discardDeadLetter, listDeadLetters } from "../api/pipelines";
import type { Cursor } from "../api/types";
import { useLive } from "../live/context";
import { totals } from "../live/rates";

export function useDeadLetters(pipeline: string, operator: string | undefined) {
  const list = useInfiniteQuery({
    queryKey: ["pipeline", pipeline, "dead-letters", operator ?? null],
    queryFn: ({ pageParam, signal }) => listDeadLetters(pipeline, operator, pageParam, signal),
    initialPageParam: null as Cursor,
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const live = useLive(pipeline);
  const known = live === undefined ? undefined : totals(live.figures).deadLetters;
  const { refetch } = list;
  useEffect(() => {
    if (known !== undefined) void refetch();
  }, [known, refetch]);
  return list;
}

export function useDiscard(pipeline: string) {
  const queries = useQueryClient();
  return async (id: string | number) => {
    await discardDeadLetter(pipeline, id);
    await queries.invalidateQueries({ queryKey: ["pipeline", pipeline, "dead-letters"] });
  };
}
