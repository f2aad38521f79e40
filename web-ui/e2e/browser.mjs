// A Chromium with a page that fails the test for anything a user would not want: errors in the console, requests to other hosts.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const ARGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const CANDIDATES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** How long a condition may take to come true. */
export const DEADLINE_MS = 30_000;

export async function openPage(base) {
  const executablePath = process.env.CHROMIUM ?? CANDIDATES.find(existsSync);
  if (executablePath === undefined) throw new Error("No Chromium was found; install it or set CHROMIUM to its path.");
  const browser = await chromium.launch({ executablePath, args: ARGS });
  const context = await browser.newContext({ baseURL: base, viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(DEADLINE_MS);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(`uncaught: ${error.message}`));
  page.on("console", (message) => {
    // A failed request is judged by what the page makes of it, not by the line that Chromium logs.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      complaints.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith("http") && url.origin !== new URL(base).origin)
      complaints.push(`request to ${url.origin}`);
  });
  return { page, complaints, close: () => browser.close() };
}
