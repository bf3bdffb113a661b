// The texts of the page, without those that only one lazily loaded panel has. Numbers and times are formatted by `Intl`.

import { annotations } from "./strings/annotations";
import { chats } from "./strings/chats";
import { hosts } from "./strings/hosts";
import { customizations } from "./strings/customizations";
import { files } from "./strings/files";
import { terminals } from "./strings/terminals";

const numbers = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const megabytes = new Intl.NumberFormat("en", { style: "unit", unit: "megabyte", maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat("en", { month: "short", day: "numeric" });

function plural(count: number, one: string, many: string): string {
  return `${numbers.format(count)} ${count === 1 ? one : many}`;
}

export const t = {
  appName: "agenthost",
  number: (value: number) => numbers.format(value),
  compact: (value: number) => compact.format(value),
  time: (iso: string) => clock.format(new Date(iso)),
  /** Time of today, or the date. */
  moment: (iso: string, now: Date) => {
    const at = new Date(iso);
    return at.toDateString() === now.toDateString() ? clock.format(at) : day.format(at);
  },
  duration: (ms: number) => {
    const seconds = Math.round(ms / 1000);
    return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  },
  skip: "Skip to the message box",
  scope: {
    label: "Rights of this device",
    read: "This device may only read. To do more, pair it again with “agenthost pair --scope operate”.",
    operate: "This device may not use terminals. To do so, pair it again with “agenthost pair --scope terminal”.",
  },
  close: "Close",
  cancel: "Cancel",
  back: "Back",
  copy: "Copy",
  copied: "Copied",
  copyCode: "Copy code",
  more: "More",
  showAll: (lines: number) => `Show all ${numbers.format(lines)} lines`,
  showLess: "Show less",
  loading: "Loading…",

  signIn: {
    title: "Connect to this host",
    text: "Enter the code that agenthost prints when it starts, or run",
    command: "agenthost pair",
    code: "Code",
    name: "Name of this device",
    submit: "Connect",
    busy: "Connecting…",
    wrong: "This code is not valid. Codes work once and expire after ten minutes; get a new one with “agenthost pair”.",
    forbidden: "The host does not allow this page to connect. Open it at the address that agenthost prints.",
    locked: "Too many wrong codes. Wait a minute, then get a new code with “agenthost pair”.",
    unreachable: "The host does not answer. Is agenthost running?",
    failed: (status: number) => `The host answered with an error (${status}).`,
    ended: "This device is no longer connected. Enter a new code.",
  },

  link: {
    connecting: "Connecting…",
    live: "Live",
    catchingUp: "Catching up",
    offline: (since: string | undefined) => (since === undefined ? "Offline" : `Offline since ${clock.format(new Date(since))}`),
    signedOut: "Signed out",
    pending: (count: number) => `${numbers.format(count)} waiting to be sent`,
    label: "Connection",
  },

  lazy: {
    loading: "Loading…",
    failed: "This part of the page could not be loaded. Reload the page when the host can be reached.",
  },

  annotations,
  chats,
  hosts,
  customizations,
  files,
  terminals,
  settings: { label: "Settings" },
  usage: { label: "Usage" },

  nav: {
    label: "Main",
    left: "Inbox and sessions",
    inbox: "Inbox",
    sessions: "Sessions",
    chat: "Chat",
    changes: "Changes",
    more: "More",
    newSession: "New session",
    palette: "Commands",
    theme: "Theme",
    themes: { system: "System", light: "Light", dark: "Dark", contrast: "High contrast" },
    panels: "Panels",
    showPanel: "Show panel",
    hidePanel: "Hide panel",
    widenPanel: "Widen panel",
    narrowPanel: "Narrow panel",
    waiting: (count: number) => plural(count, "request", "requests"),
  },

  sessions: {
    label: "Sessions",
    filter: "Filter sessions",
    group: "Group",
    groups: { folder: "By folder", time: "By time", none: "No groups" },
    empty: "No sessions yet",
    emptyHint: "Write a message to start one.",
    noMatch: "No session matches the filter.",
    status: { idle: "Idle", running: "Running", waiting: "Needs you", error: "Failed", creating: "Starting" },
    unread: "unread",
    untitled: "Untitled session",
    notStarted: "Could not start",
    notStartedLong: "This session could not start.",
    tryAgain: "Try again",
    menu: (title: string) => `Actions for ${title}`,
    rename: "Rename",
    renamePrompt: "Title",
    archive: "Archive",
    restore: "Restore from archive",
    fork: "Fork",
    copyOf: (title: string) => `Copy of ${title}`,
    showArchived: "Show archived sessions",
    delete: "Delete",
    deleteQuestion: (title: string) => `Delete “${title}”? Its messages cannot be restored.`,
    archived: "Archived",
    changed: (added: number, removed: number) => `${added} lines added, ${removed} removed`,
  },

  create: {
    title: "New session",
    text: "What should be done?",
    agent: "Agent",
    model: "Model",
    folder: "Folder",
    worktree: "Own worktree",
    worktreeHint: "Work on a copy of the repository, so that nothing in the folder changes",
    chooseFolder: (path: string) => `Folder ${path}`,
    noFolder: "No folder",
    browse: "Choose a folder",
    path: "Path of the folder",
    recent: "Recent",
    inFolder: (path: string) => `Folders in ${path}`,
    useFolder: "Use this folder",
    notListed: "The host does not let clients list this folder. Type the path.",
    noFolders: "No folders here",
    defaultModel: "Default model",
    submit: "Start session",
    noAgents: "No agent was found on this host. Install one, then restart agenthost.",
    needsSignIn: (agent: string) => `${agent} needs you to sign in first.`,
    hint: "Ctrl+Enter starts it",
  },

  inbox: {
    label: "Inbox",
    empty: "Nothing needs you",
    count: (count: number) => plural(count, "item", "items"),
    open: (title: string) => `Open ${title}`,
    finished: "Finished",
    failed: "Failed",
    dismiss: "Mark as read",
    alike: (count: number, label: string) => `${numbers.format(count)} alike: ${label}`,
    alikeCount: (count: number) => `${numbers.format(count)} alike`,
    answerAll: (label: string, count: number) => `${label} (all ${count})`,
  },

  storage: {
    label: "Storage of the host",
    problem: (reason: string) => `The host can store nothing: ${reason}. It accepts no messages and changes until this is solved.`,
  },

  request: {
    needsYou: "Needs you",
    asks: (worker: string) => `asked by ${worker}`,
    folder: "in",
    command: "Command",
    details: "Details",
    input: "Input",
    edits: "Files",
    editInput: "Edit before running",
    editedInput: "Edited command",
    keepInput: "Discard my edit",
    result: "Review the result",
    sent: "Sent, waiting for the host",
    rejected: (reason: string) => `Not accepted: ${reason}`,
    allow: "Allow once",
    deny: "Deny",
    answeredBy: (name: string) => `answered by ${name}`,
    moreLines: (count: number) => `${plural(count, "more line", "more lines")} · Show all`,
    readFirst: "Show all of it first. It can be denied at once.",
    output: "Output",
    largeInput: "The input is too large to be shown here.",
    openInput: "Open the whole input",
    parameters: "Other arguments",
    truncated: "The agent asks with more text than the host passes on. It can be denied, and not be allowed here.",
  },

  form: {
    submit: "Send answers",
    answer: (count: number) => (count > 1 ? `Answer ${numbers.format(count)} questions` : "Answer"),
    decline: "Decline",
    required: "required",
    yes: "Yes",
    no: "No",
    other: "Something else",
    openLink: "Open link",
    done: "I have done it",
    missing: "Answer the required questions first.",
    responses: { accept: "Answered", decline: "Declined", cancel: "Cancelled" },
    by: (name: string) => ` by ${name}`,
    otherDevice: "Answer of another device:",
    range: (min: number | undefined, max: number | undefined) =>
      min !== undefined && max !== undefined ? `${min} to ${max}` : min !== undefined ? `at least ${min}` : `at most ${max}`,
  },

  timeline: {
    label: "Timeline",
    empty: "No session is open",
    emptyHint: "Choose one from the list, or write a message to start a new one.",
    emptyChat: "No messages yet",
    newRows: (count: number) => plural(count, "new", "new"),
    toEnd: "Jump to the end",
    older: "Load earlier turns",
    you: "You",
    from: { user: "You", agent: "Agent", tool: "Tool", automation: "Automation", system: "System" },
    thinking: "Thinking",
    thought: "Thought",
    error: "The turn failed",
    goOn: "Continue",
    plan: "Plan",
    planStatus: { pending: "to do", running: "in progress", done: "done" },
    exit: (code: number) => `exit ${code}`,
    worker: "Open worker",
    copyMessage: "Copy message",
    copyLink: "Copy link to this turn",
    ends: { complete: "Done", cancelled: "Cancelled", error: "Failed" },
    tokens: (input: number | undefined, output: number | undefined) =>
      `${compact.format((input ?? 0) + (output ?? 0))} tokens`,
    resource: "Resource",
    output: "Output",
    send: { sent: "Sending", confirmed: "Sent", rejected: "Not accepted" },
  },

  resource: {
    wholeOutput: "Open the whole output",
    open: (name: string) => `Open ${name}`,
    lines: (count: number) => plural(count, "line", "lines"),
    notText: "This content is not text.",
    cut: (shown: number) => `The first ${numbers.format(shown)} lines are shown.`,
    copy: "Copy all",
    failed: (reason: string) => `It could not be read: ${reason}`,
  },

  callStatus: {
    streaming: "preparing",
    waiting: "needs you",
    running: "running",
    authRequired: "sign-in required",
    completed: "completed",
    failed: "failed",
    cancelled: "cancelled",
  },

  composer: {
    label: "Message",
    placeholder: { message: "Write a message", steer: "Steer the agent, or queue a message", readOnly: "This chat is read-only" },
    send: "Send",
    queue: "Queue",
    steer: "Steer",
    stop: "Stop",
    attach: "Attach a file",
    attachments: "Attachments",
    tooLarge: (name: string, size: number, limit: number) =>
      `${name} does not fit: it has ${megabytes.format(size / 1e6)}, and all files of a message together at most ${megabytes.format(limit / 1e6)}.`,
    tooManyFiles: (limit: number) => `A message has at most ${limit} files.`,
    unreadable: (name: string) => `${name} cannot be read.`,
    drop: "Drop files to attach them",
    removeAttachment: (name: string) => `Remove ${name}`,
    model: "Model",
    completions: "Suggestions",
    hint: "Enter sends · Shift+Enter new line · @ files · / commands",
    rejected: (reason: string) => `Not sent: ${reason}. Your text is back in the box.`,
    draftOf: (device: string | undefined) => `Draft of ${device ?? "another device"}:`,
    ownDraft: "Your text:",
    useDraft: "Use it",
    dismissDraft: "Discard this text",
  },

  queue: {
    label: "Queue",
    steering: "Steering",
    edit: "Edit",
    save: "Save",
    up: "Move up",
    down: "Move down",
    steer: "Steer now",
    remove: "Remove",
    text: "Queued message",
    actions: (text: string) => `Actions for ${text}`,
  },

  changes: {
    label: "Changes",
    empty: "No changed files",
    none: "Open a session to see its changes.",
    computing: "Comparing files…",
    set: "Compare",
    files: (count: number) => plural(count, "file", "files"),
    reviewed: "Reviewed",
    reviewedOf: (done: number, all: number) => `${done} of ${all} reviewed`,
    markReviewed: (path: string) => `Reviewed ${path}`,
    layout: "Layout",
    unified: "Unified",
    split: "Split",
    widen: "Widen",
    narrow: "Narrow",
    hidden: (lines: number) => plural(lines, "unchanged line", "unchanged lines"),
    binary: "This file is not text.",
    nextFile: "Next file",
    previousFile: "Previous file",
    confirm: "Confirm",
    status: { added: "Added", removed: "Removed", changed: "Changed", renamed: "Renamed" },
    operations: "Operations",
    diffOf: (path: string) => `Diff of ${path}`,
  },

  palette: {
    label: "Commands",
    search: "Search commands and sessions",
    none: "Nothing found",
    goTo: "Session",
    command: "Command",
    stop: "Stop the turn",
    focus: "Write a message",
    signOut: "Disconnect this device",
  },

  notes: { label: "Notices", dismiss: "Dismiss", restore: "Put text back" },

  announce: {
    request: (agent: string, title: string, text: string) => `${agent} needs you in ${title}: ${text}`,
  },
} as const;
