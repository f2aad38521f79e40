/** Everything that all views share: the query cache, the live stream, the router. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import { createBrowserRouter } from "react-router";
import { RouterProvider } from "react-router/dom";
import { Problem } from "../api/problem";
import { LiveProvider } from "../live/context";
import { routes } from "./routes";

export function App() {
  const [client] = useState(newQueryClient);
  const [router] = useState(() => createBrowserRouter(routes));
  return (
    <QueryClientProvider client={client}>
      <LiveProvider>
        <RouterProvider router={router} />
      </LiveProvider>
    </QueryClientProvider>
  );
}

function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: { retry: mayPass, retryDelay: (attempt) => Math.min(500 * 2 ** attempt, 5_000), staleTime: 2_000 },
    },
  });
}

/** A problem with the request stays; an absent or overloaded server may come back. */
function mayPass(failures: number, error: Error): boolean {
  if (error instanceof Problem && error.status >= 400 && error.status < 500 && error.status !== 429) return false;
  return failures < 3;
}
