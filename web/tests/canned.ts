// A state of the host that shows every kind of row, for screenshots and for tests of the page without a core.

import type {
  ApprovalCard,
  Block,
  ChangesView,
  ChatView,
  Composer,
  ConfigChip,
  FormCard,
  HostView,
  InboxRow,
  Inline,
  QueueRow,
  SessionRow,
  TimelineRow,
} from "../src/contract";

const HOME = "/home/mia";

export const host: HostView = {
  name: "studio",
  version: "0.9.0",
  home: HOME,
  agents: [
    { provider: "claude", label: "Claude Code", models: [{ id: "opus", label: "Opus 5" }, { id: "sonnet", label: "Sonnet 5" }] },
    { provider: "codex", label: "Codex", models: [{ id: "gpt", label: "GPT-6 Codex" }] },
    { provider: "shell", label: "Shell", models: [] },
  ],
  folders: [`${HOME}/code/atlas`, `${HOME}/code/website`, `${HOME}/notes`],
};

export const newSessionChips: ConfigChip[] = [
  { key: "mode", label: "Mode", value: "ask", options: [{ id: "ask", label: "Ask first" }, { id: "plan", label: "Plan" }], mutable: true },
  { key: "isolation", label: "Isolation", value: "folder", options: [{ id: "folder", label: "Folder" }, { id: "worktree", label: "Worktree" }], mutable: false },
];

function session(id: string, title: string, folder: string, fields: Partial<SessionRow> = {}): SessionRow {
  return {
    key: `ahp-session:/${id}`,
    title,
    folder: `${HOME}/${folder}`,
    agent: "Claude Code",
    provider: "claude",
    status: "idle",
    unread: false,
    archived: false,
    modifiedAt: "2026-11-18T09:41:00Z",
    waiting: 0,
    ...fields,
  };
}

export const sessions: SessionRow[] = [
  session("a1", "Retry uploads with backoff", "code/atlas", { status: "waiting", waiting: 2, added: 128, removed: 31, files: 7, cost: "$0.84" }),
  session("a2", "Flaky test in scheduler", "code/atlas", { status: "running", activity: "Running cargo test -p scheduler", agent: "Codex", provider: "codex", added: 12, removed: 4 }),
  session("a3", "Explain the lease protocol", "code/atlas", { modifiedAt: "2026-11-17T16:02:00Z", cost: "$0.12" }),
  session("a4", "Upgrade axum to 0.9", "code/atlas", { status: "error", modifiedAt: "2026-11-16T11:20:00Z", added: 1204, removed: 988 }),
  session("w1", "Dark theme for the docs", "code/website", { unread: true, added: 240, removed: 66, cost: "$1.31" }),
  session("w2", "Image pipeline: AVIF and srcset", "code/website", { status: "waiting", waiting: 1, agent: "Codex", provider: "codex" }),
  session("w3", "Accessibility pass", "code/website", { modifiedAt: "2026-11-14T08:00:00Z" }),
  session("n1", "Summarize meeting notes", "notes", { modifiedAt: "2026-11-12T08:00:00Z", cost: "$0.03" }),
];

const text = (value: string): Inline => ({ kind: "text", text: value });
const code = (value: string): Inline => ({ kind: "code", text: value });
const strong = (value: string): Inline => ({ kind: "strong", children: [text(value)] });
const paragraph = (...children: Inline[]): Block => ({ kind: "paragraph", children });

export const approval: ApprovalCard = {
  kind: "approval",
  key: "ask-1",
  session: "ahp-session:/a1",
  chat: "ahp-chat:/a1",
  turnId: "t3",
  callId: "c7",
  title: "Run a command",
  command: "cargo test -p atlas-upload --all-features -- --nocapture retry \\\n  && cargo clippy -p atlas-upload -- -D warnings",
  folder: `${HOME}/code/atlas`,
  edits: [],
  truncated: false,
  options: [
    { id: "once", label: "Allow once", kind: "approve" },
    { id: "always", label: "Always allow cargo test", kind: "approve" },
    { id: "deny", label: "Deny", kind: "deny" },
  ],
  phase: "call",
  editable: true,
};

export const form: FormCard = {
  kind: "form",
  key: "form-1",
  session: "ahp-session:/w2",
  chat: "ahp-chat:/w2",
  requestId: "r1",
  message: "Two decisions before I go on",
  questions: [
    question("format", "choice", "Which format should be the default?", {
      options: [
        { value: "avif", label: "AVIF", description: "Smallest; slow to encode" },
        { value: "webp", label: "WebP" },
      ],
      allowOther: true,
      required: true,
      answer: { values: ["avif"] },
    }),
    question("quality", "integer", "Quality", { min: 1, max: 100, answer: 62 }),
  ],
};

