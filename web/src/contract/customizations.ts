// Commands and data of customizations.

export type CustomizationCommand = never;
