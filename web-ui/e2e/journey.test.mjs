// A user's first journey, in a real browser against a running server: upload a module, deploy a pipeline, send records,
// watch them flow. WEIR_URL: the server; WEIR_MODULE: a .wasm file; WEIR_FILE: a pipeline file that uses it as counter@1.0.0.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { openPage } from "./browser.mjs";
import { readPipelineFile } from "./pipelineFile.mjs";

const { WEIR_URL, WEIR_MODULE, WEIR_FILE } = process.env;
assert.ok(WEIR_URL && WEIR_MODULE && WEIR_FILE, "Set WEIR_URL, WEIR_MODULE and WEIR_FILE.");
const fileText = readFileSync(WEIR_FILE, "utf8");
const pipeline = readPipelineFile(fileText);
const run = Date.now().toString(36);

let page, complaints, close;
before(async () => ({ page, complaints, close } = await openPage(WEIR_URL)));
after(() => close?.());

test("a module is uploaded by the file input, its report is shown, and it is stored", async () => {
  await page.goto("/modules");
  await page.locator("input[type=file]").setInputFiles({
    name: "counter-1.0.0.wasm",
    mimeType: "application/wasm",
    buffer: readFileSync(WEIR_MODULE),
  });
  const card = page.getByRole("article", { name: "counter-1.0.0.wasm" });
  await card.getByText("The module can be used.").waitFor();
  assert.equal(await card.getByRole("textbox", { name: "Name" }).inputValue(), "counter");
  assert.equal(await card.getByRole("textbox", { name: "Version" }).inputValue(), "1.0.0");
  await card.getByRole("button", { name: "Store" }).click();
  await card.getByRole("link", { name: "counter@1.0.0" }).waitFor();
});

test("a mistake in the pipeline file is shown at its line, and nothing can be applied", async () => {
  await page.goto("/deploy");
  await page
    .getByRole("textbox", { name: "Pipeline file" })
    .fill(fileText.replaceAll("counter@1.0.0", "no-such-module@1.0.0"));
  const place = page.getByRole("button", { name: /no-such-module/ }).first();
  await place.waitFor();
  assert.match(await place.innerText(), /line \d+/);
  assert.equal(await page.getByRole("button", { name: "Apply" }).isEnabled(), false);
});

test("the pipeline file is checked, its graph previewed, and applied", async () => {
  await page.getByRole("textbox", { name: "Pipeline file" }).fill(fileText);
  await page.getByText("The file is correct.").waitFor();
  await page.locator(`.react-flow__node[data-id="${pipeline.operator}"]`).waitFor();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.waitForURL(`**/pipelines/${pipeline.name}`);
  await page.getByText("running", { exact: true }).waitFor();
});

test("the zoom buttons lie beside the graph, not on its nodes", async () => {
  const [buttons, graph] = await Promise.all(
    [".react-flow__controls", ".react-flow"].map((part) => page.locator(part).boundingBox()),
  );
  assert.ok(buttons.y + buttons.height <= graph.y, JSON.stringify({ buttons, graph }));
});

test("the figures of the graph rise with the records that are sent, without a reload", async () => {
  await page.evaluate(() => (window.notReloaded = true));
  await page.locator(`.react-flow__node a[href$="/operators/${pipeline.operator}"]`).waitFor();
  const before = await recordsOf(pipeline.operator);
  const records = Array.from({ length: 200 }, (_, i) => ({ value: pipeline.event(`e2e-${run}-${i % 20}`) }));
  const sent = await fetch(`${WEIR_URL}/v1/topics/${pipeline.sourceTopic}/records`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(records),
  });
  assert.equal(sent.status, 200);
  await page.waitForFunction(
    ([id, wanted]) =>
      Number(document.querySelector(`tr[data-node="${id}"] [data-figure=records]`)?.textContent.replaceAll(",", "")) >=
      wanted,
    [pipeline.operator, before + records.length],
  );
  assert.equal(await page.evaluate(() => window.notReloaded), true);
});

test("no text of the graph is smaller than 12 pixels on a small screen", async () => {
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.waitForFunction(() => {
    const scale = new DOMMatrix(getComputedStyle(document.querySelector(".react-flow__viewport")).transform).a;
    const texts = [...document.querySelectorAll(".react-flow__node span")];
    return texts.length > 0 && texts.every((text) => parseFloat(getComputedStyle(text).fontSize) * scale >= 12);
  });
});

test("a node opens its panel at a URL of its own, and its state shows the keys", async () => {
  await page.locator(`.react-flow__node a[href$="/operators/${pipeline.operator}"]`).click();
  await page.waitForURL(`**/pipelines/${pipeline.name}/operators/${pipeline.operator}`);
  await page.getByRole("tab", { name: "State" }).click();
  await page.getByRole("searchbox", { name: "Keys that begin with" }).fill(`e2e-${run}-1`);
  await page.getByRole("button", { name: new RegExp(`e2e-${run}-1\\b`) }).click();
  await page.locator("dl, figure").last().waitFor();
});

test("the audit says that nothing was lost", async () => {
  await page.getByRole("link", { name: "Audit" }).click();
  await page.getByText("Balanced", { exact: true }).first().waitFor();
});

test("an audit that does not add up is an alert with the operator and its figures, and a badge in the list", async () => {
  const { name, operator } = pipeline;
  await changed(`/v1/pipelines/${name}/audit`, (audit) => {
    const row = audit.operators.find(({ id }) => id === operator);
    Object.assign(row, { taken: row.taken + 2, balanced: false });
    audit.balanced = false;
  });
  await changed("/v1/pipelines", ({ pipelines }) => {
    pipelines.find((row) => row.name === name).balanced = false;
  });
  await page.goto(`/pipelines/${name}/audit`);
  await page
    .getByRole("alert")
    .getByText(new RegExp(`Operator ${operator}: taken .* 2 are missing`))
    .waitFor();
  await page.goto("/");
  await page.getByRole("link", { name: "not balanced" }).click();
  await page.waitForURL(`**/pipelines/${name}/audit`);
  await page.unrouteAll({ behavior: "wait" });
});

test("a record sent on the topic's page appears in its tail", async () => {
  await page.goto(`/topics/${pipeline.sourceTopic}`);
  await page.getByText(/^Following/).waitFor();
  const key = `e2e-${run}-typed`;
  await page.getByRole("textbox", { name: "Value" }).fill(JSON.stringify(pipeline.event(key)));
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText(/^Stored in partition/).waitFor();
  await page.getByRole("list", { name: "Records, newest first" }).getByText(key).first().waitFor();
});

test(
  "what the pipeline wrote is in the tail of its sink's topic",
  { skip: pipeline.sinkTopic === undefined },
  async () => {
    await page.goto(`/topics/${pipeline.sinkTopic}`);
    await page.getByRole("button", { name: /From/ }).click();
    await page.getByRole("option", { name: "the beginning" }).click();
    await page.getByRole("list", { name: "Records, newest first" }).getByRole("listitem").first().waitFor();
  },
);

test("no page complained and no request left the host", () => {
  assert.deepEqual(complaints, []);
});

/** Lets the page see the server's answer as `change` leaves it. */
async function changed(path, change) {
  await page.route(
    (url) => url.pathname === path,
    async (route) => {
      const body = await (await route.fetch()).json();
      change(body);
      await route.fulfill({ json: body });
    },
  );
}

/** The total in the node's row. */
async function recordsOf(id) {
  const text = await page.locator(`tr[data-node="${id}"] [data-figure=records]`).innerText();
  return Number(text.replaceAll(",", ""));
}
