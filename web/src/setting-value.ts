// Values of settings as the user writes them.

import type { SettingKind } from "./contract/settings";
import { settings as texts } from "./strings/settings";

/** Parses a text to a value of a setting. Whether the value is permitted is decided by the host. */
export function parseSetting(kind: SettingKind, text: string): { value: unknown } | { problem: string } {
  switch (kind) {
    case "number":
    case "integer": {
      const value = Number(text.trim());
      if (text.trim() === "" || !Number.isFinite(value)) return { problem: texts.wrongNumber };
      return kind === "integer" && !Number.isSafeInteger(value) ? { problem: texts.wrongInteger } : { value };
    }
    case "boolean":
      return { value: text === "true" };
    case "list":
    case "map":
    case "json":
      try {
        return { value: JSON.parse(text) as unknown };
      } catch (error) {
        return { problem: texts.wrongJson(error instanceof Error ? error.message : String(error)) };
      }
    case "text":
    case "choice":
      return { value: text };
  }
}
