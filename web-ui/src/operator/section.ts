/**
 * The lines of a pipeline file that define one node, for display. It reads indentation only: a node
 * is an entry one level under `sources`, `operators` or `sinks`. A JSON file has no such lines.
 */

export function sectionOf(file: string, id: string): string | undefined {
  const lines = file.split("\n");
  let group = false;
  let indent: number | undefined;
  for (const [i, line] of lines.entries()) {
    if (/^\S/.test(line)) {
      group = /^(sources|operators|sinks)\s*:/.test(line);
      indent = undefined;
      continue;
    }
    const margin = /^( +)[^\s#]/.exec(line)?.[1]?.length;
    if (!group || margin === undefined) continue;
    indent ??= margin;
    if (margin === indent && nameOf(line) === id) return dedent([line, ...body(lines.slice(i + 1), indent)], indent);
  }
  return undefined;
}

function nameOf(line: string): string | undefined {
  const match = /^\s*(?:"([^"]+)"|'([^']+)'|([^\s:]+))\s*:/.exec(line);
  return match?.[1] ?? match?.[2] ?? match?.[3];
}

/** The lines that are further in than `indent`, with blank ones between but not after them. */
function body(lines: string[], indent: number): string[] {
  const end = lines.findIndex((line) => line.trim() !== "" && line.search(/\S/) <= indent);
  const own = end === -1 ? lines : lines.slice(0, end);
  while (own.at(-1)?.trim() === "") own.pop();
  return own;
}

function dedent(lines: string[], indent: number): string {
  return lines.map((line) => line.slice(indent)).join("\n");
}
