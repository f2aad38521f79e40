// The state of the mock: modules, topics, pipelines, and a tick that moves the figures once a second.
import { createHash } from "node:crypto";
import { plan } from "./graph.mjs";

const DAY = 86_400_000;

export const ORDER_FILE = `pipeline: order-fulfilment

sources:
  orders:
    topic: orders
    from: earliest
    timestamp: /created_at
    watermark: { bound: 5s, idle: 30s }
  restock: { topic: restock }

operators:
  order:
    module: order@1.0.0
    input: orders
    handler: place
    key: /order_id
    parallelism: 2
    concurrency: 1024
    retry: { attempts: 10, first: 50ms, max: 60s, then: dead-letter }
  inventory:
    module: inventory@1.0.0
    input: restock
    handler: restock
    key: /sku
    parallelism: 2
  payment: { module: payment@1.2.0, key: /customer_id }
  shipping:
    module: shipping@1.0.0
    input: order.confirmed
    key: /order_id

sinks:
  shipments: { topic: shipments, input: shipping.out }
  rejections: { topic: rejections, input: order.rejected }
`;

const EXTRA = [
  ["clickstream-sessions", "running", 3],
  ["nightly-report", "finished", 1],
  ["fraud-screening", "paused", 12],
  ["tax-export", "failed", 2],
];

export class World {
  modules = new Map();
  topics = new Map();
  pipelines = new Map();
  tailers = new Set();
  lifecycleListeners = new Set();
  #lifecycleId = 0;

  constructor({ empty = false, now = () => Date.now() } = {}) {
    this.now = now;
    if (!empty) this.#fill();
  }

