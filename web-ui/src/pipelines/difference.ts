/** What changed between two texts, line by line: the longest common subsequence stays. Pure. */

export interface Line {
  text: string;
  change: "kept" | "added" | "removed";
}

export function difference(before: string, after: string): Line[] {
  const [a, b] = [linesOf(before), linesOf(after)];
  const common = commonLengths(a, b);
  const at = (i: number, j: number) => common[i]?.[j] ?? 0;
  const lines: Line[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    const [old, now] = [a[i], b[j]];
    if (old !== undefined && old === now) {
      lines.push({ text: old, change: "kept" });
      i += 1;
      j += 1;
    } else if (old !== undefined && (now === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ text: old, change: "removed" });
      i += 1;
    } else {
      lines.push({ text: now ?? "", change: "added" });
      j += 1;
    }
  }
  return lines;
}

/** Of what is left from line i of the one and line j of the other, how many lines are common. */
function commonLengths(a: string[], b: string[]): number[][] {
  const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    const [row, next] = [table[i] ?? [], table[i + 1] ?? []];
    for (let j = b.length - 1; j >= 0; j--) {
      row[j] = a[i] === b[j] ? (next[j + 1] ?? 0) + 1 : Math.max(next[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return table;
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, "").split("\n");
}
