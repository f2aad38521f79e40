/** Keys and payloads as text for people. */
import { printJson } from "./json";
import type { Base64, Json, Key } from "./types";

export function isBase64(value: Json): value is Base64 {
  return (
    typeof value === "object" &&
    value !== null &&
    Object.keys(value).length === 1 &&
    typeof (value as Partial<Base64>).base64 === "string"
  );
}

export function keyText(key: Key | null): string {
  if (key === null) return "";
  return isBase64(key) ? `base64:${key.base64}` : key;
}

export function valueText(value: Json): string {
  return isBase64(value) ? `base64:${value.base64}` : printJson(value);
}

/** Whether headers are worth showing. */
export function hasMembers(value: Json): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}
