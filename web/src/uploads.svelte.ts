// Files on their way to the host, one after the other.

import { readBase64 } from "./base64";
import { request } from "./connection";
import type { ChangeResult } from "./contract/files";
import { t } from "./strings";
import { messageOf, ui } from "./ui.svelte";

const MAX_UPLOAD_BYTES = 8 << 20;
const MAX_UPLOAD_FILES = 100;

export class Upload {
  state = $state<"waiting" | "sending" | "done" | "exists" | "failed">("waiting");
  error = $state.raw<string | undefined>();
  /** Replaces a file with the same name. */
  replace = false;

  constructor(
    readonly folder: string,
    readonly file: File,
  ) {}
}

class Uploads {
  list = $state.raw<Upload[]>([]);
  private running = false;
  readonly busy = $derived(this.list.some(({ state }) => state === "waiting" || state === "sending"));
  readonly done = $derived(this.list.filter(({ state }) => state === "done").length);

  add(folder: string, files: File[]): void {
    const kept = this.busy ? this.list : [];
    if (kept.length + files.length > MAX_UPLOAD_FILES) {
      ui.notify(t.files.uploadTooMany(MAX_UPLOAD_FILES));
      return;
    }
    this.list = [...kept, ...files.map((file) => new Upload(folder, file))];
    void this.run();
  }

  replace(upload: Upload): void {
    upload.replace = true;
    upload.state = "waiting";
    void this.run();
  }

  clear(): void {
    this.list = [];
  }

  private async run(): Promise<void> {
    if (this.running) return;
    this.running = true;
    for (let next = this.next(); next !== undefined; next = this.next()) {
      await this.send(next);
    }
    this.running = false;
  }

  private next(): Upload | undefined {
    return this.list.find(({ state }) => state === "waiting");
  }

  private async send(upload: Upload): Promise<void> {
    upload.state = "sending";
    try {
      if (upload.file.size > MAX_UPLOAD_BYTES) {
        throw new Error(t.files.uploadTooLarge(t.files.size(MAX_UPLOAD_BYTES)));
      }
      const data = await readBase64(upload.file);
      const { folder, replace } = upload;
      const { state } = await request<ChangeResult>({ op: "file.create", folder, name: upload.file.name, data, replace });
      upload.state = state;
    } catch (error) {
      upload.error = messageOf(error);
      upload.state = "failed";
    }
  }
}

export const uploads = new Uploads();
