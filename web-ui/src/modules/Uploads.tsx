/** Where files are dropped or picked. Each becomes a card that checks itself and can then be stored. */
import { FileUp } from "lucide-react";
import { useState } from "react";
import { DropZone, FileTrigger, isFileDropItem, type DropItem } from "react-aria-components";
import { Button } from "../ui/Button";
import { UploadCard } from "./UploadCard";

interface Upload {
  id: number;
  file: File;
}

let lastId = 0;

export function Uploads() {
  const [uploads, setUploads] = useState<Upload[]>([]);
  const add = (files: File[]) => setUploads((before) => [...files.map((file) => ({ id: ++lastId, file })), ...before]);
  const remove = (id: number) => setUploads((before) => before.filter((upload) => upload.id !== id));
  return (
    <div className="flex flex-col gap-3">
      <DropZone
        onDrop={(event) => void filesOf(event.items).then(add)}
        className="flex flex-wrap items-center gap-x-4 gap-y-2 rounded-lg border border-dashed border-line-strong bg-surface px-4 py-4 data-drop-target:border-accent data-drop-target:bg-accent-soft"
      >
        <FileUp aria-hidden className="size-5 text-ink-3" />
        <p className="min-w-0 flex-1 basis-56 text-ink-2">
          <span className="font-medium text-ink">Drop .wasm files here.</span> Each is checked first: nothing is stored
          until you say so.
        </p>
        <FileTrigger
          allowsMultiple
          acceptedFileTypes={[".wasm", "application/wasm"]}
          onSelect={(list) => add(Array.from(list ?? []))}
        >
          <Button look="primary">Choose files</Button>
        </FileTrigger>
      </DropZone>
      {uploads.map(({ id, file }) => (
        <UploadCard key={id} file={file} onRemove={() => remove(id)} />
      ))}
    </div>
  );
}

function filesOf(items: DropItem[]): Promise<File[]> {
  return Promise.all(items.filter(isFileDropItem).map((item) => item.getFile()));
}
