/** What every address shows that leads to nothing: what is not there, why that may be, and where to go. */
import type { ReactNode } from "react";
import { Problem } from "../api/problem";
import { ButtonLink } from "./Button";
import { Page } from "./Page";

interface NotFoundProps {
  /** “There is no …” */
  title: string;
  children: ReactNode;
  to: string;
  action: string;
}

export function NotFound({ title, children, to, action }: NotFoundProps) {
  return (
    <Page name="Not found" title={title}>
      <p className="max-w-prose text-ink-2">{children}</p>
      <div>
        <ButtonLink to={to}>{action}</ButtonLink>
      </div>
    </Page>
  );
}

export function NoPipeline({ name }: { name: string }) {
  return (
    <NotFound title={`There is no pipeline “${name}”`} to="/" action="Go to the pipelines">
      It may have been deleted, or its name is written otherwise.
    </NotFound>
  );
}

export function isNotFound(error: unknown): boolean {
  return error instanceof Problem && error.status === 404;
}
