// Actions on chats that consist of several commands.

import { request } from "./connection";
import type { ChatRow } from "./contract/chats";
import { store } from "./store.svelte";
import { t } from "./strings";
import { focusComposer, messageOf, ui } from "./ui.svelte";

/** Turns that are loaded at most to find the one of a link, in pages. */
const MAX_PAGES = 100;

/** The title of a chat, or its place in the session. */
export function titleOfChat(row: ChatRow, all: ChatRow[]): string {
  return row.title || (row.isDefault ? t.chats.main : t.chats.untitled(all.indexOf(row) + 1));
}

/** Runs commands and shows the first failure as a notice. */
async function attempt(run: () => Promise<void>): Promise<boolean> {
  try {
    await run();
    return true;
  } catch (error) {
    ui.notify(messageOf(error));
    return false;
  }
}

export const chatActions = {
  create(source?: "fork" | "side", turn?: string): Promise<boolean> {
    return attempt(async () => {
      await request({ op: "chat.create", ...(source && { source }), ...(turn !== undefined && { turn }) });
      ui.tab = "chat";
      focusComposer();
    });
  },

  /** Moves a chat to a session, or to a new one, and opens it there. */
  move(chat: string, to?: string): Promise<boolean> {
    return attempt(async () => {
      const { session } = await request<{ session: string }>({ op: "chat.move", chat, ...(to !== undefined && { session: to }) });
      ui.openSession(session);
      await request({ op: "selectChat", chat });
    });
  },

  forkSession(turn: string): Promise<boolean> {
    return attempt(async () => {
      const { chat } = await request<{ chat: string }>({ op: "chat.create", source: "fork", turn });
      await chatActions.move(chat);
    });
  },

  /** Copies a session up to its last turn and opens the copy. */
  copySession(session: string): Promise<boolean> {
    return attempt(async () => {
      const title = store.sessions.row(session)?.title;
      const { chat } = await request<{ chat: string }>({ op: "session.fork", session });
      const { session: copy } = await request<{ session: string }>({ op: "chat.move", chat });
      ui.openSession(copy);
      await request({ op: "selectChat", chat });
      if (title) {
        await request({ op: "rename", session: copy, title: t.sessions.copyOf(title) });
      }
    });
  },

  close(chat: string): Promise<boolean> {
    return attempt(async () => {
      await request({ op: "chat.close", chat });
    });
  },

  previewRestore(turn: string): Promise<boolean> {
    return attempt(async () => {
      // The turn before this one becomes the last one of the chat, so it has to be known.
      const first = store.timeline.row(store.timeline.order[0] ?? "");
      if (first?.turnId === turn && store.timeline.extra.older) {
        await request({ op: "olderTurns" });
      }
      await request({ op: "chat.previewRestore", turn });
    });
  },

  /** Restores files first: the host refuses that if a turn is running, and then nothing has changed. */
  restore(turn: string, text: string, what: { files: boolean; chat: boolean }): Promise<boolean> {
    return attempt(async () => {
      if (what.files) {
        await request({ op: "chat.restoreFiles", turn });
      }
      if (what.chat) {
        await request({ op: "chat.truncate", turn });
        if (store.composer.draft === "") {
          await request({ op: "setDraft", text });
        }
      }
      await request({ op: "chat.endRestore" });
    });
  },

  /** Loads older turns until a turn is there. Returns the key of its first row. */
  async findTurn(turn: string): Promise<string | undefined> {
    const keyOf = () => store.timeline.order.find((key) => store.timeline.row(key)?.turnId === turn);
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const key = keyOf();
      if (key !== undefined || !store.timeline.extra.older) return key;
      await request({ op: "olderTurns" });
    }
    return keyOf();
  },
};
