// Commands and data of settings.

export type SettingsCommand = never;
