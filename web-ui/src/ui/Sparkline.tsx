/** A small line of recent rates. Decorative: the figure beside it says the same in text. */

const WIDTH = 120;
const HEIGHT = 24;

export function Sparkline({ points, slots = 120 }: { points: number[]; slots?: number }) {
  if (points.length < 2) return <svg aria-hidden width={WIDTH} height={HEIGHT} />;
  const peak = Math.max(...points, 1e-9);
  const x = (i: number) => WIDTH - ((points.length - 1 - i) * WIDTH) / (slots - 1);
  const y = (value: number) => HEIGHT - 2 - (value / peak) * (HEIGHT - 4);
  const line = points.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  return (
    <svg aria-hidden width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} className="text-flow">
      <polygon points={`${x(0).toFixed(1)},${HEIGHT} ${line} ${WIDTH},${HEIGHT}`} fill="currentColor" opacity={0.14} />
      <polyline points={line} fill="none" stroke="currentColor" strokeWidth={1.25} strokeLinejoin="round" />
    </svg>
  );
}
