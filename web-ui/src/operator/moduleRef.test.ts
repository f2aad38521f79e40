import { expect, test } from "vitest";
import { moduleRef } from "./moduleRef";

test("a module is its name and its version", () => {
  expect(moduleRef("order@1.0.0-rc.1")).toEqual({ name: "order", version: "1.0.0-rc.1" });
});

test.each([null, undefined, "built-in", "@1.0.0"])("%s is no stored module", (module) => {
  expect(moduleRef(module)).toBeUndefined();
});
