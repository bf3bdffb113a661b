// Modal dialogs. A dialog is removed from the page when it closes, so the browser does not give the focus back itself.

import { focusNear, placeOf } from "./focus";

/** Shows a dialog; when it is gone, the focus returns to where it was, or near it. */
export function showModal(dialog: HTMLDialogElement): () => void {
  const before = placeOf(document.activeElement);
  dialog.showModal();
  return () => queueMicrotask(() => focusNear(before));
}
