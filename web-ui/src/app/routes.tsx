/** Every view and its URL. Each view is a chunk of its own, loaded when first shown. */
import type { ComponentType } from "react";
import type { RouteObject } from "react-router";
import { Loading } from "../ui/Notes";
import { NoSuchPage, RouteError } from "./RouteError";
import { Shell } from "./Shell";

const view = (load: () => Promise<ComponentType>): Pick<RouteObject, "lazy"> => ({
  lazy: async () => ({ Component: await load() }),
});

export const routes: RouteObject[] = [
  {
    path: "/",
    element: <Shell />,
    hydrateFallbackElement: <Loading what="Weir" />,
    children: [
      {
        errorElement: <RouteError />,
        children: [
          { index: true, ...view(async () => (await import("../pipelines/PipelinesPage")).PipelinesPage) },
          {
            path: "pipelines/:pipeline",
            ...view(async () => (await import("../pipelines/PipelinePage")).PipelinePage),
            children: [
              {
                ...view(async () => (await import("../pipelines/GraphTab")).GraphTab),
                children: [
                  { index: true, element: null },
                  {
                    path: "operators/:operator",
                    ...view(async () => (await import("../operator/OperatorPanel")).OperatorPanel),
                  },
                ],
              },
              {
                path: "dead-letters",
                ...view(async () => (await import("../pipelines/DeadLettersTab")).DeadLettersTab),
              },
              { path: "audit", ...view(async () => (await import("../pipelines/AuditTab")).AuditTab) },
              { path: "revisions", ...view(async () => (await import("../pipelines/RevisionsTab")).RevisionsTab) },
              { path: "file", ...view(async () => (await import("../pipelines/FileTab")).FileTab) },
            ],
          },
          {
            path: "pipelines/:pipeline/deploy",
            ...view(async () => (await import("../deploy/DeployPage")).RedeployPage),
          },
          { path: "deploy", ...view(async () => (await import("../deploy/DeployPage")).DeployPage) },
          { path: "modules", ...view(async () => (await import("../modules/ModulesPage")).ModulesPage) },
          { path: "modules/:module/:version", ...view(async () => (await import("../modules/ModulePage")).ModulePage) },
          { path: "topics", ...view(async () => (await import("../topics/TopicsPage")).TopicsPage) },
          { path: "topics/:topic", ...view(async () => (await import("../topics/TopicPage")).TopicPage) },
          { path: "*", element: <NoSuchPage /> },
        ],
      },
    ],
  },
];
