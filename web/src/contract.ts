// Types of the messages between the page, its worker and the WebAssembly core. The core writes this data from its view
// types; keys and variants are theirs.

import type { AnnotationCommand } from "./contract/annotations";
import type { AppCommand } from "./contract/apps";
import type { FileCommand } from "./contract/files";
import type { ChatCommand, ChatRow } from "./contract/chats";
import type { SessionCommand } from "./contract/sessions";
import type { SettingsCommand } from "./contract/settings";
import type { CodeCard, CustomizationCommand, TokenRequirement } from "./contract/customizations";
import type { TerminalCommand, TerminalOutput } from "./contract/terminals";

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong" | "emphasis" | "strikethrough"; children: Inline[] }
  | { kind: "link"; url: string; children: Inline[] }
  | { kind: "image"; url: string; alt: string }
  | { kind: "break" };

export type ListItem = { checked?: boolean; blocks: Block[] };
export type ColumnAlign = "none" | "left" | "center" | "right";
export type Block =
  | { kind: "paragraph"; children: Inline[] }
  | { kind: "heading"; level: number; children: Inline[] }
  | { kind: "code"; language?: string; text: string; open: boolean }
  | { kind: "list"; ordered: boolean; start?: number; items: ListItem[] }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "rule" }
  | { kind: "table"; align: ColumnAlign[]; head: Inline[][]; rows: Inline[][][] };

/** UTF-16 ranges of a line that changed. */
export type WordRanges = [number, number][];
export type LineMark = "same" | "added" | "removed";
export type HunkRow = { kind: "hunk"; before: number; after: number; hidden: number };
export type LineRow = { kind: "line"; before?: number; after?: number; mark: LineMark; text: string; ending?: "crlf" | "none"; words?: WordRanges };
export type SplitSide = { number: number; text: string; words?: WordRanges; mark: LineMark };
export type PairRow = { kind: "pair"; left?: SplitSide; right?: SplitSide };
export type DiffRow = HunkRow | LineRow | PairRow;
export type DiffLayout = "unified" | "split";
/** Slice `diff`. Rows are read in windows with `diffRows`; a new `revision` makes rows read before invalid. */
export type OpenDiff = {
  file: string;
  path: string;
  layout: DiffLayout;
  status: "loading" | "ready" | "binary" | "error";
  error?: string;
  total: number;
  /** Length of the longest line, in characters. */
  width: number;
  added: number;
  removed: number;
  language?: string;
  revision: number;
};

export type SessionStatus = "idle" | "running" | "waiting" | "error" | "creating";
export type SessionRow = {
  key: string;
  title: string;
  folder?: string;
  agent: string;
  provider: string;
  status: SessionStatus;
  unread: boolean;
  creationError?: string;
  archived: boolean;
  modifiedAt: string;
  added?: number;
  removed?: number;
  files?: number;
  activity?: string;
  waiting: number;
  cost?: string;
};
export type SessionGroup = { key: string; label: string; path?: string; sessions: string[] };
export type GroupMode = "folder" | "time" | "none";
/** `value` of slice `sessions`, beside its keyed rows. */
export type SessionGroups = { groups: SessionGroup[]; total: number };

