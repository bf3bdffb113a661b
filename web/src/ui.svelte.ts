// State of the page itself: layout, theme, open dialogs, and the user's own actions until the host has confirmed them.

import { tick } from "svelte";
import { MediaQuery, SvelteMap } from "svelte/reactivity";
import { request } from "./connection";
import type { Command, GroupMode, NewAttachment, NoteRow } from "./contract";
import { store } from "./store.svelte";

/** `panel` shows the panel that was picked under `more`. */
export type PhoneTab = "inbox" | "sessions" | "chat" | "changes" | "more" | "panel";
export const PANELS = ["changes", "files", "terminals", "customizations", "usage", "settings"] as const;
export type PanelName = (typeof PANELS)[number];
export type ThemeName = "system" | "light" | "dark" | "contrast";
export type ActionState = { state: "sent" } | { state: "rejected"; reason: string };
/** What the form of a new session begins with. */
export type SessionPrefill = {
  text: string;
  provider?: string;
  folder?: string;
  model?: string;
  config?: Record<string, string>;
  attachments?: NewAttachment[];
};
export type Confirmation = { text: string; action: string; danger: boolean; run(): void };

const THEME_KEY = "agenthost.theme";

class PageUi {
  tab = $state<PhoneTab>("sessions");
  /** The new-session view replaces the chat. */
  creating = $state(false);
  prefill = $state.raw<SessionPrefill | undefined>();
  /** The list of sessions over the chat, on medium widths. */
  drawer = $state(false);
  /** The panel takes room beside the chat only on wide screens; elsewhere it covers the chat. */
  panelOpen = $state(matchMedia("(min-width: 1024px)").matches);
  panelWide = $state(false);
  panel = $state<PanelName>("changes");
  palette = $state(false);
  /** The turn that a link names, until the timeline has shown it. */
  targetTurn = $state<string | undefined>();
  confirmation = $state.raw<Confirmation | undefined>();
  theme = $state<ThemeName>(readTheme());
  filter = $state("");
  group = $state<GroupMode>("folder");
  /** The list shows archived sessions, too. */
  archived = $state(false);
  /** Own answers by key of the request or row. */
  readonly actions = new SvelteMap<string, ActionState>();
  readonly phone = new MediaQuery("max-width: 639px");
  readonly medium = new MediaQuery("min-width: 640px and max-width: 1023px");
  readonly touch = new MediaQuery("pointer: coarse");

  setTheme(theme: ThemeName): void {
    this.theme = theme;
    localStorage.setItem(THEME_KEY, theme);
    applyTheme(theme);
  }

  openSession(session: string): void {
    this.creating = false;
    this.drawer = false;
    this.tab = "chat";
    this.targetTurn = undefined;
    if (placeOfHash(location.hash).session !== session) {
      history.pushState(null, "", sessionHash(session));
    }
    void this.send({ op: "selectSession", session });
  }

  /** Opens what a link names: a session, or a turn in one of its chats. */
  openLink(hash: string): void {
    const { session, chat, turn } = placeOfHash(hash);
    if (session === undefined) return;
    if (session !== store.chat?.session) {
      this.openSession(session);
    }
    if (chat !== undefined) {
      void this.send({ op: "selectChat", chat });
    }
    this.tab = "chat";
    this.targetTurn = turn;
  }

  openPanel(panel: PanelName): void {
    this.panel = panel;
    this.panelOpen = true;
    this.tab = panel === "changes" ? "changes" : "panel";
  }

  /** Closes the panel. The button that opens it again gets the focus. */
  closePanel(): void {
    this.panelOpen = false;
    void tick().then(() => document.querySelector<HTMLElement>("[data-panel-toggle]")?.focus());
  }

  /** Opens the form of a new session. `prefill` replaces what the form has. */
  startCreating(prefill?: SessionPrefill): void {
    this.prefill = prefill;
    this.creating = true;
    this.drawer = false;
    this.tab = "chat";
  }

  setFilter({ text = this.filter, group = this.group, archived = this.archived }: { text?: string; group?: GroupMode; archived?: boolean }): void {
    this.filter = text;
    this.group = group;
    this.archived = archived;
    const utcOffsetMinutes = -new Date().getTimezoneOffset();
    void this.send({ op: "filter", text, group, archived, utcOffsetMinutes });
  }

  /** Sends an answer and remembers its state under `key` until the host has confirmed it. */
  async answer(key: string, command: Command): Promise<void> {
    this.actions.set(key, { state: "sent" });
    try {
      await request(command);
      this.actions.delete(key);
    } catch (error) {
      this.actions.set(key, { state: "rejected", reason: messageOf(error) });
    }
  }

  /** Sends a command whose rejection is shown as a notice. */
  async send(command: Command): Promise<void> {
    try {
      await request(command);
    } catch (error) {
      this.notify(messageOf(error));
    }
  }

  /** Shows a notice. `restored` is text of the user that was not accepted. */
  notify(text: string, restored?: string): void {
    const id = `page-${Date.now()}-${store.notes.length}`;
    store.notes = [...store.notes, { id, tone: "error", text, restored }];
  }

  /** Puts the text of a rejected message back where messages are written. */
  restore(note: NoteRow): void {
    const text = note.restored ?? "";
    if (!appendToComposer(text)) this.startCreating({ text });
    this.dismiss(note.id);
  }

  dismiss(id: string): void {
    store.notes = store.notes.filter((note) => note.id !== id);
    if (!id.startsWith("page-")) {
      void this.send({ op: "dismissNote", id });
    }
  }
}

export const ui = new PageUi();

export function applyTheme(theme: ThemeName): void {
  if (theme === "system") {
    delete document.documentElement.dataset["theme"];
  } else {
    document.documentElement.dataset["theme"] = theme;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function sessionHash(session: string, turnId?: string, chat?: string): string {
  const turn = turnId === undefined ? "" : `&turn=${encodeURIComponent(turnId)}`;
  const inChat = chat === undefined ? "" : `&chat=${encodeURIComponent(chat)}`;
  return `#session=${encodeURIComponent(session)}${inChat}${turn}`;
}

/** What the address names. */
export function placeOfHash(hash: string): { session: string | undefined; chat: string | undefined; turn: string | undefined } {
  const fields = new URLSearchParams(hash.slice(1));
  const field = (name: string) => fields.get(name) ?? undefined;
  return { session: field("session"), chat: field("chat"), turn: field("turn") };
}

export function focusComposer(): void {
  document.querySelector<HTMLTextAreaElement>("textarea[data-composer]")?.focus();
}

/** Adds a text to the message that the user writes; `false` if no chat is shown. */
export function appendToComposer(text: string): boolean {
  const field = document.querySelector<HTMLTextAreaElement>("textarea[data-composer]");
  if (field !== null) {
    field.value = field.value === "" ? text : `${field.value}\n\n${text}`;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  return field !== null;
}

function readTheme(): ThemeName {
  const kept = localStorage.getItem(THEME_KEY);
  return kept === "light" || kept === "dark" || kept === "contrast" ? kept : "system";
}
