/** Deploying: edit the file, see what is wrong with it and what it will be, apply it. */
import { useQuery } from "@tanstack/react-query";
import { getPipeline } from "../api/pipelines";
import { usePipelineName } from "../pipelines/usePipeline";
import { isNotFound, NoPipeline } from "../ui/NotFound";
import { ErrorNote, Loading } from "../ui/Notes";
import { DeployForm } from "./DeployForm";

/** A new pipeline. */
export function DeployPage() {
  return <DeployForm title="Deploy a pipeline" initial="" />;
}

/** A new revision of one that is there, beginning with the file that runs. */
export function RedeployPage() {
  const name = usePipelineName();
  // Read once: an edit in progress must not be replaced when the pipeline changes meanwhile.
  const pipeline = useQuery({
    queryKey: ["pipeline-to-edit", name],
    queryFn: ({ signal }) => getPipeline(name, signal),
    staleTime: Infinity,
    gcTime: 0,
  });
  if (pipeline.isPending) return <Loading what="the pipeline file" />;
  if (isNotFound(pipeline.error)) return <NoPipeline name={name} />;
  if (pipeline.isError) {
    return (
      <div className="p-6">
        <ErrorNote error={pipeline.error} onRetry={() => void pipeline.refetch()} />
      </div>
    );
  }
  const { file, graph } = pipeline.data;
  return <DeployForm key={name} title={`Edit ${name}`} initial={file} editing={name} running={graph} />;
}
