/** Checks the file with the server while it is being written: one dry run after each pause in typing. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { putPipeline } from "../api/pipelines";
import { Problem } from "../api/problem";
import type { Applied, Diagnostic } from "../api/types";
import { pipelineName } from "./pipelineName";

const PAUSE_MS = 350;

export type Check =
  | { state: "empty" }
  | { state: "checking" }
  | { state: "wrong"; diagnostics: Diagnostic[] }
  | { state: "right"; name: string; applied: Applied }
  | { state: "unknown"; error: unknown; retry: () => void };

export function useCheck(file: string): Check {
  const settled = useDebounced(file, PAUSE_MS);
  const name = pipelineName(settled);
  const dryRun = useQuery({
    queryKey: ["dry-run", name, settled],
    queryFn: ({ signal }) => putPipeline(name ?? "", settled, true, signal),
    enabled: name !== undefined,
    retry: false,
    gcTime: 0,
  });
  if (file.trim() === "") return { state: "empty" };
  if (settled !== file) return { state: "checking" };
  if (name === undefined) return { state: "wrong", diagnostics: [noName] };
  if (dryRun.isPending) return { state: "checking" };
  if (dryRun.isSuccess) return { state: "right", name, applied: dryRun.data };
  const { error } = dryRun;
  if (error instanceof Problem && (error.status === 422 || error.status === 400)) {
    return {
      state: "wrong",
      diagnostics: error.errors.length > 0 ? error.errors : [{ code: error.code, message: error.message }],
    };
  }
  return { state: "unknown", error, retry: () => void dryRun.refetch() };
}

const noName: Diagnostic = {
  line: 1,
  column: 1,
  path: "pipeline",
  code: "no-name",
  message: "The file does not name its pipeline.",
  help: "Begin it with a line such as: pipeline: order-fulfilment",
};

function useDebounced(text: string, ms: number): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), ms);
    return () => clearTimeout(timer);
  }, [text, ms]);
  return settled;
}
