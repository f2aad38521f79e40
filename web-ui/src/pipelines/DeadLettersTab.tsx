/** The dead letters of the whole pipeline, or of the operator chosen in the URL. */
import { useSearchParams } from "react-router";
import { Select } from "../ui/Select";
import { Panel } from "../ui/Page";
import { DeadLetterList } from "./DeadLetterList";
import { useGraph, usePipelineName } from "./usePipeline";

export function DeadLettersTab() {
  const pipeline = usePipelineName();
  const [params, setParams] = useSearchParams();
  const operator = params.get("operator") ?? "";
  const operators = (useGraph(pipeline)?.nodes ?? []).filter(
    (node) => node.kind === "operator" || node.dead_letters > 0,
  );
  const options = [{ value: "", text: "All operators" }, ...operators.map(({ id }) => ({ value: id, text: id }))];
  return (
    <Panel
      flush
      title="Dead letters"
      actions={
        <Select
          label="Operator"
          value={operator}
          options={options}
          onChange={(value) => setParams(value === "" ? {} : { operator: value }, { replace: true })}
        />
      }
    >
      <DeadLetterList pipeline={pipeline} operator={operator === "" ? undefined : operator} />
    </Panel>
  );
}
