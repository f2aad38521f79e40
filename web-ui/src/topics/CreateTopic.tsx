/** A small form that makes a topic. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { Dialog, DialogTrigger, Popover } from "react-aria-components";
import { createTopic } from "../api/topics";
import { Button } from "../ui/Button";
import { TextField } from "../ui/Field";
import { ErrorNote } from "../ui/Notes";

export function CreateTopic() {
  return (
    <DialogTrigger>
      <Button>
        <Plus aria-hidden />
        Create a topic
      </Button>
      <Popover placement="bottom end" className="w-72 rounded-lg border border-line bg-raised shadow-float">
        <Dialog aria-label="Create a topic" className="p-4 outline-none">
          {({ close }) => <Form close={close} />}
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}

function Form({ close }: { close: () => void }) {
  const [name, setName] = useState("");
  const [partitions, setPartitions] = useState("4");
  const queries = useQueryClient();
  const create = useMutation({
    mutationFn: () => createTopic(name, Number(partitions)),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["topics"] });
      close();
    },
  });
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      <TextField label="Name" mono value={name} onChange={setName} isRequired />
      <TextField label="Partitions" mono inputMode="numeric" value={partitions} onChange={setPartitions} isRequired />
      {create.isError && <ErrorNote error={create.error} />}
      <Button
        type="submit"
        look="primary"
        isDisabled={create.isPending || name === "" || !/^[1-9]\d*$/.test(partitions)}
      >
        Create
      </Button>
    </form>
  );
}
