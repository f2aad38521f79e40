/** Text in a fixed-width face: a block that can be copied, optionally with line numbers. */
import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { Button } from "./Button";

interface CodeProps {
  text: string;
  /** What it is, for screen readers and the copy button. */
  label: string;
  numbered?: boolean;
  /** Whether the label is also shown, above the text. */
  titled?: boolean;
}

export function Code({ text, label, numbered = false, titled = false }: CodeProps) {
  const lines = text.replace(/\n$/, "").split("\n");
  return (
    <figure
      aria-label={label}
      className="group relative min-w-0 rounded-md border border-line bg-sunken font-mono text-xs leading-5"
    >
      <div className="absolute top-1 right-1 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100">
        <CopyButton text={text} label={`Copy ${label}`} />
      </div>
      {titled && <figcaption className="px-3 pt-2 font-sans text-ink-3">{label}</figcaption>}
      {/* A scrolling box must be reachable by keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre tabIndex={0} className="max-h-[32rem] overflow-auto p-3">
        {numbered ? (
          <code className="grid grid-cols-[max-content_1fr] gap-x-4">
            {lines.map((line, i) => (
              <span key={i} className="contents">
                <span aria-hidden className="text-right text-ink-3 select-none">
                  {i + 1}
                </span>
                <span>{line === "" ? " " : line}</span>
              </span>
            ))}
          </code>
        ) : (
          <code>{text}</code>
        )}
      </pre>
    </figure>
  );
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <Button
      look="quiet"
      aria-label={copied ? "Copied" : label}
      onPress={() => void copy()}
      className="h-7 bg-surface px-1.5"
    >
      {copied ? <Check aria-hidden /> : <Copy aria-hidden />}
    </Button>
  );
}
