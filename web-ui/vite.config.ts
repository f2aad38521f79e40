/// Build and test settings. The built page must run under `script-src 'self'`:
/// nothing is inlined into index.html and no asset becomes a data: URL.
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = process.env["WEIR_URL"] ?? "http://127.0.0.1:9347";

export default defineConfig({
  plugins: [react(), tailwindcss()],
  server: { proxy: { "/v1": server, "/openapi.json": server } },
  build: { assetsInlineLimit: 0, target: "es2023", modulePreload: { polyfill: false } },
  test: { include: ["src/**/*.test.{ts,tsx}"] },
});
