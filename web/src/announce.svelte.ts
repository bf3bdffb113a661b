// Texts for screen readers: requests at once, the rest when the reader is idle.

import type { InboxRow, Patch, RequestCard, TimelineRow } from "./contract";
import { plainText } from "./plain";
import { t } from "./strings";

class Announcer {
  polite = $state("");
  assertive = $state("");
}

export const announcer = new Announcer();

/** Keys that were announced. Bounded by the rows of one chat and the inbox: it is emptied when it gets large. */
const told = new Set<string>();
const MAX_TOLD = 5000;

/** Announces requests that opened and parts of an answer that ended. The first patch is the state, not news. */
export function announcePatches(patches: Patch[]): void {
  if (told.size > MAX_TOLD) {
    told.clear();
  }
  for (const { slice, set, order, hasMore } of patches) {
    if (slice === "inbox") {
      announceInbox(Object.values(set ?? {}) as InboxRow[]);
    } else if (slice === "timeline" && order === undefined && !hasMore) {
      announceTimeline(Object.values(set ?? {}) as TimelineRow[]);
    }
  }
}

export function announce(text: string): void {
  announcer.polite = text;
}

function announceInbox(rows: InboxRow[]): void {
  for (const row of rows) {
    if (row.item !== "finished" && isNew(row.key)) {
      announcer.assertive = t.announce.request(row.agent, row.sessionTitle, describe(row));
    }
  }
}

function announceTimeline(rows: TimelineRow[]): void {
  for (const row of rows) {
    if (row.kind === "text" && !row.open && isNew(row.key)) {
      announcer.polite = plainText(row.blocks);
    } else if (row.kind === "toolCall" && row.status !== "streaming" && isNew(`${row.key} ${row.status}`)) {
      announcer.polite = `${row.title}: ${t.callStatus[row.status]}`;
    }
  }
}

function describe(row: InboxRow & { item: "request" | "code" | "token" }): string {
  switch (row.item) {
    case "request":
      return describeRequest(row.card);
    case "code":
      return t.customizations.codeOf(row.card.name, row.card.hooks, row.card.servers);
    case "token":
      return t.customizations.needsToken(row.token.name);
  }
}

function describeRequest(card: RequestCard): string {
  switch (card.kind) {
    case "approval":
      return `${card.title}. ${card.command ?? card.input ?? ""}`;
    case "form":
      return card.message ?? card.questions.map((question) => question.label).join(", ");
    case "signIn":
      return t.customizations.needsToken(card.token.name);
  }
}

function isNew(key: string): boolean {
  if (told.has(key)) {
    return false;
  }
  told.add(key);
  return true;
}
