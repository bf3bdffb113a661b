// The page's side of the worker: commands with their results, highlighted code, and patches into the store.

import { flushSync } from "svelte";
import { announcePatches } from "./announce.svelte";
import type { Command, PageMessage, TextRun, WorkerMessage } from "./contract";
import { BROWSER_KEY, CLIENT_KEY, NAME_KEY } from "./pairing";
import { store } from "./store.svelte";
import { showOutput } from "./terminal-output";
import { scriptUrl } from "./trusted";

type Waiter = { resolve(value: unknown): void; reject(error: Error): void };

let worker: Worker | undefined;
let lastId = 0;
const waiters = new Map<number, Waiter>();
const runs = new Map<number, (lines: TextRun[][]) => void>();

/** Starts the worker, which connects to the host that served the page. */
export async function openConnection(): Promise<void> {
  worker = new Worker(scriptUrl("/worker.js"), { type: "module", name: "agenthost" });
  worker.onmessage = ({ data }: MessageEvent<WorkerMessage>) => receive(data);
  worker.onerror = () => {
    store.link = { state: "offline", error: "the worker of the page stopped", pending: 0 };
  };
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  post({ type: "open", url: `${scheme}://${location.host}/`, clientId: await claimClientId(), name: localStorage.getItem(NAME_KEY) ?? deviceName() });
  window.addEventListener("online", () => post({ type: "online" }));
  document.addEventListener("visibilitychange", () => {
    lastId += 1;
    post({ type: "do", id: lastId, command: { op: "chat.setHidden", hidden: document.visibilityState === "hidden" } });
    post({ type: document.visibilityState === "visible" ? "online" : "hidden" });
  });
}

/** Stops the worker; `openConnection` starts another. */
export function closeConnection(): void {
  worker?.terminate();
  worker = undefined;
}

/** Sends a command. The promise settles when the host has confirmed or rejected it. */
export function request<Value = unknown>(command: Command): Promise<Value> {
  lastId += 1;
  const id = lastId;
  post({ type: "do", id, command });
  return new Promise((resolve, reject) => {
    waiters.set(id, { resolve: resolve as (value: unknown) => void, reject });
  });
}

/** Highlights code in the worker. */
export function highlight(language: string, text: string): Promise<TextRun[][]> {
  lastId += 1;
  const id = lastId;
  post({ type: "highlight", id, language, text });
  return new Promise((resolve) => runs.set(id, resolve));
}

/** Name of this device in the list of the host, until the user changes it. */
export function deviceName(): string {
  const agent = navigator.userAgent;
  const system = /iPhone|iPad|Android|Windows|Mac OS|Linux/.exec(agent)?.[0] ?? "device";
  const browser = /Firefox|Edg|Chrome|Safari/.exec(agent)?.[0].replace("Edg", "Edge") ?? "browser";
  return `${browser} on ${system.replace("Mac OS", "Mac")}`;
}

function post(message: PageMessage): void {
  worker?.postMessage(message);
}

function receive(message: WorkerMessage): void {
  switch (message.type) {
    case "patch": {
      flushSync(() => store.apply(message.patches));
      announcePatches(message.patches);
      post({ type: "applied" });
      return;
    }
    case "terminalOutput": {
      showOutput(message.output)
        .catch((error: unknown) => console.warn("show the output of a terminal:", error))
        .finally(() => post({ type: "applied" }));
      return;
    }
    case "done": {
      const waiter = waiters.get(message.id);
      waiters.delete(message.id);
      if (message.error === undefined) {
        waiter?.resolve(message.value);
      } else {
        waiter?.reject(new Error(message.error));
      }
      return;
    }
    case "highlighted": {
      runs.get(message.id)?.(message.lines);
      runs.delete(message.id);
      return;
    }
  }
}

/**
 * An id that no other tab of this browser has, and that a reload gets again. Where Web Locks are missing (plain http),
 * the tab keeps an id of its own.
 */
async function claimClientId(): Promise<string> {
  if (!("locks" in navigator)) {
    const kept = sessionStorage.getItem(CLIENT_KEY) ?? `client-${Math.random().toString(36).slice(2, 10)}`;
    sessionStorage.setItem(CLIENT_KEY, kept);
    return kept;
  }
  const browser = browserId();
  for (let index = 0; ; index += 1) {
    const id = `web-${browser}-${index}`;
    if (await holdLock(id)) {
      return id;
    }
  }
}

function holdLock(name: string): Promise<boolean> {
  return new Promise((resolve) => {
    void navigator.locks.request(name, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      // The lock is held until the tab closes.
      return lock === null ? undefined : new Promise(() => {});
    });
  });
}

function browserId(): string {
  const kept = localStorage.getItem(BROWSER_KEY) ?? Math.random().toString(36).slice(2, 10);
  localStorage.setItem(BROWSER_KEY, kept);
  return kept;
}
