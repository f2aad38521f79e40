// @vitest-environment happy-dom
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import type { Report as ReportData } from "../api/types";
import { Report } from "./Report";

afterEach(cleanup);

const good: ReportData = {
  ok: true,
  size: 2_048,
  digest: "sha256:abc",
  language: "Rust",
  faces: ["descriptor", "transform"],
  handlers: [],
  ports: { inputs: [{ name: "in" }], outputs: [{ name: "out" }] },
  cells: [{ name: "count", kind: "counter", version: 1 }],
  imports: [
    { name: "weir:operator/state", status: "granted", help: "" },
    { name: "wasi:http", status: "grantable", help: "Add grants." },
  ],
  memory_floor: 65_536,
  compile_ms: 12,
  problems: [],
};

test("a good module is called usable, and what can be granted says how", () => {
  render(<Report report={good} />);
  expect(screen.getByText("The module can be used.")).toBeTruthy();
  expect(screen.getByText("Add grants.")).toBeTruthy();
  expect(screen.queryByRole("alert")).toBeNull();
});

test("every problem of a bad module is listed with its help", () => {
  const problems = [
    { code: "no-magic", message: "This is not Wasm.", help: "Build it." },
    { code: "too-large", message: "It is too large.", help: "Strip it." },
  ];
  const bad = {
    ...good,
    ok: false,
    memory_floor: null,
    compile_ms: null,
    ports: { inputs: [], outputs: [] },
    problems,
  };
  render(<Report report={bad} />);
  const alert = screen.getByRole("alert").textContent;
  for (const { code, message, help } of problems) {
    expect(alert).toContain(code);
    expect(alert).toContain(message);
    expect(alert).toContain(help);
  }
});
