/** A sentence of the server: what stands in backticks is shown as code. */

export function Prose({ text }: { text: string }) {
  return <>{partsOf(text).map((part, i) => (part.code ? <Inline key={i} text={part.text} /> : part.text))}</>;
}

function Inline({ text }: { text: string }) {
  return <code className="rounded bg-ink/8 px-1 font-mono text-[0.92em] break-words">{text}</code>;
}

/** The sentence cut at its backticks; one without a partner stays as it is. */
export function partsOf(text: string): { text: string; code: boolean }[] {
  return text
    .split(/(`[^`]+`)/)
    .filter((part) => part !== "")
    .map((part) => (/^`[^`]+`$/.test(part) ? { text: part.slice(1, -1), code: true } : { text: part, code: false }));
}
