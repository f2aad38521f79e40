/** Pause, resume, stop, delete: those that fit the status, each after a question that says what it does. */
import { useQueryClient } from "@tanstack/react-query";
import { Pause, Pencil, Play, Square, Trash2 } from "lucide-react";
import { useState } from "react";
import { RadioButton, RadioField, RadioGroup } from "react-aria-components";
import { useNavigate } from "react-router";
import { commandPipeline, deletePipeline, type PipelineCommand } from "../api/pipelines";
import type { Status } from "../api/types";
import { ButtonLink } from "../ui/Button";
import { Confirm } from "../ui/Confirm";

export function PipelineCommands({ name, status }: { name: string; status: Status }) {
  const queries = useQueryClient();
  const run = (command: PipelineCommand) => async () => {
    await commandPipeline(name, command);
    await queries.invalidateQueries({ queryKey: ["pipeline", name] });
  };
  return (
    <div className="flex flex-wrap items-center gap-2">
      <ButtonLink to={`/pipelines/${encodeURIComponent(name)}/deploy`}>
        <Pencil aria-hidden />
        Edit
      </ButtonLink>
      {status === "running" && (
        <Confirm
          trigger={
            <>
              <Pause aria-hidden />
              Pause
            </>
          }
          title={`Pause ${name}?`}
          action="Pause"
          onConfirm={run("pause")}
        >
          It takes in no more records and keeps everything that it holds. Resume continues at the same place.
        </Confirm>
      )}
      {(status === "paused" || status === "stopped" || status === "failed") && (
        <Confirm
          trigger={
            <>
              <Play aria-hidden />
              Resume
            </>
          }
          title={`Resume ${name}?`}
          action="Resume"
          onConfirm={run("resume")}
        >
          It continues from its last commit.
        </Confirm>
      )}
      {(status === "running" || status === "paused") && (
        <Confirm
          trigger={
            <>
              <Square aria-hidden />
              Stop
            </>
          }
          title={`Stop ${name}?`}
          action="Stop"
          onConfirm={run("stop")}
        >
          Work in progress ends, the rest is kept in the commit, and the pipeline is unloaded. Resume starts it again.
        </Confirm>
      )}
      {(status === "stopped" || status === "finished" || status === "failed") && <Delete name={name} />}
    </div>
  );
}

function Delete({ name }: { name: string }) {
  const [state, setState] = useState<"keep" | "drop">("keep");
  const queries = useQueryClient();
  const navigate = useNavigate();
  const confirm = async () => {
    await deletePipeline(name, state);
    queries.removeQueries({ queryKey: ["pipeline", name] });
    await queries.invalidateQueries({ queryKey: ["pipelines"] });
    await navigate("/");
  };
  return (
    <Confirm
      look="danger"
      danger
      trigger={
        <>
          <Trash2 aria-hidden />
          Delete
        </>
      }
      title={`Delete ${name}?`}
      action="Delete"
      onConfirm={confirm}
    >
      <p>The pipeline and its revisions go. Topics and modules stay.</p>
      <RadioGroup
        aria-label="State of its operators"
        value={state}
        onChange={(value) => setState(value as "keep" | "drop")}
        className="mt-3 flex flex-col gap-2"
      >
        <Choice value="keep">Keep the state: a pipeline of this name continues with it.</Choice>
        <Choice value="drop">Drop the state. This cannot be undone.</Choice>
      </RadioGroup>
    </Confirm>
  );
}

function Choice({ value, children }: { value: string; children: string }) {
  return (
    <RadioField value={value}>
      <RadioButton className="group flex cursor-pointer items-start gap-2 text-ink">
        <span className="mt-0.5 grid size-4 shrink-0 place-items-center rounded-full border border-line-strong group-data-focus-visible:outline-2 group-data-focus-visible:outline-accent group-data-selected:border-accent">
          <span className="size-2 rounded-full group-data-selected:bg-accent" />
        </span>
        {children}
      </RadioButton>
    </RadioField>
  );
}