export type EditSummary = {
  path: string;
  status: "added" | "removed" | "changed" | "renamed";
  before?: string;
  after?: string;
  renamedFrom?: string;
  added?: number;
  removed?: number;
};
/** Result of `editRows`. */
export type EditRows = { rows: (HunkRow | LineRow)[]; total: number };
/** An option without an id is one of the host: the answer then has no `optionId`. */
export type ApprovalOption = { id?: string; label: string; kind: "approve" | "deny" };
export type ApprovalCard = {
  kind: "approval";
  key: string;
  session: string;
  chat: string;
  turnId: string;
  callId: string;
  title: string;
  command?: string;
  input?: string;
  /** The command or the arguments as they are, if they have hidden characters. */
  source?: string;
  /** Further arguments of the command, such as its folder and environment. */
  parameters?: string;
  /** Arguments that are too large for the state. */
  inputUri?: string;
  /** Text that the call has returned, if its result waits. */
  output?: string;
  folder?: string;
  worker?: string;
  risk?: string;
  /** Description by the host: the whole command, or the diff. */
  details?: Block[];
  intention?: string;
  edits: EditSummary[];
  /** The agent asks with more text than the card has. */
  truncated: boolean;
  options: ApprovalOption[];
  phase: "call" | "result";
  editable: boolean;
};
export type QuestionKind = "text" | "number" | "integer" | "boolean" | "choice" | "choices";
export type QuestionRow = {
  id: string;
  kind: QuestionKind;
  label: string;
  description?: string;
  required: boolean;
  options: { value: string; label: string; description?: string }[];
  allowOther: boolean;
  answer?: FormAnswer;
  /** The answer that the agent suggests. */
  initial?: FormAnswer;
  min?: number;
  max?: number;
  multiline: boolean;
  secret: boolean;
};
/** Text, number and yes/no answers are plain; choices list option values, and the text entered instead of one. */
export type FormAnswer = string | number | boolean | { values: string[]; other?: string };
export type FormCard = {
  kind: "form";
  key: string;
  session: string;
  chat: string;
  requestId: string;
  message?: string;
  url?: string;
  questions: QuestionRow[];
};
export type SignInCard = {
  kind: "signIn";
  key: string;
  session: string;
  chat?: string;
  title: string;
  token: TokenRequirement;
};
export type RequestCard = ApprovalCard | FormCard | SignInCard;
export type FormResponse = "accept" | "decline" | "cancel";

export type InboxRow = {
  key: string;
  session: string;
  sessionTitle: string;
  agent: string;
  folder?: string;
  at?: string;
} & (
  | { item: "request"; card: RequestCard }
  | { item: "code"; card: CodeCard }
  | { item: "token"; token: TokenRequirement }
  | { item: "finished"; turnId?: string; text?: string; failed: boolean }
);
/** An answer that all cards of a group offer. */
export type GroupAnswer = { label: string; kind: "approve" | "deny" };
export type InboxGroup = { keys: string[]; label: string; answers: GroupAnswer[] };
/** `value` of slice `inbox`, beside its keyed rows. */
export type InboxGroups = { alike: InboxGroup[] };

export type CallContent =
  | { kind: "text"; text: string }
  | { kind: "edit"; edit: EditSummary }
  | { kind: "terminal"; uri: string; title: string; exitCode?: number; preview?: string }
  | { kind: "worker"; chat: string; title: string; agent?: string; description?: string }
  | { kind: "resource"; uri: string; contentType?: string }
  | { kind: "embedded"; contentType: string; data: string };
