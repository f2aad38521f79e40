/** A form that sends one record. The value is sent as written; it must be JSON. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { jsonProblem } from "../api/json";
import { sendRecord } from "../api/topics";
import { Button } from "../ui/Button";
import { TextField } from "../ui/Field";
import { ErrorNote } from "../ui/Notes";

export function SendRecord({ topic }: { topic: string }) {
  const [key, setKey] = useState("");
  const [value, setValue] = useState("{}");
  const send = useMutation({ mutationFn: () => sendRecord(topic, key, value) });
  const problem = jsonProblem(value);
  const stored = send.data?.records[0];
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        send.mutate();
      }}
    >
      <TextField
        label="Key"
        mono
        value={key}
        onChange={setKey}
        help="Records with the same key keep their order."
        placeholder="none"
      />
      <TextField
        label="Value"
        mono
        rows={8}
        value={value}
        onChange={setValue}
        error={problem}
        help="JSON; text goes in double quotes."
      />
      <Button type="submit" look="primary" isDisabled={problem !== null || send.isPending}>
        Send
      </Button>
      <p role="status" className="text-xs text-good">
        {send.isSuccess &&
          stored !== undefined &&
          `Stored in partition ${stored.partition} at offset ${stored.offset}.`}
      </p>
      {send.isError && <ErrorNote error={send.error} />}
    </form>
  );
}
