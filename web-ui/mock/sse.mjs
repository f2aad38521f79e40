// Server-sent events by hand.

/** Answers with an event stream; the returned function takes what to do when the reader leaves. */
export function openStream(response) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.write(": open\n\n");
  return (onClose) => response.on("close", onClose);
}

export function write(response, { event, id, data }) {
  response.write(
    `${event === undefined ? "" : `event: ${event}\n`}${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`,
  );
}
