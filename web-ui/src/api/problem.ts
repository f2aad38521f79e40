/** An RFC 9457 answer of the server, as an error that a view can show as it is. */
import type { Diagnostic } from "./types";

export class Problem extends Error {
  override readonly name = "Problem";

  constructor(
    readonly status: number,
    readonly code: string,
    readonly title: string,
    /** Says what to do. */
    readonly detail: string,
    readonly errors: Diagnostic[],
  ) {
    super(detail || title);
  }
}

/** The problem that a response body states, or the best that can be said of a body that states none. */
export function problemOf(status: number, body: string): Problem {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === "object" && parsed !== null) {
      const { code, title, detail, errors } = parsed as Record<string, unknown>;
      return new Problem(
        status,
        typeof code === "string" ? code : `http-${status}`,
        typeof title === "string" ? title : `The server answered ${status}`,
        typeof detail === "string" ? detail : "",
        Array.isArray(errors) ? (errors as Diagnostic[]) : [],
      );
    }
  } catch {
    // Not JSON: a proxy or a crash answered.
  }
  return new Problem(status, `http-${status}`, `The server answered ${status}`, body.slice(0, 300), []);
}

/** The server could not be reached at all. */
export function unreachable(): Problem {
  return new Problem(
    0,
    "unreachable",
    "The server does not answer",
    "Check that weir is running. The page tries again by itself.",
    [],
  );
}