export const allKinds: FormCard = {
  kind: "form",
  key: "form-2",
  session: "ahp-session:/a1",
  chat: "ahp-chat:/a1",
  requestId: "r2",
  message: "How should retries behave?",
  questions: [
    question("limit", "integer", "Attempts", { min: 1, max: 20, required: true, answer: 5 }),
    question("jitter", "boolean", "Add jitter?", { answer: true }),
    question("codes", "choices", "Which answers are retried?", {
      options: [
        { value: "429", label: "429 Too Many Requests" },
        { value: "503", label: "503 Service Unavailable" },
        { value: "500", label: "500 Internal Server Error", description: "May repeat side effects" },
      ],
      answer: { values: ["429", "503"] },
    }),
    question("note", "text", "Anything else?", { multiline: true }),
  ],
};

function question(id: string, kind: FormCard["questions"][number]["kind"], label: string, fields: Partial<FormCard["questions"][number]>): FormCard["questions"][number] {
  return { id, kind, label, required: false, options: [], allowOther: false, multiline: false, secret: false, ...fields };
}

export const inbox: InboxRow[] = [
  { key: "i1", session: "ahp-session:/a1", sessionTitle: "Retry uploads with backoff", agent: "Claude Code", at: "2026-11-18T09:41:00Z", item: "request", card: approval },
  { key: "i2", session: "ahp-session:/w2", sessionTitle: "Image pipeline: AVIF and srcset", agent: "Codex", at: "2026-11-18T09:38:00Z", item: "request", card: form },
  { key: "i3", session: "ahp-session:/w1", sessionTitle: "Dark theme for the docs", agent: "Claude Code", at: "2026-11-18T09:12:00Z", item: "finished", failed: false, text: "The docs follow the system theme now; the toggle keeps its choice per device." },
];

const RUST = `/// Delay before the next attempt, with full jitter.
pub fn delay(&self, attempt: u32, random: f64) -> Duration {
    let ceiling = self.base.saturating_mul(1 << attempt.min(16));
    ceiling.min(self.max).mul_f64(random) // never more than \`max\`
}`;

export const timeline: TimelineRow[] = [
  {
    key: "t2/m", turnId: "t2", kind: "message", from: "user", text: "Uploads fail when the bucket throttles us.", at: "2026-11-18T09:20:00Z", attachments: [{ name: "throttle.log", kind: "file" }],
    blocks: [paragraph(text("Uploads fail when the bucket throttles us. Retry with exponential backoff and jitter, but never longer than two minutes in total. Keep "), code("Uploader"), text(" free of clocks."))],
  },
  { key: "t2/r", turnId: "t2", kind: "reasoning", open: false, summary: "The uploader has no retry policy; the clock must come in as an argument", blocks: [paragraph(text("The uploader has no retry policy. The delay has to be computed without a clock, so the attempt and a random number come in as arguments."))] },
  { key: "t2/c1", turnId: "t2", kind: "toolCall", callId: "c1", name: "read", title: "Read crates/upload/src/lib.rs", status: "completed", content: [{ kind: "text", text: "pub struct Uploader { … }" }] },
  { key: "t2/c2", turnId: "t2", kind: "toolCall", callId: "c2", name: "grep", title: "Searched for “PutObject” in 41 files", status: "completed", content: [] },
  { key: "t2/p", turnId: "t2", kind: "plan", entries: [{ text: "Policy type with a pure delay function", status: "done" }, { text: "Use it in Uploader::put", status: "running" }, { text: "Tests with a fake transport", status: "pending" }] },
  {
    key: "t2/x1", turnId: "t2", kind: "text", open: false,
    blocks: [
      paragraph(text("The delay is a pure function of the attempt and a random number, so tests need "), strong("no clock"), text(":")),
      { kind: "code", language: "rust", text: RUST, open: false },
      { kind: "list", ordered: false, items: [
        { blocks: [paragraph(text("Only "), code("429"), text(" and "), code("503"), text(" are retried; others fail at once.")) ] },
        { blocks: [paragraph(text("The budget of two minutes covers "), { kind: "emphasis", children: [text("all")] }, text(" attempts of one upload. See "), { kind: "link", url: "https://docs.example.org/backoff", children: [text("the notes on backoff")] }, text("."))] },
      ] },
    ],
  },
  { key: "t2/c3", turnId: "t2", kind: "toolCall", callId: "c3", name: "edit", title: "Edited 3 files", status: "completed", content: [
    { kind: "edit", edit: { path: "crates/upload/src/retry.rs", status: "added", added: 74, removed: 0 } },
    { kind: "edit", edit: { path: "crates/upload/src/lib.rs", status: "changed", added: 31, removed: 18 } },
  ] },
  { key: "t2/c4", turnId: "t2", kind: "toolCall", callId: "c4", name: "shell", title: "Ran cargo check", command: "cargo check -p atlas-upload", status: "failed", answeredBy: "phone", content: [
    { kind: "terminal", uri: "ahp-terminal:/1", title: "cargo check -p atlas-upload", exitCode: 101, preview: "error[E0433]: failed to resolve: use of undeclared type `Duration`\n  --> crates/upload/src/retry.rs:14:48\n   |\n14 |     pub fn delay(&self, attempt: u32, random: f64) -> Duration {\n   |                                                       ^^^^^^^^ not found in this scope" },
  ] },
  { key: "t2/c5", turnId: "t2", kind: "toolCall", callId: "c5", name: "task", title: "Started a worker to write the tests", status: "running", content: [
    { kind: "worker", chat: "ahp-chat:/a1-w", title: "Tests for retry", agent: "Claude Code", description: "12 cases with a fake transport" },
  ] },
  { key: "t2/e", turnId: "t2", kind: "turnEnd", state: "complete", durationMs: 94000, usage: { inputTokens: 41200, outputTokens: 3900, cost: "$0.61", model: "Opus 5" } },
  { key: "t3/m", turnId: "t3", kind: "message", from: "user", text: "Good. Run the tests.", at: "2026-11-18T09:40:00Z", attachments: [], blocks: [paragraph(text("Good. Run the tests and clippy."))] },
  { key: "t3/c7", turnId: "t3", kind: "toolCall", callId: "c7", name: "shell", title: "Run a command", status: "waiting", command: approval.command, content: [], request: approval },
];

