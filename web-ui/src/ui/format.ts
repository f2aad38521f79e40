/** Numbers, sizes and times as short text. All widths stay small, so that live figures do not jump about. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** 12,345 up to 99,999, then 123K, 4.56M. */
export function count(n: number): string {
  return Math.abs(n) < 100_000 ? whole.format(n) : short.format(n);
}

/** The number in full, for tables that are read closely. */
export function exactCount(n: number): string {
  return whole.format(n);
}

/** Records per second without the unit: 0, 0.4, 12, 1,234, 45.6K. */
export function rate(perSecond: number | undefined): string {
  if (perSecond === undefined) return "–";
  if (perSecond === 0) return "0";
  if (perSecond < 0.1) return "<0.1";
  if (perSecond < 9.95) return perSecond.toFixed(1);
  return perSecond < 10_000 ? whole.format(perSecond) : short.format(perSecond);
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(n: number): string {
  let size = n;
  let unit = 0;
  while (size >= 1024 && unit < UNITS.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 || size >= 100 ? whole.format(size) : size.toFixed(1)} ${UNITS[unit] ?? ""}`;
}

export function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

const clock = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
});
const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });
const date = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** 14:03:05.120, for what happens now; with the day in front if that is another than today. */
export function time(ms: number, now = Date.now()): string {
  if (!isTime(ms)) return String(ms);
  return day.format(ms) === day.format(now) ? clock.format(ms) : `${day.format(ms)}, ${clock.format(ms)}`;
}

/** 1 Dec 2026, 14:03 */
export function dateTime(ms: number): string {
  return isTime(ms) ? date.format(ms) : String(ms);
}

/** The whole instant in UTC, for tooltips. */
export function iso(ms: number): string {
  return isTime(ms) ? new Date(ms).toISOString() : String(ms);
}

/** Whether `Date` can hold it; an event time may be any 64-bit number. */
function isTime(ms: number): boolean {
  return Math.abs(ms) <= 8.64e15;
}

export function digest(full: string): string {
  return full.replace(/^sha256:/, "").slice(0, 12);
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
