import { expect, test } from "vitest";
import { livePipeline } from "../test/pipeline";
import { advance } from "./rates";

test("the first sample has no rate", () => {
  const view = advance(undefined, 1_000, livePipeline({ orders: 10 }));
  expect(view.rates).toBeNull();
  expect(view.history).toEqual([]);
});

test("a rate is the difference over the time between samples", () => {
  let view = advance(undefined, 1_000, livePipeline({ orders: 10 }));
  view = advance(view, 3_000, livePipeline({ orders: 30 }));
  expect(view.rates?.nodes["orders"]?.out).toBe(10);
  expect(view.rates?.edges["orders->count"]).toBe(10);
  expect(view.history).toEqual([10]);
});

test("a rate spans the last few samples only", () => {
  let view = advance(undefined, 0, livePipeline({ orders: 0 }));
  for (let second = 1; second <= 10; second++) view = advance(view, second * 1_000, livePipeline({ orders: 1_000 }));
  expect(view.rates?.nodes["orders"]?.out).toBe(0);
});

test("counters that went back begin anew instead of showing a negative rate", () => {
  let view = advance(undefined, 1_000, livePipeline({ orders: 500 }));
  view = advance(view, 2_000, livePipeline({ orders: 600 }));
  view = advance(view, 3_000, livePipeline({ orders: 5 }));
  expect(view.rates).toBeNull();
  view = advance(view, 4_000, livePipeline({ orders: 10 }));
  expect(view.rates?.nodes["orders"]?.out).toBe(5);
});

test("a new revision begins anew", () => {
  let view = advance(undefined, 1_000, livePipeline({ orders: 500 }));
  view = advance(view, 2_000, { ...livePipeline({ orders: 600 }), revision: 2 });
  expect(view.rates).toBeNull();
});

test("the same sample twice changes nothing", () => {
  let view = advance(undefined, 1_000, livePipeline({ orders: 0 }));
  view = advance(view, 2_000, livePipeline({ orders: 7 }));
  expect(advance(view, 2_000, livePipeline({ orders: 7 })).rates).toEqual(view.rates);
});
