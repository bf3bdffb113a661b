// Commands and data of comments on changed files.

/** One of the two texts of a diff. */
export type TextSide = "before" | "after";
/** The place of a thread in the open diff: below a row, or at the file. */
export type ThreadPlace = { kind: "row"; row: number; first: number; last: number } | { kind: "file" | "gone" | "leftOut" };
export type CommentRow = {
  id: string;
  text: string;
  /** The text as it was written, if it has hidden characters. */
  source?: string;
  cut: boolean;
  author?: string;
  own: boolean;
  at?: string;
  edited: boolean;
};
/** A row of slice `annotations`. */
export type CommentThread = {
  key: string;
  /** Key of the file in the open changeset. */
  file?: string;
  path: string;
  side: TextSide;
  lines?: [number, number];
  quote?: string;
  resolved: boolean;
  delivery?: "unconfirmed" | "inReview";
  entries: CommentRow[];
  hiddenEntries: number;
  place?: ThreadPlace;
};
/** `value` of slice `annotations`; `files` has the open threads by key of the file. */
export type AnnotationTotals = { available: boolean; open: number; total: number; hidden: number; files: Record<string, number> };
/** Result of `annotation.preview`. `visible` is the text with hidden characters escaped. */
export type ReviewText = { text: string; visible: string; keys: string[]; leftOut: number };

export type AnnotationCommand =
  | { op: "annotation.add"; file: string; side: TextSide; first: number; last: number; text: string }
  | { op: "annotation.reply"; key: string; text: string }
  | { op: "annotation.edit"; key: string; entry: string; text: string }
  | { op: "annotation.remove"; key: string; entry: string }
  | { op: "annotation.resolve"; key: string; resolved: boolean }
  | { op: "annotation.preview"; summary: string }
  | { op: "annotation.sendReview"; text: string; keys: string[] };