  #fill() {
    for (const [name, version, faces] of [
      ["order", "1.0.0", ["descriptor", "handler"]],
      ["inventory", "1.0.0", ["descriptor", "handler"]],
      ["payment", "1.1.0", ["descriptor", "handler"]],
      ["payment", "1.2.0", ["descriptor", "handler"]],
      ["shipping", "1.0.0", ["descriptor", "transform"]],
    ]) {
      const report = this.report(Buffer.from(name + version), faces);
      this.modules.set(`${name}@${version}`, {
        name,
        version,
        digest: report.digest,
        size: report.size,
        created_at: this.now() - DAY,
        language: "Rust",
        faces,
        report,
      });
    }
    for (const name of ["orders", "restock", "shipments", "rejections"]) this.createTopic(name, 4);
    this.deploy("order-fulfilment", ORDER_FILE);
    this.pipelines.get("order-fulfilment").revision = 4;
    for (const [name, status, revision] of EXTRA) {
      this.deploy(
        name,
        `pipeline: ${name}\nsources:\n  in: { topic: orders }\noperators:\n  work: { module: order@1.0.0, input: in, key: /k }\nsinks:\n  out: { topic: shipments, input: work.out }\n`,
      );
      Object.assign(this.pipelines.get(name), { revision, status, quiet: true });
    }
    this.pipelines.get("tax-export").status_reason =
      'Operator “work” stopped: its policy is halt and key "A-7" failed 10 times (tax table missing).';
    for (let i = 0; i < 40; i++) this.tick();
    const letters = this.pipelines.get("order-fulfilment").letters;
    for (let i = 0; i < 5; i++) letters.push(deadLetter(i, this.now() - i * 45_000));
    this.pipelines.get("order-fulfilment").graph.nodes.find(({ id }) => id === "payment").dead_letters = letters.length;
  }

  hasModule = (reference) => this.modules.has(reference);

  report(bytes, faces = ["descriptor", "transform"]) {
    const wasm = bytes.length > 4 && bytes.readUInt32BE(0) === 0x0061736d;
    const seeded = bytes.length < 64;
    const ok = wasm || seeded;
    return {
      ok,
      size: seeded ? 48_213 + bytes.length * 977 : bytes.length,
      digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}`,
      language: ok ? "Rust" : null,
      sdk: ok ? "weir-sdk 0.1.0" : null,
      faces: ok ? faces : [],
      handlers:
        ok && faces.includes("handler")
          ? [
              { name: "place", doc: "Reserves stock, authorizes the payment, confirms or rejects.", read_only: false },
              { name: "status", doc: "Where the order stands.", read_only: true },
            ]
          : [],
      ports: ok
        ? {
            inputs: [
              {
                name: "in",
                schema: {
                  type: "object",
                  required: ["order_id"],
                  properties: { order_id: { type: "string" }, lines: { type: "array" } },
                },
              },
            ],
            outputs: [{ name: "confirmed" }, { name: "rejected" }],
          }
        : { inputs: [], outputs: [] },
      cells: ok
        ? [
            { name: "order", kind: "value", version: 1 },
            { name: "seen", kind: "counter", version: 1 },
          ]
        : [],
      imports: ok
        ? [
            { name: "weir:operator/state@0.1.0", status: "granted", help: "" },
            { name: "weir:operator/calls@0.1.0", status: "granted", help: "" },
            {
              name: "wasi:http/outgoing-handler@0.2.3",
              status: "grantable",
              help: 'Add grants: { http: ["https://…"] } to the operator.',
            },
          ]
        : [],
      memory_floor: ok ? 1_179_648 : null,
      compile_ms: ok ? 84 : null,
      problems: ok
        ? []
        : [
            {
              code: "not-wasm",
              message: "The file does not begin with the magic bytes of WebAssembly.",
              help: "Build it with: weir build. Then upload the .wasm file that it names.",
            },
          ],
    };
  }

  createTopic(name, partitions) {
    if (!this.topics.has(name))
      this.topics.set(name, { name, partitions, records: [], base: 0, bytes: 0, offsets: Array(partitions).fill(0) });
    return this.topics.get(name);
  }

  append(topic, key, value, headers = {}) {
    const partition = [...String(key)].reduce((sum, c) => sum + c.charCodeAt(0), 0) % topic.partitions;
    const record = {
      partition,
      offset: topic.offsets[partition]++,
      timestamp: this.now(),
      key: key ?? null,
      value,
      headers,
    };
    topic.records.push(record);
    topic.bytes += JSON.stringify(value).length + 24;
    if (topic.records.length > 2_000) {
      topic.records.shift();
      topic.base += 1;
    }
    for (const tail of this.tailers) if (tail.topic === topic.name) tail.send(record);
    return record;
  }

  deploy(name, file) {
    const { spec, graph } = plan(file, this.hasModule);
    for (const item of [...Object.values(spec.sources ?? {}), ...Object.values(spec.sinks ?? {})])
      if (item.topic) this.createTopic(item.topic, item.partitions ?? 4);
    const before = this.pipelines.get(name);
    const revision = (before?.revision ?? 0) + 1;
    for (const node of graph.nodes)
      Object.assign(node, pickFigures(before?.graph.nodes.find(({ id }) => id === node.id)));
    this.pipelines.set(name, {
      name,
      revision,
      status: "running",
      status_reason: null,
      file,
      spec,
      graph,
      letters: before?.letters ?? [],
      counts: before?.counts ?? new Map(),
      epoch: before?.epoch ?? 0,
    });
    this.announce(name, "deployed", `revision ${revision} of ${name} is running`);
    return this.pipelines.get(name);
  }

  announce(pipeline, what, message) {
    const event = { id: ++this.#lifecycleId, at: this.now(), pipeline, what, message };
    for (const listener of this.lifecycleListeners) listener(event);
  }

  tick() {
    for (const pipeline of this.pipelines.values()) {
      if (pipeline.status !== "running") continue;
      pipeline.epoch += 5;
      if (pipeline.name === "order-fulfilment") this.#orders(pipeline);
      else if (pipeline.quiet) quietFlow(pipeline, this.now());
    }
  }

  #orders({ graph }) {
    const wave = 400 + 160 * Math.sin(this.now() / 9_000) + Math.random() * 40;
    const n = Math.round(wave);
    const node = (id) => graph.nodes.find((candidate) => candidate.id === id);
    const add = (id, taken, sent, running, busy) => {
      const it = node(id);
      if (it === undefined) return;
      it.records_in += taken;
      it.records_out += sent;
      it.running = Math.round(running);
      it.busy = Math.min(1, busy);
    };
    const rejected = Math.round(n * 0.06);
    const confirmed = n - rejected;
    add("orders", n, n, 0, 0);
    add("restock", 3, 3, 0, 0);
    add("order", n, n, n / 6, n / 900);
    add("inventory", n * 2 + confirmed * 2 + 3, 0, 6, 0.31 + Math.random() * 0.05);
    add("payment", n, 0, 30, 0.55 + Math.random() * 0.4);
    add("shipping", confirmed, confirmed, 2, 0.12);
    add("shipments", confirmed, 0, 0, 0);
    add("rejections", rejected, 0, 0, 0);
    const order = node("order");
    if (order) order.waiting = Math.round(n / 9);
    const payment = node("payment");
    if (payment && Math.random() < 0.25)
      Object.assign(payment, { errors: payment.errors + 1, retries: payment.retries + 1 });
    const flow = {
      orders: n,
      restock: 3,
      "order.confirmed": confirmed,
      "shipping.out": confirmed,
      "order.rejected": rejected,
    };
    for (const edge of graph.edges) {
      const source = edge.port ? `${edge.from}.${edge.port}` : edge.from;
      edge.records += edge.kind === "call" ? (edge.to === "payment" ? n : n * 2) : (flow[source] ?? 0);
      edge.queue_fill =
        edge.kind === "call"
          ? 0
          : source === "orders"
            ? Math.min(1, (n - 220) / 380)
            : source === "order.confirmed"
              ? 0.22
              : 0.03;
    }
    for (let i = 0; i < 4; i++) {
      const id = `o-${100_000 + Math.floor(Math.random() * 9e5)}`;
      const order = {
        order_id: id,
        customer_id: `c-${Math.floor(Math.random() * 500)}`,
        currency: "EUR",
        created_at: this.now(),
        lines: [
          { sku: `SKU-${Math.floor(Math.random() * 40)}`, quantity: 1 + Math.floor(Math.random() * 4), price: 1990 },
        ],
      };
      this.append(this.topics.get("orders"), id, order, { "trace-id": Math.random().toString(16).slice(2, 10) });
      this.append(this.topics.get("shipments"), id, {
        order_id: id,
        warehouse: ["AMS", "LYS", "WAW"][Math.floor(Math.random() * 3)],
        parcels: 1,
        lines: order.lines,
      });
    }
  }

  /** What a deployed counting pipeline does with a record that arrives on a topic that it reads. */
  feed(topicName, record) {
    for (const pipeline of this.pipelines.values()) {
      if (pipeline.status !== "running" || pipeline.quiet || pipeline.name === "order-fulfilment") continue;
      for (const [source, { topic }] of Object.entries(pipeline.spec.sources ?? {}))
        if (topic === topicName) this.#flow(pipeline, source, record);
    }
  }

  #flow(pipeline, from, record) {
    const node = (id) => pipeline.graph.nodes.find((candidate) => candidate.id === id);
    node(from).records_in += node(from).kind === "source" ? 1 : 0;
    for (const edge of pipeline.graph.edges.filter(
      (candidate) => candidate.from === from && candidate.kind === "stream",
    )) {
      const next = node(edge.to);
      node(from).records_out += 1;
      edge.records += 1;
      next.records_in += 1;
      if (next.kind === "sink") {
        const topic = pipeline.spec.sinks[next.id].topic;
        if (topic) this.append(this.topics.get(topic), record.key, record.value);
        continue;
      }
      const key = String(at(record.value, pipeline.spec.operators[next.id].key ?? ""));
      const count = (pipeline.counts.get(key) ?? 0) + 1;
      pipeline.counts.set(key, count);
      this.#flow(pipeline, next.id, { key, value: { key, count } });
    }
  }
}

/** The member of a value that a JSON pointer names. */
function at(value, pointer) {
  return pointer
    .split("/")
    .slice(1)
    .reduce((inner, name) => inner?.[name], value);
}

function pickFigures(node) {
  if (node === undefined) return {};
  const { records_in, records_out, errors, retries, dead_letters } = node;
  return { records_in, records_out, errors, retries, dead_letters };
}

function quietFlow({ graph }, now) {
  const n = Math.round(60 + 40 * Math.sin(now / 4_000) + Math.random() * 20);
  for (const node of graph.nodes) {
    node.records_in += n;
    node.records_out += node.kind === "sink" ? 0 : n;
  }
  for (const edge of graph.edges) edge.records += n;
}

function deadLetter(i, at) {
  return {
    id: `${1000 + i}`,
    operator: "payment",
    handler: "authorize",
    key: `c-${40 + i * 7}`,
    value: { customer_id: `c-${40 + i * 7}`, card: "4000-0000-0000-0119", amount: 12_900 + i * 333, currency: "EUR" },
    headers: { "trace-id": `7fa3b${i}` },
    source: { topic: "orders", partition: i % 4, offset: 18_220 + i },
    module: "payment@1.2.0",
    attempts: 10,
    code: i % 3 === 2 ? "trap" : "handler-error",
    error:
      i % 3 === 2
        ? "wasm trap: unreachable executed"
        : "The card issuer refused the amount: currency table has no rate for XTS.",
    panic: i % 3 === 2 ? "called `Option::unwrap()` on a `None` value, src/lib.rs:88:41" : null,
    backtrace:
      i % 3 === 2
        ? "   0: payment::authorize::{{closure}}\n             at src/lib.rs:88:41\n   1: weir_sdk::invoke\n   2: weir:operator/handler@0.1.0#handle"
        : null,
    calls_done: i % 2 === 0 ? [{ operator: "inventory", handler: "reserve", key: "SKU-12" }] : [],
    at,
  };
}
