/** The handlers of an operator's module; none if it has not that face. */
import { useQuery } from "@tanstack/react-query";
import { getModule } from "../api/modules";
import type { GraphNode, Report } from "../api/types";
import { moduleRef } from "./moduleRef";

const NONE: Report["handlers"] = [];

export function useHandlers(node: GraphNode): Report["handlers"] {
  const ref = moduleRef(node.module);
  const { data } = useQuery({
    queryKey: ["module", ref?.name, ref?.version],
    queryFn: ({ signal }) => getModule(ref?.name ?? "", ref?.version ?? "", signal),
    enabled: ref !== undefined,
    staleTime: Infinity,
  });
  return data?.faces.includes("handler") === true ? data.report.handlers : NONE;
}
