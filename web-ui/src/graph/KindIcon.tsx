/** The sign of a node's kind. */
import { Cpu, LogIn, LogOut } from "lucide-react";
import type { NodeKind } from "../api/types";

const icons = { source: LogIn, operator: Cpu, sink: LogOut };
const colours = { source: "text-info", operator: "text-accent", sink: "text-good" };

export function KindIcon({ kind }: { kind: NodeKind }) {
  const Icon = icons[kind];
  return <Icon aria-hidden className={`size-4 shrink-0 ${colours[kind]}`} />;
}
