// A stand-in for `weir serve`, for work on the UI alone: the shapes of the HTTP API with figures that move.
// PORT=9347 node mock/server.mjs [--empty]. Serves dist/ as the binary does, if it is there.
import { createReadStream, existsSync, statSync } from "node:fs";
import http from "node:http";
import { extname, join, normalize } from "node:path";
import { routes } from "./routes.mjs";
import { World } from "./world.mjs";

const DIST = new URL("../dist/", import.meta.url).pathname;
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'";

export function start({ port = 0, empty = false } = {}) {
  const world = new World({ empty });
  const ticker = setInterval(() => world.tick(), 1_000);
  const server = http.createServer((request, response) => void answer(world, request, response));
  server.on("close", () => clearInterval(ticker));
  return new Promise((resolve) =>
    server.listen(port, "127.0.0.1", () =>
      resolve({ server, world, url: `http://127.0.0.1:${server.address().port}` }),
    ),
  );
}

async function answer(world, request, response) {
  const url = new URL(request.url, "http://localhost");
  if (!url.pathname.startsWith("/v1/")) return file(url.pathname, response);
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const call = {
    world,
    request,
    response,
    query: url.searchParams,
    body: Buffer.concat(chunks),
    json: (status, value) => json(response, status, value),
    problem: (status, code, detail, errors = []) => problem(response, status, code, detail, errors),
  };
  const path = url.pathname.slice("/v1".length);
  for (const [method, pattern, handle] of routes) {
    const match = method === request.method ? pattern.exec(path) : null;
    if (match !== null) return handle(call, ...match.slice(1).map(decodeURIComponent));
  }
  problem(response, 404, "no-route", "There is no such path in the API.", []);
}

function json(response, status, value) {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

function problem(response, status, code, detail, errors) {
  response
    .writeHead(status, { "content-type": "application/problem+json" })
    .end(JSON.stringify({ type: `/problems/${code}`, title: http.STATUS_CODES[status], status, code, detail, errors }));
}

function file(path, response) {
  const wanted = join(DIST, normalize(path));
  const found = existsSync(wanted) && statSync(wanted).isFile() ? wanted : join(DIST, "index.html");
  if (!existsSync(found)) return response.writeHead(404).end("Run `npm run build` first, or use `npm run dev`.");
  response.writeHead(200, {
    "content-type": TYPES[extname(found)] ?? "application/octet-stream",
    "content-security-policy": CSP,
  });
  createReadStream(found).pipe(response);
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { url } = await start({ port: Number(process.env.PORT ?? 9347), empty: process.argv.includes("--empty") });
  console.log(`mock of weir on ${url}`);
}
