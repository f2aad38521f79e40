import { expect, test } from "vitest";
import { livePipeline } from "../test/pipeline";
import { LiveStore } from "./store";

test("figures replace what was shown and tell the listeners", () => {
  const store = new LiveStore();
  let told = 0;
  const stop = store.subscribe(() => (told += 1));
  store.take({ at: 1_000, pipelines: [livePipeline({ orders: 1 })] });
  store.take({ at: 2_000, pipelines: [livePipeline({ orders: 4 })] });
  expect(told).toBe(2);
  expect(store.connection()).toBe("live");
  expect(store.at()).toBe(2_000);
  expect(store.view("counting")?.history).toEqual([3]);
  stop();
});

test("a pipeline that was deleted is no longer known", () => {
  const store = new LiveStore();
  store.take({ at: 1_000, pipelines: [livePipeline({ orders: 1 })] });
  store.take({ at: 2_000, pipelines: [] });
  expect(store.view("counting")).toBeUndefined();
});
