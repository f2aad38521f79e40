/** Name and version of a module as an operator names it, `order@1.0.0`; undefined for what is not stored, such as a built-in. */
import type { ModuleName } from "../modules/moduleName";

export function moduleRef(module: string | null | undefined): ModuleName | undefined {
  const at = module?.lastIndexOf("@") ?? -1;
  if (module == null || at < 1) return undefined;
  return { name: module.slice(0, at), version: module.slice(at + 1) };
}
