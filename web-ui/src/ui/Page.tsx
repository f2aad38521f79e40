/** The frame of a view: its title, what can be done, and its content. Sets the document's title. */
import { useEffect, type ReactNode } from "react";

interface PageProps {
  title: ReactNode;
  /** The title as text, for the browser's tab. */
  name: string;
  actions?: ReactNode;
  children: ReactNode;
}

export function Page({ title, name, actions, children }: PageProps) {
  useTitle(name);
  return (
    <div className="mx-auto flex w-full max-w-[86rem] flex-col gap-4 p-4 md:p-6">
      <header className="flex min-h-8 flex-wrap items-center justify-between gap-3">
        <h1 className="flex min-w-0 items-center gap-2 text-lg font-semibold">{title}</h1>
        {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export function useTitle(name: string): void {
  useEffect(() => {
    document.title = `${name} · Weir`;
  }, [name]);
}

export function Panel({
  title,
  actions,
  children,
  flush = false,
}: {
  title?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  flush?: boolean;
}) {
  return (
    <section className="min-w-0 rounded-lg border border-line bg-surface">
      {title !== undefined && (
        <header className="flex min-h-10 flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-1.5">
          <h2 className="font-semibold">{title}</h2>
          {actions}
        </header>
      )}
      <div className={flush ? "overflow-x-auto" : "p-4"}>{children}</div>
    </section>
  );
}
