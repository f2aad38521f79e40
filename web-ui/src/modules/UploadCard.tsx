/** One file on its way into the registry: checked at once, its report shown, then stored under a name and version. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { CircleCheck, X } from "lucide-react";
import { useEffect, useState } from "react";
import { Link } from "react-router";
import { checkModule, storeModule } from "../api/modules";
import { Button } from "../ui/Button";
import { TextField } from "../ui/Field";
import { bytes } from "../ui/format";
import { ErrorNote } from "../ui/Notes";
import { Progress } from "../ui/Progress";
import { suggestName } from "./moduleName";
import { Report } from "./Report";

export function UploadCard({ file, onRemove }: { file: File; onRemove: () => void }) {
  const suggested = suggestName(file.name);
  const [name, setName] = useState(suggested.name);
  const [version, setVersion] = useState(suggested.version);
  const [sent, setSent] = useState(0);
  const queries = useQueryClient();
  const check = useMutation({ mutationFn: () => checkModule(file, setSent) });
  const store = useMutation({
    mutationFn: () => storeModule(name, version, file, setSent),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["modules"] }),
  });
  const { mutate: runCheck } = check;
  useEffect(() => runCheck(), [runCheck]);

  const working = check.isPending || store.isPending;
  const report = store.data?.report ?? check.data;
  return (
    <article aria-label={file.name} className="flex flex-col gap-4 rounded-lg border border-line bg-surface p-4">
      <header className="flex items-center gap-3">
        <h2 className="min-w-0 truncate font-semibold">{file.name}</h2>
        <span className="text-ink-3">{bytes(file.size)}</span>
        <Button look="quiet" aria-label={`Remove ${file.name}`} className="ml-auto" onPress={onRemove}>
          <X aria-hidden />
        </Button>
      </header>
      {store.isSuccess ? (
        <p role="status" className="flex items-center gap-2 text-good">
          <CircleCheck aria-hidden className="size-4" />
          <span>
            Stored as{" "}
            <Link
              className="font-mono text-xs underline"
              to={`/modules/${encodeURIComponent(store.data.name)}/${encodeURIComponent(store.data.version)}`}
            >
              {store.data.name}@{store.data.version}
            </Link>
          </span>
        </p>
      ) : check.data?.ok === false ? null : (
        <form
          className="flex flex-wrap items-end gap-3"
          onSubmit={(event) => {
            event.preventDefault();
            setSent(0);
            store.mutate();
          }}
        >
          <TextField label="Name" mono value={name} onChange={setName} isRequired className="w-52" />
          <TextField label="Version" mono value={version} onChange={setVersion} isRequired className="w-32" />
          <Button
            type="submit"
            look="primary"
            isDisabled={working || check.data?.ok !== true || name === "" || version === ""}
          >
            Store
          </Button>
        </form>
      )}
      {working && <Progress label={workText(check.isPending, sent)} value={sent < 1 ? sent : undefined} />}
      {check.isError && <ErrorNote error={check.error} onRetry={() => runCheck()} />}
      {store.isError && <ErrorNote error={store.error} />}
      {report !== undefined && <Report report={report} />}
    </article>
  );
}

function workText(checking: boolean, sent: number): string {
  if (sent < 1) return "Uploading";
  return checking ? "Checking: the server compiles the module" : "Storing";
}
