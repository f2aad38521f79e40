// What the test must know of the pipeline file that it is given: names, topics, and an event that has the key.
import { parse } from "yaml";

export function readPipelineFile(text) {
  const spec = parse(text);
  const [source] = Object.entries(spec.sources);
  const [operator] = Object.entries(spec.operators);
  const sink = Object.entries(spec.sinks ?? {}).find(([, { topic }]) => topic !== undefined);
  return {
    name: spec.pipeline,
    source: source[0],
    sourceTopic: source[1].topic,
    operator: operator[0],
    sinkTopic: sink?.[1].topic,
    /** An event with this text at the operator's key. */
    event: (key) => ({ ...JSON.parse(process.env.WEIR_RECORD ?? "{}"), ...atPointer(operator[1].key ?? "/key", key) }),
  };
}

/** {"a":{"b":value}} for the pointer /a/b. */
function atPointer(pointer, value) {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduceRight((inner, name) => ({ [name]: inner }), value);
}
