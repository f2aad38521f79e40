// @vitest-environment happy-dom
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import { Diagnostics } from "./Diagnostics";

afterEach(cleanup);

test("each diagnostic says where, what and what to do, and leads to its place", async () => {
  const goTo = vi.fn();
  const diagnostics = [
    {
      line: 6,
      column: 20,
      path: "operators.count.module",
      code: "no-module",
      message: "There is no module counter@9.",
      help: "Upload it.",
    },
  ];
  render(<Diagnostics check={{ state: "wrong", diagnostics }} onGoTo={goTo} />);
  const item = screen.getByRole("button");
  for (const text of [
    "line 6, column 20",
    "operators.count.module",
    "no-module",
    "There is no module counter@9.",
    "Upload it.",
  ]) {
    expect(item.textContent).toContain(text);
  }
  await userEvent.click(item);
  expect(goTo).toHaveBeenCalledWith(6, 20);
});

test("a problem of the whole file has no place to go to", () => {
  render(
    <Diagnostics
      check={{ state: "wrong", diagnostics: [{ message: "The file is empty." }] }}
      onGoTo={() => undefined}
    />,
  );
  expect(screen.getByRole("button")).toHaveProperty("disabled", true);
});
