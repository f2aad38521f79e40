/** How far long work is; without a value, that it goes on. */
import { Label, ProgressBar } from "react-aria-components";

export function Progress({ label, value }: { label: string; value: number | undefined }) {
  return (
    <ProgressBar value={(value ?? 0) * 100} isIndeterminate={value === undefined} className="flex flex-col gap-1">
      {({ percentage, isIndeterminate }) => (
        <>
          <Label className="text-xs text-ink-2">
            {label}
            {!isIndeterminate && ` ${Math.round(percentage ?? 0)}%`}
          </Label>
          <div className="h-1 overflow-hidden rounded-full bg-sunken">
            <div
              className={`h-full rounded-full bg-accent ${isIndeterminate ? "w-1/3 animate-pulse" : ""}`}
              style={isIndeterminate ? undefined : { width: `${percentage ?? 0}%` }}
            />
          </div>
        </>
      )}
    </ProgressBar>
  );
}
