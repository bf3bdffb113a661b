// Commands and data of terminals.

export type TerminalCommand = never;
