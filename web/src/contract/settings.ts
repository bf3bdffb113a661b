// Commands and data of the host's settings.

export type SettingKind = "boolean" | "choice" | "text" | "number" | "integer" | "list" | "map" | "json";
export type SettingOption = { value: unknown; label: string; description?: string };
/** `text` is safe to read; `value` is sent back to the host as it is. */
export type SettingEntry = { name?: string; value: unknown; text: string };
export type SettingField = {
  key: string;
  label: string;
  description?: string;
  kind: SettingKind;
  itemKind?: SettingKind;
  options: SettingOption[];
  value?: unknown;
  text: string;
  entries: SettingEntry[];
  /** Present if the value differs from the default. */
  defaultText?: string;
  readOnly: boolean;
  truncated: boolean;
};
/** Slice `settings`, while its panel is open. */
export type SettingsForm = { fields: SettingField[]; omitted: number };

export type SettingsCommand =
  | { op: "settings.watch"; open: boolean }
  | { op: "settings.set"; key: string; value: unknown }
  | { op: "settings.reset"; key: string }
  | { op: "settings.add" | "settings.remove"; key: string; item: unknown }
  | { op: "settings.setEntry"; key: string; name: string; value: unknown }
  | { op: "settings.removeEntry"; key: string; name: string };
