// Plans: from the text of a pipeline file to a graph, or to diagnostics with their lines. Only as much as the UI needs.
import { LineCounter, isMap, parseDocument } from "yaml";

const CALLS = {
  order: [
    ["inventory", "reserve"],
    ["payment", "authorize"],
  ],
  shipping: [["inventory", "ship"]],
};

export function plan(file, hasModule) {
  const lines = new LineCounter();
  const doc = parseDocument(file, { lineCounter: lines });
  const at = (path) => {
    const node = path.length === 0 ? doc.contents : doc.getIn(path, true);
    const { line, col } = lines.linePos(node?.range?.[0] ?? 0);
    return { line, column: col, path: path.join(".") };
  };
  const errors = doc.errors.map((error) => ({
    line: error.linePos?.[0].line ?? 1,
    column: error.linePos?.[0].col ?? 1,
    path: "",
    code: "yaml",
    message: error.message.split("\n")[0],
    help: "Mend the YAML first; the rest is checked once it can be read.",
  }));
  if (errors.length > 0 || !isMap(doc.contents)) return { errors };

  const spec = doc.toJS();
  const nodes = [];
  const edges = [];
  for (const [id, source] of Object.entries(spec.sources ?? {})) {
    if (source?.topic === undefined)
      errors.push({
        ...at(["sources", id]),
        code: "no-topic",
        message: `Source “${id}” reads no topic.`,
        help: "Add topic: NAME.",
      });
    nodes.push(node(id, "source"));
  }
  for (const [id, operator] of Object.entries(spec.operators ?? {})) {
    if (operator?.module !== undefined && !hasModule(operator.module)) {
      errors.push({
        ...at(["operators", id, "module"]),
        code: "no-module",
        message: `There is no module ${operator.module}.`,
        help: "Upload it on the Modules page, or correct its name and version.",
      });
    }
    nodes.push({
      ...node(id, "operator"),
      module: operator?.module,
      handler: operator?.handler,
      parallelism: operator?.parallelism ?? 1,
    });
  }
  for (const id of Object.keys(spec.sinks ?? {})) nodes.push(node(id, "sink"));

  const known = new Set(nodes.map(({ id }) => id));
  for (const group of ["operators", "sinks"]) {
    for (const [id, item] of Object.entries(spec[group] ?? {})) {
      if (item?.input === undefined) continue;
      const [from, port] = item.input.split(".");
      if (!known.has(from))
        errors.push({
          ...at([group, id, "input"]),
          code: "unknown-input",
          message: `“${from}” is not a source or operator of this file.`,
          help: `Known are: ${[...known].join(", ")}.`,
        });
      edges.push({ id: `${item.input}->${id}`, from, to: id, port, kind: "stream", records: 0, queue_fill: 0 });
    }
  }
  for (const [from, calls] of Object.entries(CALLS)) {
    for (const [to, port] of calls) {
      if (known.has(from) && known.has(to))
        edges.push({ id: `${from}=>${to}.${port}`, from, to, port, kind: "call", records: 0, queue_fill: 0 });
    }
  }
  return { name: spec.pipeline, spec, errors, graph: { nodes, edges } };
}

function node(id, kind) {
  return {
    id,
    kind,
    module: null,
    handler: null,
    parallelism: 1,
    records_in: 0,
    records_out: 0,
    errors: 0,
    retries: 0,
    dead_letters: 0,
    waiting: 0,
    running: 0,
    busy: 0,
  };
}
