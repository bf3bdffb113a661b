// Files that the user adds to a message: by the file dialog, by pasting, or by dropping.

import { decodeBase64, readBase64 } from "./base64";
import type { NewAttachment } from "./contract";
import { t } from "./strings";

/** A file of a message that was not sent yet. `preview` is the address of its picture. */
export type DraftAttachment = NewAttachment & { key: number; size: number; preview?: string };

/** The host takes messages of 8 MiB in the queue; base64 adds a third. */
export const MAX_MESSAGE_BYTES = 5_500_000;
export const MAX_FILES = 20;

let lastKey = 0;

/** Reads files within the limits of a message. `problems` explains the files that were left out. */
export async function readFiles(files: Iterable<File>, present: DraftAttachment[]): Promise<{ added: DraftAttachment[]; problems: string[] }> {
  const added: DraftAttachment[] = [];
  const problems: string[] = [];
  let bytes = present.reduce((sum, { size }) => sum + size, 0);
  for (const file of files) {
    if (present.length + added.length >= MAX_FILES) {
      problems.push(t.composer.tooManyFiles(MAX_FILES));
      break;
    }
    if (bytes + file.size > MAX_MESSAGE_BYTES) {
      problems.push(t.composer.tooLarge(file.name, file.size, MAX_MESSAGE_BYTES));
      continue;
    }
    try {
      added.push(await read(file));
      bytes += file.size;
    } catch {
      problems.push(t.composer.unreadable(file.name));
    }
  }
  return { added, problems };
}

export function releaseFiles(attachments: DraftAttachment[]): void {
  for (const { preview } of attachments) {
    if (preview !== undefined) URL.revokeObjectURL(preview);
  }
}

/** The attachments as a command has them. */
export function toCommand(attachments: DraftAttachment[]): NewAttachment[] {
  return attachments.map(({ name, contentType, data }) => ({ name, contentType, data }));
}

/** A file that was part of a message before. */
export function toDraft(file: NewAttachment): DraftAttachment {
  lastKey += 1;
  const size = Math.floor((file.data.length * 3) / 4);
  const preview = file.contentType.startsWith("image/") ? URL.createObjectURL(new Blob([decodeBase64(file.data)], { type: file.contentType })) : undefined;
  return { ...file, key: lastKey, size, ...(preview !== undefined && { preview }) };
}

/** The files of a paste or a drop, if there are any. */
export function filesOf(data: DataTransfer | null): File[] {
  return [...(data?.files ?? [])];
}

async function read(file: File): Promise<DraftAttachment> {
  const contentType = file.type || "application/octet-stream";
  const data = await readBase64(file);
  lastKey += 1;
  const preview = contentType.startsWith("image/") ? URL.createObjectURL(file) : undefined;
  return { key: lastKey, name: file.name, contentType, data, size: file.size, ...(preview !== undefined && { preview }) };
}
