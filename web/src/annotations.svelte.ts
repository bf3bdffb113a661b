// The comment that the user writes, and the review: kept here, so that they outlive the view of the diff.

import { request } from "./connection";
import type { TextSide } from "./contract/annotations";
import { messageOf, ui } from "./ui.svelte";

export type CommentDraft = { file: string; side: TextSide; first: number; last: number; text: string; error?: string };

class PageAnnotations {
  draft = $state<CommentDraft | undefined>();
  reviewing = $state(false);
  summary = $state("");
  sending = $state(false);
  reviewError = $state<string | undefined>();

  /** Starts a comment on a line. Text that was entered for another line of the file moves along. */
  start(file: string, side: TextSide, line: number): void {
    const text = this.draft?.file === file ? this.draft.text : "";
    this.draft = { file, side, first: line, last: line, text };
  }

  /** Makes the comment reach to a line of the same side. */
  extend(file: string, side: TextSide, line: number): void {
    const draft = this.draft;
    if (draft === undefined || draft.file !== file || draft.side !== side) {
      this.start(file, side, line);
    } else if (line < draft.first) {
      draft.first = line;
    } else {
      draft.last = line;
    }
  }

  cancel(): void {
    this.draft = undefined;
  }

  /** Sends the comment. A refused one comes back, unless the user writes another meanwhile. */
  async submit(): Promise<void> {
    const draft = this.draft;
    if (draft === undefined || draft.text.trim() === "") return;
    const { file, side, first, last, text } = draft;
    this.draft = undefined;
    try {
      await request({ op: "annotation.add", file, side, first, last, text: text.trim() });
    } catch (error) {
      this.giveBack({ file, side, first, last, text, error: messageOf(error) });
    }
  }

  private giveBack(draft: CommentDraft): void {
    if (this.draft === undefined) {
      this.draft = draft;
    } else {
      ui.notify(draft.error ?? "", draft.text);
    }
  }

  async sendReview(text: string, keys: string[]): Promise<void> {
    this.sending = true;
    this.reviewError = undefined;
    try {
      await request({ op: "annotation.sendReview", text, keys });
      this.summary = "";
      this.reviewing = false;
    } catch (error) {
      this.reviewError = messageOf(error);
    } finally {
      this.sending = false;
    }
  }
}

export const annotations = new PageAnnotations();
