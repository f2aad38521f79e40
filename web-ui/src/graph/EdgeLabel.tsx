/** The text at the middle of an edge. */
import type { ReactNode } from "react";

export function EdgeLabel({ x, y, children }: { x: number; y: number; children: ReactNode }) {
  return (
    <div
      className="absolute flex max-w-32 flex-col items-center rounded bg-surface/85 px-1 text-xs leading-3.5 whitespace-nowrap"
      style={{ transform: `translate(-50%, -50%) translate(${x}px, ${y}px)` }}
    >
      {children}
    </div>
  );
}
