// The paths of the API that the UI uses. Each handler gets the call and the decoded parts of its path.
import { plan } from "./graph.mjs";
import { openStream, write } from "./sse.mjs";

const pipelineOf = (call, name) => {
  const pipeline = call.world.pipelines.get(name);
  if (pipeline === undefined)
    call.problem(404, "no-pipeline", `There is no pipeline “${name}”. GET /v1/pipelines lists those that are there.`);
  return pipeline;
};

const sum = (pipeline, field, kind) =>
  pipeline.graph.nodes.reduce((total, node) => total + (kind === undefined || node.kind === kind ? node[field] : 0), 0);

function listPipelines({ world, json }) {
  const pipelines = [...world.pipelines.values()].map((pipeline) => ({
    name: pipeline.name,
    revision: pipeline.revision,
    status: pipeline.status,
    records_in: sum(pipeline, "records_in", "source"),
    records_out: sum(pipeline, "records_in", "sink"),
    errors: sum(pipeline, "errors"),
    dead_letters: sum(pipeline, "dead_letters"),
  }));
  json(200, { pipelines, next: null });
}

function getPipeline(call, name) {
  const pipeline = pipelineOf(call, name);
  if (pipeline === undefined) return;
  const { revision, status, status_reason, file, graph } = pipeline;
  call.json(200, { name, revision, status, status_reason, file, graph });
}

function putPipeline({ world, body, query, json, problem }, name) {
  const file = body.toString();
  const planned = plan(file, world.hasModule);
  if (planned.errors.length > 0)
    return problem(
      422,
      "bad-pipeline",
      `The file has ${planned.errors.length} problems; nothing was deployed.`,
      planned.errors,
    );
  const dryRun = query.get("dry_run") === "true";
  const before = world.pipelines.get(name)?.revision ?? 0;
  if (!dryRun) world.deploy(name, file);
  json(dryRun || before > 0 ? 200 : 201, { name, revision: before + 1, plan: { graph: planned.graph }, warnings: [] });
}

/** The mock keeps no old revisions. */
function listRevisions(call, name) {
  const pipeline = pipelineOf(call, name);
  if (pipeline === undefined) return;
  const { revision, file, graph } = pipeline;
  const modules = graph.nodes.flatMap((node) => node.module ?? []);
  call.json(200, { revisions: [{ revision, created_at: call.world.now(), current: true, modules, file }] });
}

function invoke(call, name, operator, handler) {
  if (pipelineOf(call, name) === undefined) return;
  call.response.setHeader("x-weir-invocation", "inv_mock");
  call.json(200, { operator, handler, key: call.query.get("key"), argument: JSON.parse(call.body.toString()) });
}

function sendTo(call, name) {
  if (pipelineOf(call, name) !== undefined) call.json(202, { invocation: "inv_mock" });
}

const STATUS_AFTER = { pause: "paused", resume: "running", stop: "stopped" };

function command(call, name, what) {
  const pipeline = pipelineOf(call, name);
  if (pipeline === undefined) return;
  pipeline.status = STATUS_AFTER[what];
  call.world.announce(name, pipeline.status, `${name} is ${pipeline.status}`);
  call.json(200, { name, status: pipeline.status });
}

function deletePipeline(call, name) {
  const pipeline = pipelineOf(call, name);
  if (pipeline === undefined) return;
  if (pipeline.status === "running") return call.problem(409, "still-running", "Stop the pipeline before deleting it.");
  call.world.pipelines.delete(name);
  call.response.writeHead(204).end();
}

