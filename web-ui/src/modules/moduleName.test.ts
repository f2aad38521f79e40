import { expect, test } from "vitest";
import { suggestName } from "./moduleName";

test.each([
  ["order-1.2.0.wasm", "order", "1.2.0"],
  ["order@2.0.0-rc.1.wasm", "order", "2.0.0-rc.1"],
  ["order_v1.0.3.wasm", "order", "1.0.3"],
  ["order.wasm", "order", "0.1.0"],
  ["Fraud_Check.component.wasm", "fraud-check", "0.1.0"],
  ["step-2.wasm", "step-2", "0.1.0"],
  ["__.wasm", "", "0.1.0"],
])("%s suggests %s at %s", (file, name, version) => {
  expect(suggestName(file)).toEqual({ name, version });
});
