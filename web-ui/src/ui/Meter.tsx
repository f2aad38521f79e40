/** A share from 0 to 1 as a thin bar. */
import { percent } from "./format";

export function Meter({ share, label }: { share: number; label: string }) {
  const colour = share >= 0.9 ? "bg-bad" : share >= 0.6 ? "bg-warn" : "bg-flow";
  return (
    <div
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
      aria-valuetext={percent(share)}
      className="h-1 w-full overflow-hidden rounded-full bg-sunken"
    >
      <div
        className={`h-full rounded-full transition-[width] duration-700 ${colour}`}
        style={{ width: percent(Math.min(1, share)) }}
      />
    </div>
  );
}
