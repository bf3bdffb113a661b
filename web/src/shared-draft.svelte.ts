// A text that all devices share, such as the draft of a chat, and the text of this device where both differ.
//
// Text that was typed here stays. A draft of another device replaces it only if it contains it; otherwise it is offered
// beside it, and this device shares nothing more until the user has chosen. So no device loses what it shows.

const SHARE_DELAY_MS = 500;
const HELD_KEY = "agenthost.held";
const MAX_HELD_TEXTS = 20;

/** A text that the host does not have: its key, the text, and the text of the host that it follows. */
type HeldText = [key: string, text: string, base: string];

/** A text that is not in the box. */
export type OfferedText = { text: string; from: "device"; device: string | undefined } | { text: string; from: "own" };

export class SharedDraft {
  text = $state("");
  offer = $state.raw<OfferedText | undefined>();
  /** The text was typed here, and not taken over from the host. */
  private typed = false;
  /** The draft that this page and the host agreed on last. */
  private agreed = "";
  /** The text that the host is known to have. */
  private confirmed = "";
  /** The draft of the host that a kept text follows: it is no text of another device. */
  private base: string | undefined;
  private timer: number | undefined;

  /** `send` shares a text with all devices, and returns `false` if that failed. */
  constructor(
    private readonly key: string | undefined,
    draft: string,
    device: string | undefined,
    private readonly send: (text: string) => Promise<boolean>,
  ) {
    this.text = draft;
    this.agreed = draft;
    this.confirmed = draft;
    const [, text, base] = takeHeld(key) ?? [];
    if (text !== undefined && text !== draft) {
      this.text = text;
      this.typed = true;
      this.base = base;
      if (draft === base) this.edited();
      else if (draft !== "") this.offer = { text: draft, from: "device", device };
    }
  }

  /** This device has a text that the host has not, because the host has another one. */
  get isHeld(): boolean {
    return this.offer?.from === "device";
  }

  /** Handles a draft of the host. `sent` is the text of the last message. */
  receive(draft: string, device: string | undefined, sent: string | undefined): void {
    if (draft === this.agreed) return;
    this.confirmed = draft;
    if (draft === this.base && this.typed) {
      this.agreed = draft;
      this.share();
      return;
    }
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
    const text = this.text;
    this.agreed = text;
    this.base = undefined;
    void this.send(text).then((sent) => {
      if (!sent) return;
      this.confirmed = text;
      dropHeldText(this.key, text);
    });
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

  /** Shares nothing until the next change: the text is being sent. */
  pause(): void {
    this.cancelTimer();
  }

  /** Leaves the text. If the host does not have it, it waits on this device. */
  close(): void {
    if (this.typed && this.text !== "" && this.text !== this.confirmed) {
      keepHeld(this.key, this.text, this.isHeld ? undefined : this.confirmed);
    }
    if (!this.isHeld) this.share();
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

function readHeld(): HeldText[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(HELD_KEY) ?? "[]");
    return Array.isArray(kept) ? (kept as HeldText[]) : [];
  } catch {
    return [];
  }
}

function writeHeld(texts: HeldText[]): void {
  try {
    sessionStorage.setItem(HELD_KEY, JSON.stringify(texts));
  } catch {
    // The storage of the browser is full. The page still shows the text.
  }
}

function dropHeldText(key: string | undefined, text: string): void {
  const held = readHeld();
  const left = held.filter(([other, kept]) => other !== key || kept !== text);
  if (left.length < held.length) writeHeld(left);
}

function takeHeld(key: string | undefined): HeldText | undefined {
  const held = readHeld();
  const found = held.find(([other]) => other === key);
  if (found !== undefined) writeHeld(held.filter((entry) => entry !== found));
  return found;
}

function keepHeld(key: string | undefined, text: string, base = ""): void {
  if (key === undefined || ended) return;
  const others = readHeld().filter(([other]) => other !== key);
  writeHeld([...others, [key, text, base] satisfies HeldText].slice(-MAX_HELD_TEXTS));
}
