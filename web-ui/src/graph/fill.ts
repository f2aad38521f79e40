/** How a queue's fill (0 to 1) looks. From 60 % it warns; from 90 % it holds back what feeds it. */

export function fillColour(fill: number): string {
  if (fill >= 0.9) return "var(--bad)";
  if (fill >= 0.6) return "var(--warn)";
  return "var(--flow)";
}

export function fillWidth(fill: number): number {
  return 1.5 + 4.5 * Math.min(1, Math.max(0, fill));
}
