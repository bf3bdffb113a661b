// Commands and data of terminals.

/** `session` and `toolCall`: all clients of the session can type. */
export type TerminalOwner = "own" | "otherClient" | "session" | "toolCall";
export type TerminalRow = {
  uri: string;
  title: string;
  folder?: string;
  running: boolean;
  exitCode?: number;
  owner: TerminalOwner;
  ownerId: string;
  ofSession: boolean;
  canClose: boolean;
  size?: TerminalSize;
};
export type TerminalSize = { cols: number; rows: number };
/** Slice `terminals`. `gone` lists open terminals that the host does not have any more. */
export type TerminalsView = { rows: TerminalRow[]; gone: string[] };
/** A row of slice `tails`: the end of the output of a watched terminal, as plain text. */
export type TailRow = { text: string };
/** Output for an open terminal. `isReset` replaces everything that is shown. */
export type TerminalOutput = { uri: string; isReset: boolean; data: string };

export type TerminalCommand =
  | { op: "terminal.create"; cols: number; rows: number }
  | { op: "terminal.rename"; uri: string; title: string }
  | { op: "terminal.input"; uri: string; data: string }
  | { op: "terminal.resize"; uri: string; cols: number; rows: number }
  | {
      op:
        | "terminal.open"
        | "terminal.leave"
        | "terminal.close"
        | "terminal.clear"
        | "terminal.claim"
        | "terminal.share"
        | "terminal.detach"
        | "terminal.watch"
        | "terminal.unwatch";
      uri: string;
    };
