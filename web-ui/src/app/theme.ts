/** Light or dark: the system's choice until the user makes one. public/theme.js applies it before the first paint. */
import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark";

const KEY = "weir.theme";
const listeners = new Set<() => void>();
const system = matchMedia("(prefers-color-scheme: dark)");

system.addEventListener("change", () => {
  if (chosen() === null) apply(system.matches ? "dark" : "light");
});

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, current);
}

export function toggleTheme(): void {
  const next = current() === "dark" ? "light" : "dark";
  try {
    // Back at the system's theme, follow the system again.
    if ((next === "dark") === system.matches) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, next);
  } catch {
    // Storage may be blocked; the choice then lasts until the reload.
  }
  apply(next);
}

function current(): Theme {
  return document.documentElement.dataset["theme"] === "dark" ? "dark" : "light";
}

function chosen(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function apply(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
