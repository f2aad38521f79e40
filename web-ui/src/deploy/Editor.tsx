/** A text area with line numbers. Lines with a diagnostic are marked in the margin; Tab leaves the field, as everywhere. */
import { useImperativeHandle, useRef, type Ref } from "react";
import type { Diagnostic } from "../api/types";

const LINE = 20;
const PADDING = 10;

export interface EditorHandle {
  /** Puts the cursor at a place; both count from 1. */
  goTo: (line: number, column: number) => void;
}

interface EditorProps {
  ref: Ref<EditorHandle>;
  text: string;
  onChange: (text: string) => void;
  diagnostics: Diagnostic[];
}

export function Editor({ ref, text, onChange, diagnostics }: EditorProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const margin = useRef<HTMLDivElement>(null);
  const lines = text.split("\n");
  const marked = new Set(diagnostics.map((diagnostic) => diagnostic.line));

  useImperativeHandle(ref, () => ({
    goTo(line, column) {
      const field = area.current;
      if (field === null) return;
      const before = field.value.split("\n").slice(0, line - 1);
      const offset = before.reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
      field.focus();
      field.setSelectionRange(offset, offset);
      field.scrollTop = Math.max(0, (line - 6) * LINE);
    },
  }));

  return (
    <div className="flex h-full min-h-64 overflow-hidden bg-surface font-mono text-xs focus-within:outline-2 focus-within:-outline-offset-2 focus-within:outline-accent">
      <div
        ref={margin}
        aria-hidden
        className="overflow-hidden border-r border-line bg-sunken text-right text-ink-3 select-none"
        style={{ paddingBlock: PADDING }}
      >
        {lines.map((_, i) => (
          <div
            key={i}
            className={`pr-2 pl-3 ${marked.has(i + 1) ? "bg-bad-soft font-medium text-bad" : ""}`}
            style={{ height: LINE, lineHeight: `${LINE}px` }}
          >
            {i + 1}
          </div>
        ))}
        <div style={{ height: "100%" }} />
      </div>
      <textarea
        ref={area}
        aria-label="Pipeline file"
        aria-describedby="diagnostics"
        value={text}
        onChange={(event) => onChange(event.target.value)}
        onScroll={(event) => {
          if (margin.current !== null) margin.current.scrollTop = event.currentTarget.scrollTop;
        }}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        wrap="off"
        placeholder={placeholder}
        className="min-w-0 flex-1 resize-none bg-transparent px-3 outline-none placeholder:text-ink-3/70"
        style={{ paddingBlock: PADDING, lineHeight: `${LINE}px`, tabSize: 2 }}
      />
    </div>
  );
}

const placeholder = `pipeline: my-pipeline
sources:
  orders: { topic: orders }
operators:
  count: { module: counter@1.0.0, input: orders, key: /customer_id }
sinks:
  counts: { topic: counts, input: count.out }`;
