import { expect, test } from "vitest";
import { problemOf } from "./problem";

test("a problem+json body is taken as it is", () => {
  const body = {
    title: "Conflict",
    code: "version-taken",
    detail: "Choose another version.",
    errors: [{ message: "taken" }],
  };
  const problem = problemOf(409, JSON.stringify(body));
  expect(problem).toMatchObject({ status: 409, ...body });
  expect(problem.message).toBe("Choose another version.");
});

test.each(["", "<html>Bad Gateway</html>", "null", "[]"])("the body %j still becomes a problem", (body) => {
  expect(problemOf(502, body)).toMatchObject({ status: 502, code: "http-502", errors: [] });
});
