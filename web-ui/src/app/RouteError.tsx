/** Views for a path that leads nowhere and for a view that broke. */
import { useRouteError } from "react-router";
import { ButtonLink } from "../ui/Button";
import { ErrorNote } from "../ui/Notes";
import { Page } from "../ui/Page";

export function NotFound() {
  return (
    <Page name="Not found" title="There is no such page">
      <p className="text-ink-2">The address does not belong to any view. It may have been mistyped.</p>
      <div>
        <ButtonLink to="/">Go to the pipelines</ButtonLink>
      </div>
    </Page>
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
