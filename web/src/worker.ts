// The worker of the page. It owns the socket, the timer and the stored state; the WebAssembly core decides what to do
// with them. Patches go to the page at most once a frame, and never before the page has applied the last ones.

import { PageCore, type CoreEffect, type CoreInput } from "./bridge";
import type { PageMessage, Patch, TextRun, WorkerMessage } from "./contract";
import { loadState, saveState } from "./saved-state";

const FRAME_MS = 16;
/** Rows in one message at most, so that the page stays responsive while it reads many. */
const MAX_MESSAGE_ROWS = 64;

/** The bundler leaves an address in a variable alone. */
const HIGHLIGHTER: string = "/highlight.js";

let core: PageCore | undefined;
let socket: WebSocket | undefined;
let wakeTimer: number | undefined;
let frameTimer: number | undefined;
let frameWanted = false;
let unapplied = 0;
let lastFrame = 0;
let saveKey = "";
/** Inputs that arrived while the frontend was loading. */
const early: CoreInput[] = [];

const scope = self as unknown as {
  onmessage: ((event: MessageEvent<PageMessage>) => void) | null;
  postMessage(message: WorkerMessage): void;
  setTimeout(handler: () => void, ms: number): number;
  clearTimeout(timer: number | undefined): void;
};

scope.onmessage = ({ data }) => {
  switch (data.type) {
    case "open":
      open(data).catch(reportFailure);
      return;
    case "do":
      feed({ kind: "do", id: data.id, command: data.command });
      return;
    case "online":
    case "hidden":
      feed({ kind: data.type });
      return;
    case "applied":
      unapplied -= 1;
      scheduleFrame();
      return;
    case "highlight":
      void highlight(data);
      return;
  }
};

/** Highlights code. The highlighter is a file of its own, which is loaded with the first code. */
async function highlight({ id, language, text }: Extract<PageMessage, { type: "highlight" }>): Promise<void> {
  let lines: TextRun[][];
  try {
    const { highlightLines } = (await import(HIGHLIGHTER)) as typeof import("./highlight");
    lines = highlightLines(language, text);
  } catch {
    // Without the host, a browser that has shown no code yet shows it without colors.
    lines = text.split("\n").map((line) => [[line, 0]]);
  }
  scope.postMessage({ type: "highlighted", id, lines });
}

async function open({ url, clientId, name }: Extract<PageMessage, { type: "open" }>): Promise<void> {
  const [loaded, saved] = await Promise.all([PageCore.load("/page.wasm"), loadState(clientId)]);
  core = loaded;
  saveKey = clientId;
  feed({ kind: "open", url, clientId, name, saved });
  for (const input of early.splice(0)) {
    feed(input);
  }
}

function reportFailure(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  scope.postMessage({ type: "patch", patches: [{ slice: "link", value: { state: "offline", error: text, pending: 0 } }] });
}

function feed(input: CoreInput): void {
  if (core === undefined) {
    early.push(input);
    return;
  }
  for (const effect of core.step(input)) {
    apply(effect);
  }
}

function apply(effect: CoreEffect): void {
  switch (effect.kind) {
    case "connect":
      connect(effect.url);
      return;
    case "sendText":
      // A message for a socket that is closing is lost like one on its way; the frontend resumes after the close.
      if (socket?.readyState === WebSocket.OPEN) {
        socket.send(effect.text);
      }
      return;
    case "disconnect": {
      // A stalled socket may take minutes to close, so its events no longer count.
      const dropped = socket;
      socket = undefined;
      dropped?.close();
      return;
    }
    case "wake":
      scope.clearTimeout(wakeTimer);
      wakeTimer = effect.afterMs === undefined ? undefined : scope.setTimeout(() => feed({ kind: "timer" }), effect.afterMs);
      return;
    case "wantFrame":
      frameWanted = true;
      scheduleFrame();
      return;
    case "patch":
      for (const patches of divide(effect.patches)) {
        unapplied += 1;
        scope.postMessage({ type: "patch", patches });
      }
      return;
    case "terminalOutput":
      unapplied += 1;
      scope.postMessage({ type: "terminalOutput", output: { uri: effect.uri, isReset: effect.isReset, data: effect.data } });
      return;
    case "done":
      scope.postMessage({ type: "done", id: effect.id, error: effect.error, value: effect.value });
      return;
    case "save":
      void saveState(saveKey, effect.text);
      return;
  }
}

/** Puts the rows of large patches into messages of their own, before the order that contains them. */
function* divide(patches: Patch[]): Generator<Patch[]> {
  const last: Patch[] = [];
  for (const patch of patches) {
    const rows = Object.entries(patch.set ?? {});
    let sent = 0;
    for (; rows.length - sent > MAX_MESSAGE_ROWS; sent += MAX_MESSAGE_ROWS) {
      yield [{ slice: patch.slice, set: Object.fromEntries(rows.slice(sent, sent + MAX_MESSAGE_ROWS)), hasMore: true }];
    }
    last.push(sent === 0 ? patch : { ...patch, set: Object.fromEntries(rows.slice(sent)) });
  }
  yield last;
}

function scheduleFrame(): void {
  if (!frameWanted || unapplied > 0 || frameTimer !== undefined) {
    return;
  }
  const wait = Math.max(0, FRAME_MS - (performance.now() - lastFrame));
  frameTimer = scope.setTimeout(() => {
    frameTimer = undefined;
    frameWanted = false;
    lastFrame = performance.now();
    feed({ kind: "frame" });
  }, wait);
}

function connect(url: string): void {
  socket?.close();
  const next = new WebSocket(url);
  let opened = false;
  next.onopen = () => {
    opened = true;
    if (next === socket) {
      feed({ kind: "socketOpened" });
    }
  };
  next.onmessage = ({ data }) => {
    if (typeof data === "string" && next === socket) {
      feed({ kind: "socketText", text: data });
    }
  };
  next.onclose = ({ code, reason }) => {
    if (next !== socket) {
      return;
    }
    socket = undefined;
    void reportClose(code, reason, opened);
  };
  socket = next;
}

/** A browser hides the status of a refused upgrade, so the host is asked whether this device is still paired. */
async function reportClose(code: number, reason: string, opened: boolean): Promise<void> {
  if (!opened && (await isSignedOut())) {
    feed({ kind: "signedOut" });
  } else {
    feed({ kind: "socketClosed", code, reason });
  }
}

async function isSignedOut(): Promise<boolean> {
  try {
    return (await fetch("/device", { cache: "no-store" })).status === 401;
  } catch {
    return false;
  }
}
