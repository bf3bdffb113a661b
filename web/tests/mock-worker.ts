// Plays the worker with canned patches. Words in the address of the page choose a scene (`/?scene=long`).

import type { Command, DiffRow, Patch, PageMessage, TimelineRow, WorkerMessage } from "../src/contract";
import { highlightLines } from "../src/highlight";
import * as canned from "./canned";

const scope = self as unknown as {
  onmessage: ((event: MessageEvent<PageMessage>) => void) | null;
  postMessage(message: WorkerMessage): void;
};

let queue = canned.queue;
let changes = canned.changes;
let inbox = canned.inbox;
let timeline = canned.timeline;
let layout: "unified" | "split" = "unified";
let stream: ReturnType<typeof setInterval> | undefined;

scope.onmessage = ({ data }) => {
  switch (data.type) {
    case "open":
      send(...start());
      return;
    case "do":
      run(data.id, data.command);
      return;
    case "highlight":
      scope.postMessage({ type: "highlighted", id: data.id, lines: highlightLines(data.language, data.text) });
      return;
    case "applied":
    case "online":
      return;
  }
};

function send(...patches: Patch[]): void {
  scope.postMessage({ type: "patch", patches });
}

function keyed<Row extends { key: string }>(rows: Row[]): { order: string[]; set: Record<string, Row> } {
  return { order: rows.map(({ key }) => key), set: Object.fromEntries(rows.map((row) => [row.key, row])) };
}

function start(): Patch[] {
  return [
    { slice: "link", value: { state: "live", pending: 0 } },
    { slice: "host", value: canned.host },
    sessionPatch("", "folder"),
    { slice: "inbox", ...keyed(inbox), value: { alike: [] } },
  ];
}

function sessionPatch(filter: string, group: string): Patch {
  const rows = canned.sessions.filter(({ title }) => title.toLowerCase().includes(filter.toLowerCase()));
  const folders = [...new Set(rows.map(({ folder }) => folder ?? ""))];
  const groups =
    group === "none"
      ? [{ key: "all", label: "", sessions: rows.map(({ key }) => key) }]
      : folders.map((path) => ({
          key: path,
          path,
          label: path.split("/").at(-1) ?? path,
          sessions: rows.filter(({ folder }) => folder === path).map(({ key }) => key),
        }));
  return { slice: "sessions", ...keyed(rows), value: { groups: rows.length === 0 ? [] : groups, total: rows.length } };
}

function openSession(session: string): Patch[] {
  const row = canned.sessions.find(({ key }) => key === session);
  const main = session === canned.chat.session;
  if (session.endsWith("/long")) {
    timeline = longTimeline(10_000);
  } else {
    timeline = main ? canned.timeline : [];
  }
  return [
    { slice: "chat", value: main ? canned.chat : { ...canned.chat, session, chat: `${session}/chat`, title: row?.title ?? "A long chat", chats: [], status: row?.status ?? "idle" } },
    { slice: "timeline", ...keyed(timeline), value: { chat: session, loading: false, older: false } },
    { slice: "queue", value: main ? queue : [] },
    { slice: "composer", value: main ? canned.composer : { ...canned.composer, running: false, placeholder: "message" } },
    { slice: "changes", value: changes },
    { slice: "diff", value: null },
  ];
}

function longTimeline(turns: number): TimelineRow[] {
  return Array.from({ length: turns }, (_, turn): TimelineRow[] => {
    const turnId = `turn-${turn}`;
    const line = `Turn ${turn}. ${"The quick answer to a question. ".repeat(1 + (turn % 7))}`;
    return [
      { key: `${turnId}/m`, turnId, kind: "message", from: "user", text: line, attachments: [], blocks: [{ kind: "paragraph", children: [{ kind: "text", text: `Question ${turn}` }] }] },
      { key: `${turnId}/x`, turnId, kind: "text", open: false, blocks: [{ kind: "paragraph", children: [{ kind: "text", text: line }] }] },
    ];
  }).flat();
}

