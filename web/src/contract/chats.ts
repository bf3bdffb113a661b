// Commands and data of chats, and of usage.

import type { ChangeFileRow, RequestCard, SessionStatus, UsageRow } from "../contract";

/** A chat of a session. Workers follow the chat that spawned them, with their level in `depth`. */
export type ChatRow = {
  key: string;
  title: string;
  origin: "user" | "fork" | "sideChat" | "worker";
  parent?: string;
  depth: number;
  status: SessionStatus;
  activity?: string;
  unread: boolean;
  readOnly: boolean;
  movable: boolean;
  isDefault: boolean;
  waiting: number;
  requests: RequestCard[];
};

export type ChatCommand =
  | { op: "chat.create"; source?: "fork" | "side"; turn?: string; selection?: string }
  | { op: "chat.close"; chat: string }
  | { op: "chat.move"; chat: string; session?: string }
  | { op: "chat.previewRestore"; turn: string }
  | { op: "chat.endRestore" }
  | { op: "chat.restoreFiles"; turn: string }
  | { op: "chat.truncate"; turn: string }
  | { op: "chat.setHidden"; hidden: boolean }
  | { op: "chat.dismissAway" }
  | { op: "chat.watchUsage"; open: boolean; utcOffsetMinutes: number };

/** Slice `restore`: the state before a turn, and the files that differ from it. */
export type RestoreView = {
  turn: string;
  text: string;
  status: "computing" | "ready" | "error";
  error?: string;
  files: ChangeFileRow[];
  canRestoreFiles: boolean;
  turns: number;
};

export type AwayDigest = {
  turns: { chat: string; turnId: string; state: "complete" | "cancelled" | "error"; text?: string }[];
  answers: { chat: string; turnId: string; callId: string; title: string; approved: boolean; by?: string }[];
  files: string[];
  cost?: string;
};
export type AwaySession = {
  key: string;
  title: string;
  status: SessionStatus;
  isNew: boolean;
  files: number;
  cost?: string;
  digest?: AwayDigest;
};
/** Slice `away`. */
export type AwaySummary = { since: string; sessions: AwaySession[]; total: number; files: number; cost?: string };

export type TurnUsage = { key: string; label: string; tokens: number; usage: UsageRow };
export type UsageGroup = { key: string; count: number; tokens: number; usage: UsageRow };
/** Slice `usage`, while its panel is open. */
export type UsageReport = {
  session?: { usage: UsageRow; chats: { key: string; title: string; usage: UsageRow }[] };
  turns: TurnUsage[];
  models: UsageGroup[];
  partial: boolean;
  days: UsageGroup[];
};
