/** Views for a path that leads nowhere and for a view that broke. */
import { useRouteError } from "react-router";
import { NotFound } from "../ui/NotFound";
import { ErrorNote } from "../ui/Notes";
import { Page } from "../ui/Page";

export function NoSuchPage() {
  return (
    <NotFound title="There is no such page" to="/" action="Go to the pipelines">
      The address does not belong to any view. It may have been mistyped.
    </NotFound>
  );
}

export function RouteError() {
  const error = useRouteError();
  return (
    <Page name="Error" title="This view stopped">
      <ErrorNote error={error} onRetry={() => location.reload()} />
    </Page>
  );
}