function audit(call, name) {
  const pipeline = pipelineOf(call, name);
  if (pipeline === undefined) return;
  const { nodes, edges } = pipeline.graph;
  call.json(200, {
    balanced: true,
    epoch: pipeline.epoch,
    operators: nodes
      .filter((node) => node.kind === "operator")
      .map((node) => ({
        id: node.id,
        taken: node.records_in,
        ended: node.records_in - node.waiting - node.dead_letters,
        filtered: 0,
        skipped: 0,
        dead_lettered: node.dead_letters,
        late: 0,
        shed: 0,
        waiting: node.waiting,
        balanced: true,
      })),
    edges: edges
      .filter((edge) => edge.kind === "stream")
      .map(({ from, to, port, records }) => ({
        from,
        to,
        port,
        sent: records,
        taken: records,
        queued: 0,
        balanced: true,
      })),
    sources: nodes
      .filter((node) => node.kind === "source")
      .map((node) => ({
        id: node.id,
        position: [{ partition: 0, offset: node.records_in, start: 0 }],
        taken: node.records_in,
        balanced: true,
      })),
  });
}

function deadLetters(call, name) {
  const pipeline = pipelineOf(call, name);
  if (pipeline === undefined) return;
  const operator = call.query.get("operator");
  call.json(200, {
    dead_letters: pipeline.letters.filter((letter) => operator === null || letter.operator === operator),
    next: null,
  });
}

function discard(call, name, id) {
  const pipeline = pipelineOf(call, name);
  if (pipeline === undefined) return;
  pipeline.letters = pipeline.letters.filter((letter) => letter.id !== id);
  call.response.writeHead(204).end();
}

function stateRows(pipeline, operator) {
  if (operator === "inventory") {
    return Array.from({ length: 40 }, (_, i) => ({
      key: `SKU-${i}`,
      cells: { received: 5_000, stock: 3_200 - i * 17, reserved: 12 + i, shipped: 1_788 + i * 16 },
    }));
  }
  return [...pipeline.counts].map(([key, count]) => ({ key, cells: { count } }));
}

function listState(call, name, operator) {
  const pipeline = pipelineOf(call, name);
  if (pipeline === undefined) return;
  const prefix = call.query.get("prefix") ?? "";
  call.json(200, { keys: stateRows(pipeline, operator).filter(({ key }) => key.startsWith(prefix)), next: null });
}

function getState(call, name, operator, key) {
  const pipeline = pipelineOf(call, name);
  if (pipeline === undefined) return;
  const row = stateRows(pipeline, operator).find((candidate) => candidate.key === key);
  if (row === undefined) return call.problem(404, "no-key", `Operator “${operator}” holds no state for that key.`);
  call.json(200, row);
}

function listModules({ world, json }) {
  const summaries = [...world.modules.values()].map((module) => ({ ...module, report: undefined }));
  json(200, { modules: summaries, next: null });
}

function getModule({ world, json, problem }, name, version) {
  const module = world.modules.get(`${name}@${version}`);
  if (module === undefined) return problem(404, "no-module", `There is no module ${name}@${version}.`);
  json(200, module);
}

function deleteModule({ world, response }, name, version) {
  world.modules.delete(`${name}@${version}`);
  response.writeHead(204).end();
}

function storeModule({ world, query, body, json, problem }) {
  const [name, version] = [query.get("name"), query.get("version")];
  const report = world.report(body);
  if (!report.ok)
    return problem(422, "bad-module", "The module cannot be stored; the report says why.", report.problems);
  const before = world.modules.get(`${name}@${version}`);
  if (before !== undefined && before.digest !== report.digest)
    return problem(
      409,
      "version-taken",
      `${name}@${version} is stored with other bytes. Choose another version; modules never change.`,
    );
  world.modules.set(`${name}@${version}`, {
    name,
    version,
    digest: report.digest,
    size: report.size,
    created_at: world.now(),
    language: report.language,
    faces: report.faces,
    report,
  });
  json(before === undefined ? 201 : 200, { name, version, digest: report.digest, report });
}

const topicShape = ({ name, partitions, records, base, bytes }) => ({
  name,
  partitions,
  records: base + records.length,
  bytes,
});

function topicOf({ world, problem }, name) {
  const topic = world.topics.get(name);
  if (topic === undefined)
    problem(404, "no-topic", `There is no topic “${name}”. Create it with PUT /v1/topics/${name}.`);
  return topic;
}

function getTopic(call, name) {
  const topic = topicOf(call, name);
  if (topic !== undefined) call.json(200, topicShape(topic));
}

