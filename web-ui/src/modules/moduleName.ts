/** Name and version as a file name suggests them: `order-1.2.0.wasm`, `order@1.2.0.wasm`, `order.wasm`. */

export interface ModuleName {
  name: string;
  version: string;
}

/** As the templates of `weir new` have it. */
const FIRST_VERSION = "0.1.0";

export function suggestName(fileName: string): ModuleName {
  const stem = fileName.replace(/\.(component\.)?wasm$/i, "");
  const match = /^(.+?)[-@_]v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)$/.exec(stem);
  const name = (match?.[1] ?? stem)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return { name, version: match?.[2] ?? FIRST_VERSION };
}
