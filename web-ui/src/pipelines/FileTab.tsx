/** The pipeline file of the running revision, as it was deployed. */
import { Pencil } from "lucide-react";
import { ButtonLink } from "../ui/Button";
import { Code } from "../ui/Code";
import { Loading } from "../ui/Notes";
import { Panel } from "../ui/Page";
import { usePipeline, usePipelineName } from "./usePipeline";

export function FileTab() {
  const pipeline = usePipelineName();
  const { data } = usePipeline(pipeline);
  if (data === undefined) return <Loading what="the pipeline file" />;
  return (
    <Panel
      title={`Pipeline file of revision ${data.revision}`}
      actions={
        <ButtonLink to={`/pipelines/${encodeURIComponent(pipeline)}/deploy`}>
          <Pencil aria-hidden />
          Edit and deploy
        </ButtonLink>
      }
    >
      <Code numbered label="pipeline file" text={data.file} />
    </Panel>
  );
}