function putTopic({ world, body, json }, name) {
  json(201, topicShape(world.createTopic(name, JSON.parse(body.toString() || "{}").partitions ?? 4)));
}

function readRecords(call, name) {
  const topic = topicOf(call, name);
  if (topic === undefined) return;
  if (!(call.request.headers.accept ?? "").includes("text/event-stream")) {
    return call.json(200, { records: topic.records.slice(0, Number(call.query.get("limit") ?? 100)), next: null });
  }
  const close = openStream(call.response);
  const send = (record) => write(call.response, { id: `${record.partition}:${record.offset}`, data: record });
  if (call.query.get("from") === "earliest") topic.records.forEach(send);
  const tail = { topic: name, send };
  call.world.tailers.add(tail);
  close(() => call.world.tailers.delete(tail));
}

function appendRecords(call, name) {
  const topic = topicOf(call, name);
  if (topic === undefined) return;
  const records = JSON.parse(call.body.toString()).map(({ key, value, headers }) => {
    const record = call.world.append(topic, key, value, headers);
    call.world.feed(name, record);
    return { partition: record.partition, offset: record.offset };
  });
  call.json(200, { records });
}

function live({ world, response }) {
  const close = openStream(response);
  const send = () => {
    const pipelines = [...world.pipelines.values()].map(({ name, status, revision, graph }) => ({
      name,
      status,
      revision,
      nodes: graph.nodes,
      edges: graph.edges,
    }));
    write(response, { event: "figures", data: { at: world.now(), pipelines } });
  };
  const lifecycle = (event) => write(response, { event: "lifecycle", id: event.id, data: event });
  send();
  const timer = setInterval(send, 1_000);
  world.lifecycleListeners.add(lifecycle);
  close(() => {
    clearInterval(timer);
    world.lifecycleListeners.delete(lifecycle);
  });
}

export const routes = [
  ["GET", /^\/live$/, live],
  ["GET", /^\/pipelines$/, listPipelines],
  ["GET", /^\/pipelines\/([^/]+)$/, getPipeline],
  ["PUT", /^\/pipelines\/([^/]+)$/, putPipeline],
  ["DELETE", /^\/pipelines\/([^/]+)$/, deletePipeline],
  ["POST", /^\/pipelines\/([^/]+)\/(pause|resume|stop)$/, command],
  ["GET", /^\/pipelines\/([^/]+)\/revisions$/, listRevisions],
  ["POST", /^\/call\/([^/]+)\/([^/]+)\/([^/]+)$/, invoke],
  ["POST", /^\/send\/([^/]+)\/([^/]+)\/([^/]+)$/, sendTo],
  ["GET", /^\/pipelines\/([^/]+)\/audit$/, audit],
  ["GET", /^\/pipelines\/([^/]+)\/dead-letters$/, deadLetters],
  ["POST", /^\/pipelines\/([^/]+)\/dead-letters\/([^/]+)\/discard$/, discard],
  ["GET", /^\/pipelines\/([^/]+)\/operators\/([^/]+)\/state$/, listState],
  ["GET", /^\/pipelines\/([^/]+)\/operators\/([^/]+)\/state\/([^/]+)$/, getState],
  ["GET", /^\/modules$/, listModules],
  ["POST", /^\/modules\/check$/, ({ world, body, json }) => json(200, world.report(body))],
  ["POST", /^\/modules$/, storeModule],
  ["GET", /^\/modules\/([^/]+)\/([^/]+)$/, getModule],
  ["DELETE", /^\/modules\/([^/]+)\/([^/]+)$/, deleteModule],
  [
    "GET",
    /^\/topics$/,
    ({ world, json }) => json(200, { topics: [...world.topics.values()].map(topicShape), next: null }),
  ],
  ["GET", /^\/topics\/([^/]+)$/, getTopic],
  ["PUT", /^\/topics\/([^/]+)$/, putTopic],
  ["GET", /^\/topics\/([^/]+)\/records$/, readRecords],
  ["POST", /^\/topics\/([^/]+)\/records$/, appendRecords],
];
