/** Calls a handler of an operator, or sends to it, and shows what came of it. */
import { useMutation } from "@tanstack/react-query";
import { PhoneCall, Send } from "lucide-react";
import { useState } from "react";
import { callHandler, sendToHandler, type HandlerName, type Reply } from "../api/calls";
import { jsonProblem } from "../api/json";
import type { Report } from "../api/types";
import { Button } from "../ui/Button";
import { Code } from "../ui/Code";
import { TextField } from "../ui/Field";
import { ErrorNote } from "../ui/Notes";
import { Prose } from "../ui/Prose";
import { Select } from "../ui/Select";

interface CallFormProps {
  pipeline: string;
  operator: string;
  handlers: Report["handlers"];
}

type Way = "call" | "send";
type Outcome = { way: "call"; to: HandlerName; reply: Reply } | { way: "send"; to: HandlerName; invocation: string };

export function CallForm({ pipeline, operator, handlers }: CallFormProps) {
  const [name, setName] = useState(handlers[0]?.name ?? "");
  const [key, setKey] = useState("");
  const [argument, setArgument] = useState("{}");
  const problem = jsonProblem(argument);
  const chosen = handlers.find((handler) => handler.name === name);
  const invoke = useMutation({
    mutationFn: async (way: Way): Promise<Outcome> => {
      const to = { pipeline, operator, handler: name };
      if (way === "call") return { way, to, reply: await callHandler(to, key, argument) };
      return { way, to, invocation: (await sendToHandler(to, key, argument)).invocation };
    },
  });
  const isDisabled = problem !== null || invoke.isPending;
  return (
    <form
      className="flex flex-col gap-3 p-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isDisabled) invoke.mutate("call");
      }}
    >
      <Select
        label="Handler"
        value={name}
        options={handlers.map((handler) => ({ value: handler.name, text: handler.name }))}
        onChange={(value) => {
          setName(value);
          invoke.reset();
        }}
      />
      {chosen?.doc != null && chosen.doc !== "" && (
        <p className="text-ink-2">
          <Prose text={chosen.doc} />
        </p>
      )}
      <TextField
        label="Key"
        mono
        value={key}
        onChange={setKey}
        placeholder="from the argument"
        help="Empty: found in the argument by the operator’s key pointer."
      />
      <TextField label="Argument" mono rows={6} value={argument} onChange={setArgument} error={problem} help="JSON" />
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" look="primary" isDisabled={isDisabled}>
          <PhoneCall aria-hidden />
          {invoke.isPending && invoke.variables === "call" ? "Calling…" : "Call"}
        </Button>
        <Button isDisabled={isDisabled} onPress={() => invoke.mutate("send")}>
          <Send aria-hidden />
          Send
        </Button>
      </div>
      <p className="text-xs text-ink-3">Call waits for the reply. Send only hands the work over, and has none.</p>
      <div aria-live="polite" className="flex flex-col gap-2">
        {invoke.isSuccess && <Result outcome={invoke.data} />}
        {invoke.isError && <ErrorNote error={invoke.error} />}
      </div>
    </form>
  );
}

function Result({ outcome }: { outcome: Outcome }) {
  const { handler } = outcome.to;
  if (outcome.way === "send") {
    return (
      <p className="text-good">
        {handler} has it: <code className="font-mono text-xs break-all text-ink-2">{outcome.invocation}</code>
      </p>
    );
  }
  const { text, invocation } = outcome.reply;
  return (
    <>
      {text === "" ? (
        <p className="text-good">{handler} replied with nothing.</p>
      ) : (
        <Code titled label={`reply of ${handler}`} text={text} />
      )}
      {invocation !== null && <code className="font-mono text-xs break-all text-ink-3">{invocation}</code>}
    </>
  );
}
