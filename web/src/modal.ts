// Modal dialogs. A dialog is removed from the page when it closes, so the browser does not give the focus back itself.

/** Shows a dialog; when it is gone, the focus returns to where it was. */
export function showModal(dialog: HTMLDialogElement): () => void {
  const before = document.activeElement;
  dialog.showModal();
  return () => {
    queueMicrotask(() => {
      const isLost = document.activeElement === null || document.activeElement === document.body;
      if (isLost && before instanceof HTMLElement && before.isConnected) before.focus();
    });
  };
}
