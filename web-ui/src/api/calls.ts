/** Handlers that are called from outside. */
import { path, query, request } from "./client";
import { parseExact, printJson } from "./json";

export interface HandlerName {
  pipeline: string;
  operator: string;
  handler: string;
}

export interface Reply {
  /** The invocation that replied. */
  invocation: string | null;
  /** As text to show: JSON on many lines, anything else as it came. Empty if the handler replied with nothing. */
  text: string;
}

/** Waits for the reply. Without a key the operator finds one in the argument, which goes out as it is written. */
export async function callHandler({ pipeline, operator, handler }: HandlerName, key: string, argument: string) {
  const reply = await request<Reply | undefined>(path`/call/${pipeline}/${operator}/${handler}` + query({ key }), {
    method: "POST",
    body: argument,
    type: "application/json",
    parse: (text, headers): Reply => ({ invocation: headers.get("x-weir-invocation"), text: replyText(text) }),
  });
  return reply ?? { invocation: null, text: "" };
}

/** Gives the handler something to do; the answer says that it is held durably. */
export function sendToHandler({ pipeline, operator, handler }: HandlerName, key: string, argument: string) {
  return request<{ invocation: string }>(path`/send/${pipeline}/${operator}/${handler}` + query({ key }), {
    method: "POST",
    body: argument,
    type: "application/json",
  });
}

function replyText(text: string): string {
  try {
    return printJson(parseExact(text), 2);
  } catch {
    return text;
  }
}
