// Handlers and what they keep: called and sent to from the operator's panel, their state browsed. WEIR_URL: the server;
// the example's inventory.wasm is expected beside WEIR_MODULE.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { openPage } from "./browser.mjs";

const { WEIR_URL, WEIR_MODULE } = process.env;
assert.ok(WEIR_URL && WEIR_MODULE, "Set WEIR_URL and WEIR_MODULE.");
const module = join(dirname(WEIR_MODULE), "inventory.wasm");
const options = { skip: existsSync(module) ? false : `${module} is not there` };
const run = Date.now().toString(36);
const sku = `sku-${run}`;
const LINES = 30;
const file = `pipeline: stock
sources:
  deliveries: { topic: deliveries, partitions: 2 }
operators:
  shelf: { module: inventory@1.0.0, input: deliveries, handler: restock, key: /sku }
`;

let page, complaints, close;
before(async () => {
  if (options.skip) return;
  await post(`/modules?name=inventory&version=1.0.0`, "application/wasm", readFileSync(module));
  await request("PUT", "/pipelines/stock", "application/yaml", file);
  ({ page, complaints, close } = await openPage(WEIR_URL));
});
after(() => close?.());

test("a call from the operator's panel shows the handler's reply", options, async () => {
  await page.goto("/pipelines/stock/operators/shelf");
  await page.getByRole("tab", { name: "Call", exact: true }).click();
  await choose("restock");
  await page.getByRole("textbox", { name: "Argument" }).fill(JSON.stringify({ sku, quantity: 100 }));
  await page.getByRole("button", { name: "Call", exact: true }).click();
  const reply = page.getByRole("figure", { name: "reply of restock" });
  await reply.waitFor();
  assert.match(await reply.innerText(), /^\s*100$/m);
});

test("a call that the handler refuses shows its code and its sentence", options, async () => {
  await choose("ship");
  await page.getByRole("textbox", { name: "Key" }).fill(sku);
  await page
    .getByRole("textbox", { name: "Argument" })
    .fill(JSON.stringify({ sku, order_id: `never-${run}`, line: 0 }));
  await page.getByRole("button", { name: "Call", exact: true }).click();
  const problem = page.getByRole("alert");
  await problem.getByText("unknown-line").waitFor();
  await problem.getByText(/was never reserved/i).waitFor();
});

test("an argument that is not JSON is not sent", options, async () => {
  await page.getByRole("textbox", { name: "Argument" }).fill("{");
  assert.equal(await page.getByRole("button", { name: "Call", exact: true }).isEnabled(), false);
  assert.equal(await page.getByRole("button", { name: "Send", exact: true }).isEnabled(), false);
});

test("a send from the operator's panel shows the invocation that holds it", options, async () => {
  await choose("restock");
  await page.getByRole("textbox", { name: "Argument" }).fill(JSON.stringify({ sku, quantity: 1 }));
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByText(/^restock has it: inv_/).waitFor();
});

test("the state of a key has plain cells first, by name, and a long map opens on a click", options, async () => {
  await Promise.all(
    Array.from({ length: LINES }, (_, line) =>
      post("/call/stock/shelf/reserve", "application/json", JSON.stringify({ sku, order_id: run, line, quantity: 1 })),
    ),
  );
  await page.getByRole("tab", { name: "State" }).click();
  await page.getByRole("searchbox", { name: "Keys that begin with" }).fill(sku);
  const row = page.getByRole("button", { name: new RegExp(`${sku}.*lines: ${LINES} entries`) });
  await row.waitFor();
  assert.match(await row.innerText(), /received: .*reserved: .*stock: .*lines: /s);
  await row.click();
  await page.getByRole("term").first().waitFor();
  const names = await page.locator("aside dt").allInnerTexts();
  assert.deepEqual(names, [...names].sort());
  assert.equal(names.includes("lines"), false);
  await page.getByText(`lines: ${LINES} entries`).click();
  await page.getByRole("figure", { name: "lines" }).getByText(`${run}/0`).waitFor();
});

test("the revisions say what is deployed", options, async () => {
  await page.getByRole("link", { name: "Revisions" }).click();
  await page.getByText("current", { exact: true }).waitFor();
});

test("the module of a deployed pipeline cannot be deleted", options, async () => {
  await page.goto("/modules/inventory/1.0.0");
  await page.getByText("In use, so it cannot be deleted").waitFor();
  assert.equal(await page.getByRole("button", { name: "Delete" }).isEnabled(), false);
});

test("no page complained and no request left the host", options, () => {
  assert.deepEqual(complaints, []);
});

async function choose(handler) {
  await page.getByRole("button", { name: /Handler/ }).click();
  await page.getByRole("option", { name: handler, exact: true }).click();
}

function post(path, type, body) {
  return request("POST", path, type, body);
}

async function request(method, path, type, body) {
  const response = await fetch(`${WEIR_URL}/v1${path}`, { method, headers: { "content-type": type }, body });
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${await response.text()}`);
}
