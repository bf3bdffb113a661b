// Commands and data of files.

export type FolderCrumb = { uri: string; label: string };
/** `value` of slice `files`, beside its rows. `isLive` is false if the host does not report changes of a folder. */
export type FilesView = { roots: FolderCrumb[]; crumbs: FolderCrumb[]; showsHidden: boolean; isLive: boolean };
export type FileRowKind = "folder" | "file" | "loading" | "empty" | "failed" | "more";
/** A row of slice `files`. `name` is present if `label` shows it differently. */
export type FileRow = {
  uri: string;
  kind: FileRowKind;
  label: string;
  name?: string;
  depth: number;
  expanded: boolean;
  canRequest: boolean;
  omitted?: number;
};
/** Slice `file`. Lines are read in windows; a new `revision` makes lines read before invalid. */
export type OpenFile = {
  uri: string;
  label: string;
  folder: string;
  status: "loading" | "text" | "image" | "binary" | "large" | "gone" | "failed";
  error?: string;
  canRequest: boolean;
  size?: number;
  modified?: string;
  etag?: string;
  contentType?: string;
  lines: number;
  width: number;
  editable: boolean;
  revision: number;
};
export type LineEnding = "lf" | "crLf" | "mixed";
export type FileLines = { revision: number; lines: string[] };
export type EditableText = { text: string; etag?: string; lineEnding: LineEnding };
/** `etag` is that of the present content. */
export type SaveResult = { state: "saved" | "conflict" | "deleted"; etag?: string };
export type ChangeResult = { state: "done" | "exists"; uri: string };
export type FileBytes = { data: string; encoding: "base64" | "utf-8" };

export type FileCommand =
  | { op: "file.show"; flat: boolean }
  | { op: "file.hide" | "file.refresh" | "file.close" | "file.text" }
  | { op: "file.enter"; uri?: string }
  | { op: "file.setHidden"; shown: boolean }
  | { op: "file.lines"; start: number; end: number }
  | { op: "file.save"; uri: string; text: string; etag?: string; isNew: boolean; lineEnding: LineEnding }
  | { op: "file.create"; folder: string; name: string; data: string; replace: boolean }
  | { op: "file.createFolder"; folder: string; name: string }
  | { op: "file.rename"; uri: string; name: string }
  | { op: "file.expand" | "file.collapse" | "file.open" | "file.bytes" | "file.delete" | "file.requestAccess"; uri: string };
