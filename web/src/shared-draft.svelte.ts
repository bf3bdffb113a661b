// The draft of a chat, which all devices share, and the text of this device where both differ.
//
// Text that was typed here stays. A draft of another device replaces it only if it contains it; otherwise it is offered
// beside it, and this device shares nothing more until the user has chosen. So no device loses what it shows.

import { request } from "./connection";
import { messageOf, ui } from "./ui.svelte";

const SHARE_DELAY_MS = 500;
const HELD_KEY = "agenthost.held";
const MAX_HELD_CHATS = 20;

/** A text that is not in the box. */
export type OfferedText = { text: string; from: "device"; device: string | undefined } | { text: string; from: "own" };

export class SharedDraft {
  text = $state("");
  offer = $state.raw<OfferedText | undefined>();
  /** The text was typed here, and not taken over from the host. */
  private typed = false;
  /** The draft that this page and the host agreed on last. */
  private agreed = "";
  private timer: number | undefined;

  constructor(
    private readonly chat: string | undefined,
    draft: string,
    device: string | undefined,
  ) {
    this.text = draft;
    this.agreed = draft;
    const held = takeHeld(chat);
    if (held !== undefined && held !== draft) {
      this.text = held;
      this.typed = true;
      if (draft !== "") this.offer = { text: draft, from: "device", device };
    }
  }

  /** This device has a text that the host has not, because the host has another one. */
  get isHeld(): boolean {
    return this.offer?.from === "device";
  }

  /** Handles a draft of the host. `sent` is the text of the last message. */
  receive(draft: string, device: string | undefined, sent: string | undefined): void {
    if (draft === this.agreed) return;
    const isShared = this.text === this.agreed;
    this.agreed = draft;
    if (draft === this.text) {
      this.offer = undefined;
    } else if (!this.typed || this.text === "" || (isShared && draft.startsWith(this.text))) {
      this.adopt(draft);
    } else if (draft !== "") {
      this.cancelTimer();
      this.offer = { text: draft, from: "device", device };
    } else if (isShared) {
      // The other device has seen the text: it has sent or discarded it.
      const own = this.text;
      this.adopt("");
      if (own !== sent) this.offer = { text: own, from: "own" };
    } else {
      this.offer = undefined;
      this.share();
    }
  }

  /** Handles a change that the user made in the box. */
  edited(): void {
    this.typed = true;
    this.cancelTimer();
    if (!this.isHeld) this.timer = window.setTimeout(() => this.share(), SHARE_DELAY_MS);
  }

  /** Shares the text, unless the host has one of another device. */
  share(): void {
    this.cancelTimer();
    if (this.isHeld || this.text === this.agreed) return;
    this.agreed = this.text;
    request({ op: "setDraft", chat: this.chat, text: this.text }).catch((error: unknown) => ui.notify(messageOf(error)));
  }

  /** Empties the box for a message that is sent; returns `true` if the shared draft is another text and stays. */
  take(): boolean {
    this.cancelTimer();
    const keeps = this.isHeld;
    if (keeps) {
      this.adopt(this.agreed);
    } else {
      this.agreed = "";
      this.adopt("");
    }
    return keeps;
  }

  /** Puts the text of a message back that was not sent. */
  giveBack(text: string): void {
    this.text = this.text === "" ? text : `${text}\n${this.text}`;
    this.typed = true;
  }

  /** Exchanges the text in the box and the offered one. */
  useOffer(): void {
    const offer = this.offer;
    if (offer === undefined) return;
    const own = this.text;
    this.text = offer.text;
    this.typed = true;
    this.offer = own === "" ? undefined : { text: own, from: "own" };
    this.share();
  }

  /** Discards the offered text: the one in the box is shared. */
  dismissOffer(): void {
    this.offer = undefined;
    this.share();
  }

  /** Leaves the chat. A text that could not be shared waits on this device. */
  close(): void {
    if (this.isHeld && this.text !== "") {
      keepHeld(this.chat, this.text);
    } else {
      this.share();
    }
  }

  private adopt(draft: string): void {
    this.text = draft;
    this.typed = false;
    this.offer = undefined;
  }

  private cancelTimer(): void {
    window.clearTimeout(this.timer);
    this.timer = undefined;
  }
}

/** The pairing has ended: no text of this page is kept any more, also not when it unloads. */
let ended = false;

/** Removes the texts that wait on this device, and keeps no others until the page is loaded again. */
export function dropHeld(): void {
  ended = true;
  sessionStorage.removeItem(HELD_KEY);
}

function readHeld(): [string, string][] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(HELD_KEY) ?? "[]");
    return Array.isArray(kept) ? (kept as [string, string][]) : [];
  } catch {
    return [];
  }
}

function takeHeld(chat: string | undefined): string | undefined {
  const held = readHeld();
  const found = held.find(([other]) => other === chat);
  if (found !== undefined) sessionStorage.setItem(HELD_KEY, JSON.stringify(held.filter((entry) => entry !== found)));
  return found?.[1];
}

function keepHeld(chat: string | undefined, text: string): void {
  if (chat === undefined || ended) return;
  const others = readHeld().filter(([other]) => other !== chat);
  sessionStorage.setItem(HELD_KEY, JSON.stringify([...others, [chat, text]].slice(-MAX_HELD_CHATS)));
}
