/** A row that opens. What it hides is not drawn before it is opened, so that long lists stay cheap. */
import { useState, type ReactNode } from "react";

interface DisclosureProps {
  summary: ReactNode;
  summaryClass: string;
  children: () => ReactNode;
}

export function Disclosure({ summary, summaryClass, children }: DisclosureProps) {
  const [open, setOpen] = useState(false);
  return (
    <details className="group" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className={`list-none outline-offset-[-2px] hover:bg-sunken/60 ${summaryClass}`}>{summary}</summary>
      {open && children()}
    </details>
  );
}
