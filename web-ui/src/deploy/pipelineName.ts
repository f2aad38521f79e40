/** The name that a pipeline file gives itself, in YAML (`pipeline: name`) or JSON (`"pipeline": "name"`). */

export function pipelineName(file: string): string | undefined {
  const match = /^(?:pipeline|"pipeline"|'pipeline')[ \t]*:[ \t]*(?:"([^"]+)"|'([^']+)'|([^\s#"',{}]+))/m.exec(file);
  const yaml = match?.[1] ?? match?.[2] ?? match?.[3];
  if (yaml !== undefined) return yaml;
  return /"pipeline"\s*:\s*"([^"]+)"/.exec(file)?.[1];
}
