// Texts of files that are being edited. They stay here until they are saved or discarded, whatever the panel shows.

import { SvelteMap } from "svelte/reactivity";
import { announce } from "./announce.svelte";
import { request } from "./connection";
import type { EditableText, LineEnding, SaveResult } from "./contract/files";
import { store } from "./store.svelte";
import { t } from "./strings";
import { messageOf } from "./ui.svelte";

export type SaveOutcome = { state: SaveResult["state"] | "failed"; etag?: string };

export class FileDraft {
  text = $state("");
  /** The text that the file had when it was read or saved. */
  base = $state("");
  etag = $state.raw<string | undefined>();
  lineEnding = $state<LineEnding>("lf");
  saving = $state(false);
  error = $state.raw<string | undefined>();
  /** The version of the host that the user decided to leave alone. */
  ignored = $state.raw<string | undefined>();

  constructor(
    public uri: string,
    readonly label: string,
  ) {}

  get dirty(): boolean {
    return this.text !== this.base;
  }

  /** Takes over the text of the open file. */
  async load(): Promise<void> {
    const { text, etag, lineEnding } = await request<EditableText>({ op: "file.text" });
    // A text field has no other line ends than `\n`.
    this.text = text.replace(/\r\n?/g, "\n");
    this.base = this.text;
    this.etag = etag;
    this.lineEnding = lineEnding;
    this.ignored = undefined;
    this.error = undefined;
  }

  /** Saves the text. `etag` is the version that it replaces; without one the file is created again. */
  async save(etag = this.etag, isNew = false): Promise<SaveOutcome> {
    const text = this.text;
    this.saving = true;
    this.error = undefined;
    try {
      const result = await request<SaveResult>({ op: "file.save", uri: this.uri, text, etag, isNew, lineEnding: this.lineEnding });
      if (result.state === "saved") {
        this.ignored = this.etag;
        this.base = text;
        this.etag = result.etag;
        announce(t.files.saved);
      }
      return result;
    } catch (error) {
      this.error = messageOf(error);
      return { state: "failed" };
    } finally {
      this.saving = false;
    }
  }
}

/** Drafts by URI of their file. */
export const drafts = new SvelteMap<string, FileDraft>();

/** Lets drafts follow a file or folder that was renamed. */
export function moveDrafts(from: string, to: string): void {
  for (const [uri, draft] of [...drafts]) {
    if (uri === from || uri.startsWith(`${from}/`)) {
      draft.uri = to + uri.slice(from.length);
      drafts.delete(uri);
      drafts.set(draft.uri, draft);
    }
  }
}

window.addEventListener("beforeunload", (event) => {
  // A device that was signed out keeps nothing.
  if (store.link.state !== "signedOut" && [...drafts.values()].some(({ dirty }) => dirty)) {
    event.preventDefault();
  }
});