export const chat: ChatView = {
  session: "ahp-session:/a1",
  chat: "ahp-chat:/a1",
  title: "Retry uploads with backoff",
  chats: [
    {
      key: "ahp-chat:/a1",
      title: "Main",
      origin: "user",
      depth: 0,
      status: "waiting",
      unread: false,
      readOnly: false,
      movable: false,
      isDefault: true,
      waiting: 1,
      requests: [],
    },
    {
      key: "ahp-chat:/a1-w",
      title: "Tests for retry",
      origin: "worker",
      parent: "ahp-chat:/a1",
      depth: 1,
      status: "running",
      unread: false,
      readOnly: true,
      movable: false,
      isDefault: false,
      waiting: 0,
      requests: [],
    },
  ],
  folder: `${HOME}/code/atlas`,
  branch: "retry-uploads",
  agent: "Claude Code",
  status: "waiting",
  usage: { cost: "$0.84" },
  config: [{ key: "mode", label: "Mode", value: "ask", options: [{ id: "ask", label: "Ask first" }, { id: "edit", label: "Accept edits" }, { id: "plan", label: "Plan" }], mutable: true }],
};

export const composer: Composer = {
  draft: "",
  running: true,
  canSteer: true,
  placeholder: "steer",
  attachments: [],
  models: host.agents[0]?.models ?? [],
  model: "opus",
};

export const queue: QueueRow[] = [
  { key: "q1", kind: "queued", text: "Then write a short entry for the changelog", attachments: 0 },
  { key: "q2", kind: "queued", text: "And open a pull request", attachments: 1 },
];

const PATHS = ["crates/upload/src/retry.rs", "crates/upload/src/lib.rs", "crates/upload/src/transport.rs", "crates/upload/tests/retry.rs", "crates/upload/Cargo.toml", "CHANGELOG.md", "docs/uploads.md"];

export const changes: ChangesView = {
  uri: "ahp-changeset:/session",
  label: "This session",
  status: "ready",
  files: PATHS.map((path, index) => ({
    key: path,
    path,
    added: [74, 31, 4, 12, 3, 2, 2][index],
    removed: [0, 18, 9, 0, 1, 0, 3][index],
    reviewed: index === 4,
    status: index === 0 || index === 3 ? "added" : "changed",
  })),
  added: 128,
  removed: 31,
  operations: [
    { id: "commit", label: "Commit", scope: ["changeset"], status: "idle" },
    { id: "undo", label: "Undo all", scope: ["changeset"], status: "idle", confirmation: "Undo the changes of 7 files? Files that you changed since are kept." },
    { id: "undoFile", label: "Undo this file", scope: ["resource"], status: "idle", confirmation: "Undo the changes of this file?" },
  ],
  sets: [
    { uri: "ahp-changeset:/session", label: "This session" },
    { uri: "ahp-changeset:/turn", label: "Last turn" },
    { uri: "ahp-changeset:/branch", label: "Branch" },
  ],
};
