// Runs before the first paint, so that a chosen theme does not flash. The rest is in src/app/theme.ts.
{
  let chosen = null;
  try {
    chosen = localStorage.getItem("weir.theme");
  } catch {
    // Storage may be blocked; then the system's theme is used.
  }
  const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}