export type CallStatus = "streaming" | "waiting" | "running" | "authRequired" | "completed" | "failed" | "cancelled";
export type UsageRow = {
  inputTokens?: number;
  outputTokens?: number;
  cacheReadTokens?: number;
  cost?: string;
  model?: string;
  contextUsed?: number;
  contextSize?: number;
};
export type SendState = "sent" | "confirmed" | "rejected";
export type AttachmentRow = { name: string; kind: string; uri?: string };
/** A file that the user adds to a message; `data` is base64. */
export type NewAttachment = { name: string; contentType: string; data: string };
export type MessageRow = {
  kind: "message";
  from: "user" | "agent" | "tool" | "automation" | "system";
  blocks: Block[];
  text: string;
  attachments: AttachmentRow[];
  at?: string;
  state?: SendState;
};
export type ToolCallRow = {
  kind: "toolCall";
  callId: string;
  name: string;
  title: string;
  status: CallStatus;
  intention?: string;
  command?: string;
  input?: string;
  contributor?: string;
  /** URI of the MCP App that shows the call. */
  app?: string;
  content: CallContent[];
  request?: RequestCard;
  answeredBy?: string;
  reason?: string;
};
export type TimelineRow = { key: string; turnId: string } & (
  | MessageRow
  | { kind: "text"; blocks: Block[]; open: boolean; /** The next row continues the text. */ continues?: true }
  | { kind: "reasoning"; blocks: Block[]; open: boolean; summary: string }
  | ToolCallRow
  | { kind: "plan"; entries: { text: string; status: "pending" | "running" | "done" }[] }
  | { kind: "form"; card: RequestCard; response?: FormResponse; answeredBy?: string }
  | { kind: "notice"; blocks: Block[] }
  | { kind: "error"; message: string; resumable: boolean }
  | { kind: "resource"; uri: string; contentType?: string }
  | { kind: "turnEnd"; state: "complete" | "cancelled" | "error"; durationMs?: number; usage?: UsageRow }
);
/** `value` of slice `timeline`, beside its keyed rows. */
export type TimelineState = { chat?: string; loading: boolean; older: boolean };

export type QueueRow = { key: string; kind: "queued" | "steering"; text: string; attachments: number };
export type NamedId = { id: string; label: string };
export type Composer = {
  draft: string;
  /** Name of the device that wrote the draft, if it is another one. */
  draftFrom?: string;
  running: boolean;
  canSteer: boolean;
  placeholder: "message" | "steer" | "readOnly";
  attachments: AttachmentRow[];
  models: NamedId[];
  model?: string;
};

export type ChangeFileRow = {
  key: string;
  path: string;
  before?: string;
  after?: string;
  renamedFrom?: string;
  added?: number;
  removed?: number;
  reviewed: boolean;
  status: "added" | "removed" | "changed" | "renamed";
};
export type ChangeOperation = {
  id: string;
  label: string;
  description?: string;
  scope: ("changeset" | "resource" | "range")[];
  confirmation?: string;
  status: "idle" | "running" | "error" | "disabled";
  error?: string;
};
export type ChangesView = {
  uri: string;
  label: string;
  status: "computing" | "ready" | "error";
  error?: string;
  files: ChangeFileRow[];
  added: number;
  removed: number;
  operations: ChangeOperation[];
  /** All changesets of the session, for the picker. */
  sets: { uri: string; label: string }[];
};

export type LinkView = {
  state: "connecting" | "live" | "catchingUp" | "offline" | "signedOut";
  since?: string;
  error?: string;
  pending: number;
};
export type AgentChoice = { provider: string; label: string; description?: string; models: NamedId[]; canFork?: boolean; signIn?: string };
/** `version` is that of the page. */
/** `scope` is that of this device; without one it may do everything. */
/** `storageProblem` is why the host can store nothing. */
export type HostView = { name: string; version?: string; hostVersion?: string; scope?: "read" | "operate"; storageProblem?: string; agents: AgentChoice[]; folders: string[]; home?: string };
export type ChatView = {
  session: string;
  chat: string;
  title: string;
  chats: ChatRow[];
  canAddChat?: boolean;
  canFork?: boolean;
  canSideChat?: boolean;
  folder?: string;
  branch?: string;
  agent: string;
  status: SessionStatus;
  usage?: UsageRow;
  readOnly?: boolean;
  /** Reason for which the session could not be created, and the message that waits because of it. */
  creationError?: string;
  unsent?: string;
  config: ConfigChip[];
};
/** A setting of the session that has a small set of values, such as the mode. */
export type ConfigChip = { key: string; label: string; value?: string; options: NamedId[]; mutable: boolean };
/** A message of the frontend to the user: an action that was rejected, or one that may have happened. */
export type NoteRow = { id: string; tone: "info" | "error"; text: string; reason?: string; restored?: string };

