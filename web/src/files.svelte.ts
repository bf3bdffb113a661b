// The files panel: what is asked of the user, and actions on files.

import { tick } from "svelte";
import { announce } from "./announce.svelte";
import { decodeBase64 } from "./base64";
import { request } from "./connection";
import type { ChangeResult, FileBytes, FileCommand } from "./contract/files";
import { drafts, FileDraft, moveDrafts } from "./file-drafts.svelte";
import { store } from "./store.svelte";
import { t } from "./strings";
import { messageOf, ui } from "./ui.svelte";

/** A name that the user enters. */
export type NameQuestion = { label: string; value: string; action: string; run(name: string): Promise<boolean> };
export type FileChoice = { text: string; options: { label: string; kind?: "primary" | "danger"; run(): void }[] };

class FilesUi {
  question = $state.raw<NameQuestion | undefined>();
  choice = $state.raw<FileChoice | undefined>();

  /** Shows a file in the panel; a path is one of the host. */
  show(uri: string): void {
    ui.openPanel("files");
    this.leave(() => void ui.send({ op: "file.open", uri }));
  }

  async edit(uri: string, label: string): Promise<void> {
    const draft = new FileDraft(uri, label);
    try {
      await draft.load();
      drafts.set(uri, draft);
    } catch (error) {
      ui.notify(messageOf(error));
    }
  }

  /** Leaves the open file, after the user has decided about unsaved text. */
  leave(then: () => void): void {
    const draft = drafts.get(store.file?.uri ?? "");
    if (draft === undefined || !draft.dirty) {
      if (draft !== undefined) drafts.delete(draft.uri);
      then();
      return;
    }
    this.choice = {
      text: t.files.leave(draft.label),
      options: [
        { label: t.files.keepEditing, run: focusEditor },
        {
          label: t.files.discard,
          kind: "danger",
          run: () => {
            drafts.delete(draft.uri);
            then();
          },
        },
        {
          label: t.files.save,
          kind: "primary",
          run: () =>
            void this.save(draft).then((saved) => {
              if (saved) this.leave(then);
            }),
        },
      ],
    };
  }

  close(): void {
    this.leave(() => void ui.send({ op: "file.close" }));
  }

  /** Saves a draft. A version of the host that the user has not seen is replaced only if the user says so. */
  async save(draft: FileDraft, etag = draft.etag, isNew = false): Promise<boolean> {
    const result = await draft.save(etag, isNew);
    if (result.state === "conflict" || result.state === "deleted") {
      const deleted = result.state === "deleted";
      const keep = { label: t.files.keepEditing, run: focusEditor };
      const overwrite = {
        label: deleted ? t.files.createAgain : t.files.overwrite,
        kind: "danger" as const,
        run: () => void this.save(draft, result.etag, deleted),
      };
      const reload = { label: t.files.reload, run: () => drafts.delete(draft.uri) };
      this.choice = {
        text: deleted ? t.files.conflictDeleted(draft.label) : t.files.conflict(draft.label),
        options: deleted ? [keep, overwrite] : [keep, reload, overwrite],
      };
    }
    return result.state === "saved";
  }

  ask(question: NameQuestion): void {
    this.question = question;
  }

  createFile(folder: string, label: string): void {
    this.ask({
      label: t.files.newFileIn(label),
      value: "",
      action: t.files.create,
      run: (name) => this.change({ op: "file.create", folder, name, data: "", replace: false }, name, (uri) => void ui.send({ op: "file.open", uri })),
    });
  }

  createFolder(folder: string, label: string): void {
    this.ask({
      label: t.files.newFolderIn(label),
      value: "",
      action: t.files.create,
      run: (name) => this.change({ op: "file.createFolder", folder, name }, name, () => {}),
    });
  }

  rename(uri: string, name: string, label: string): void {
    this.ask({
      label: t.files.renameTo(label),
      value: name,
      action: t.files.rename,
      run: (to) => (to === name ? Promise.resolve(true) : this.change({ op: "file.rename", uri, name: to }, to, (moved) => moveDrafts(uri, moved))),
    });
  }

  delete(uri: string, label: string, isFolder: boolean): void {
    ui.confirmation = {
      text: isFolder ? t.files.deleteFolder(label) : t.files.deleteFile(label),
      action: t.files.delete,
      danger: true,
      run: () =>
        void this.change({ op: "file.delete", uri }, label, () => {
          const open = store.file?.uri;
          if (open === uri && !drafts.get(uri)?.dirty) {
            drafts.delete(uri);
            void ui.send({ op: "file.close" });
          }
        }),
    };
  }

  async requestAccess(uri: string): Promise<void> {
    announce(t.files.requested);
    await ui.send({ op: "file.requestAccess", uri });
  }

  async download(uri: string, name: string): Promise<void> {
    try {
      const { data } = await request<FileBytes>({ op: "file.bytes", uri });
      // The type keeps the browser from showing the file as a page.
      const address = URL.createObjectURL(new Blob([decodeBase64(data)], { type: "application/octet-stream" }));
      const link = document.createElement("a");
      link.href = address;
      link.download = name;
      link.click();
      window.setTimeout(() => URL.revokeObjectURL(address), 60_000);
    } catch (error) {
      ui.notify(messageOf(error));
    }
  }

  /** Changes a folder; `true` if nothing has to be asked again. */
  private async change(command: FileCommand, name: string, then: (uri: string) => void): Promise<boolean> {
    try {
      const { state, uri } = await request<ChangeResult>(command);
      if (state === "exists") {
        ui.notify(t.files.exists(name));
        return false;
      }
      then(uri);
      return true;
    } catch (error) {
      ui.notify(messageOf(error));
      return false;
    }
  }
}

export const files = new FilesUi();

/** Continues in the editor, once the dialog or the button that asked is gone. */
export function focusEditor(): void {
  void tick().then(() => document.querySelector<HTMLTextAreaElement>("textarea[data-editor]")?.focus({ preventScroll: true }));
}