function run(id: number, command: Command): void {
  let value: unknown;
  let error: string | undefined;
  switch (command.op) {
    case "selectSession":
      send(...openSession(command.session));
      break;
    case "filter":
      send(sessionPatch(command.text, command.group));
      break;
    case "answerApproval":
    case "answerForm": {
      if (command.op === "answerApproval" && !command.approve) {
        error = "answered by phone already";
        break;
      }
      inbox = inbox.filter((row) => row.item !== "request" || row.card.key !== command.key);
      timeline = timeline.map((row) =>
        row.kind === "toolCall" && row.request?.key === command.key ? { ...row, request: undefined, status: "running", answeredBy: "this device" } : row,
      );
      send({ slice: "inbox", ...keyed(inbox), value: { alike: [] } }, { slice: "timeline", ...keyed(timeline) });
      break;
    }
    case "send":
      if (command.text === "reject") error = "the agent is not signed in";
      else if (command.text === "stream") startStream();
      else if (command.text === "stop") clearInterval(stream);
      else append({ key: `own-${id}`, turnId: `own-${id}`, kind: "message", from: "user", text: command.text, attachments: [], state: "sent", blocks: [{ kind: "paragraph", children: [{ kind: "text", text: command.text }] }] });
      break;
    case "queueRemove":
      queue = queue.filter(({ key }) => key !== command.key);
      send({ slice: "queue", value: queue });
      break;
    case "queueEdit":
      queue = queue.map((row) => (row.key === command.key ? { ...row, text: command.text } : row));
      send({ slice: "queue", value: queue });
      break;
    case "queueMove": {
      const row = queue.find(({ key }) => key === command.key);
      if (row) queue = queue.filter((each) => each !== row).toSpliced(command.index, 0, row);
      send({ slice: "queue", value: queue });
      break;
    }
    case "review":
      changes = { ...changes, files: changes.files.map((file) => (file.key === command.file ? { ...file, reviewed: command.reviewed } : file)) };
      send({ slice: "changes", value: changes });
      break;
    case "openDiff":
      layout = command.layout;
      send({ slice: "diff", value: { file: command.file, path: command.file, layout, status: "ready", total: 100_000, width: 90, added: 74, removed: 12, revision: 1, language: "rust" } });
      break;
    case "closeDiff":
      send({ slice: "diff", value: null });
      break;
    case "diffRows":
      value = Array.from({ length: command.end - command.start }, (_, index) => diffRow(command.start + index));
      break;
    case "session.create":
      send(...openSession(canned.chat.session));
      value = { session: canned.chat.session };
      break;
    case "session.resolveConfig":
      value = canned.newSessionChips;
      break;
    case "completions":
      value = ["src/retry.rs", "src/lib.rs", "tests/retry.rs"].map((path) => ({ insert: `@${path} `, label: path, start: command.text.lastIndexOf("@"), end: command.cursor }));
      break;
    default:
      break;
  }
  scope.postMessage({ type: "done", id, error, value });
}

function append(row: TimelineRow): void {
  const start = timeline.length;
  timeline = [...timeline, row];
  send({ slice: "timeline", splice: { start, remove: 0, keys: [row.key] }, set: { [row.key]: row } });
}

/** A stream of about 2,000 tokens a second, in patches of one frame. */
function startStream(): void {
  clearInterval(stream);
  const key = `stream-${timeline.length}`;
  let lines: string[] = [""];
  append({ key, turnId: key, kind: "text", open: true, blocks: [] });
  let count = 0;
  stream = setInterval(() => {
    count += 1;
    lines = count % 20 === 0 ? [...lines, ""] : lines.with(-1, `${lines.at(-1)}${"word ".repeat(32)}`);
    const blocks = lines.map((text) => ({ kind: "paragraph" as const, children: [{ kind: "text" as const, text }] }));
    const row: TimelineRow = { key, turnId: key, kind: "text", open: true, blocks };
    send({ slice: "timeline", set: { [key]: row } });
  }, 16);
}

const LINES = ["pub struct RetryPolicy {", "    pub base: Duration,", "    pub max: Duration,", "    pub attempts: u32,", "}", "", "impl RetryPolicy {"];

function diffRow(index: number): DiffRow {
  if (index % 40 === 0) return { kind: "hunk", before: index + 1, after: index + 1, hidden: 12 };
  const text = LINES[index % LINES.length] ?? "";
  const step = index % 40;
  const mark = step > 4 && step < 8 ? "removed" : step >= 8 && step < 14 ? "added" : "same";
  if (layout === "split") {
    const side = { number: index, text, mark } as const;
    if (mark === "removed") return { kind: "pair", left: side };
    if (mark === "added") return { kind: "pair", right: { ...side, words: [[4, 8]] } };
    return { kind: "pair", left: side, right: side };
  }
  return {
    kind: "line",
    before: mark === "added" ? undefined : index,
    after: mark === "removed" ? undefined : index,
    mark,
    text,
    words: mark === "same" || text.length < 12 ? undefined : [[4, 8]],
  };
}