export type Command =
  | { op: "selectSession"; session: string }
  | { op: "selectChat"; chat: string }
  | { op: "send"; chat?: string; text: string; attachments?: NewAttachment[]; steer?: boolean; keepDraft?: boolean }
  | { op: "cancelTurn" }
  | { op: "resumeTurn" }
  | { op: "answerApproval"; key: string; optionId?: string; approve: boolean; editedInput?: string }
  | { op: "answerForm"; key: string; response: FormResponse; answers: Record<string, FormAnswer> }
  | { op: "draftForm"; key: string; questionId: string; answer: FormAnswer }
  | { op: "setDraft"; chat?: string; text: string }
  | { op: "queueEdit"; key: string; text: string }
  | { op: "queueRemove"; key: string }
  | { op: "queueMove"; key: string; index: number }
  | { op: "steerNow"; key: string }
  | { op: "rename"; session: string; title: string }
  | { op: "archive"; session: string; archived: boolean }
  | { op: "delete"; session: string }
  | { op: "markRead"; session: string }
  | { op: "setModel"; model: string }
  | { op: "setConfig"; key: string; value: string }
  | { op: "selectChangeset"; uri: string }
  | { op: "openDiff"; file: string; layout: DiffLayout }
  | { op: "closeDiff" }
  | { op: "diffRows"; start: number; end: number }
  | { op: "editRows"; before?: string; after?: string; start: number }
  | { op: "findHunk"; row: number; forward: boolean }
  | { op: "review"; file: string; reviewed: boolean }
  | { op: "operation"; id: string; file?: string }
  | { op: "filter"; text: string; group: GroupMode; archived: boolean; utcOffsetMinutes: number }
  | { op: "olderTurns" }
  | { op: "completions"; kind: "files" | "commands"; text: string; cursor: number }
  | { op: "readFile"; uri: string }
  | { op: "listFolder"; uri: string }
  | { op: "dismissNote"; id: string }
  | AnnotationCommand
  | AppCommand
  | ChatCommand
  | SessionCommand
  | SettingsCommand
  | FileCommand
  | TerminalCommand
  | CustomizationCommand;

/** Result of `completions`: `insert` replaces the text from `start` to `end` (UTF-16). */
export type CompletionItem = { insert: string; label: string; description?: string; start: number; end: number };

export type SliceName =
  | "link"
  | "host"
  | "sessions"
  | "inbox"
  | "chat"
  | "timeline"
  | "queue"
  | "composer"
  | "changes"
  | "diff"
  | "settings"
  | "annotations"
  | "files"
  | "file"
  | "terminals"
  | "tails"
  | "customizations"
  | "codeReview"
  | "notes"
  | "restore"
  | "away"
  | "usage";
/**
 * A change of a slice. `value` replaces the value of the slice. Keyed slices (`sessions`, `inbox`, `timeline`) also have
 * rows: `set` has the changed ones, and `order` (all keys) or `splice` (a change of the order) is present when the order
 * changed. A row that the order does not list is gone.
 */
export type Patch = {
  slice: SliceName;
  value?: unknown;
  order?: string[];
  splice?: { start: number; remove: number; keys: string[] };
  set?: Record<string, unknown>;
  /** The worker sends the rest of the patch, with the order, in the next messages. */
  hasMore?: true;
};

/** A run of text and the index of its class in `HIGHLIGHT_CLASSES`, 0 for none. */
export type TextRun = [text: string, style: number];
export type PageMessage =
  | { type: "open"; url: string; clientId: string; name: string }
  | { type: "do"; id: number; command: Command }
  | { type: "highlight"; id: number; language: string; text: string }
  | { type: "applied" }
  | { type: "online" }
  | { type: "hidden" };
export type WorkerMessage =
  | { type: "patch"; patches: Patch[] }
  | { type: "terminalOutput"; output: TerminalOutput }
  | { type: "done"; id: number; error?: string; value?: unknown }
  | { type: "highlighted"; id: number; lines: TextRun[][] };
