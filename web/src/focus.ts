// Keeps the focus near its place when the element that has it disappears: the browser would give it to the document, and
// the keyboard would start from the top again.

const FOCUSABLE = "button:not(:disabled), a[href], input:not([hidden], :disabled), select:not(:disabled), textarea:not(:disabled), [tabindex='0']";

/** An element and its place below each of its ancestors, the nearest first. */
export type FocusPlace = { element: HTMLElement; path: { parent: Element; index: number }[] };

/** The element that has the focus; `undefined` after the user has left it. */
let current: FocusPlace | undefined;

/** The focus was moved since the last key went down: the rest of that key press is not for the element that has it now. */
let wasMoved = false;

export function placeOf(element: Element | null): FocusPlace | undefined {
  if (!(element instanceof HTMLElement) || element === document.body) return undefined;
  const path: FocusPlace["path"] = [];
  for (let node: Element = element; node.parentElement !== null; node = node.parentElement) {
    path.push({ parent: node.parentElement, index: [...node.parentElement.children].indexOf(node) });
  }
  return { element, path };
}

function isLost(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}

function canHaveFocus(element: HTMLElement): boolean {
  return element.isConnected && element.checkVisibility({ visibilityProperty: true }) && !element.matches(":disabled");
}

/** Moves the focus to a place if it is lost: to the element, to what follows it, or to what is before it. */
export function focusNear(place: FocusPlace | undefined): void {
  if (place === undefined || !isLost()) return;
  if (canHaveFocus(place.element)) {
    place.element.focus({ preventScroll: true });
    return;
  }
  for (const { parent, index } of place.path) {
    if (!parent.isConnected) continue;
    const children = [...parent.children];
    const before = children.slice(0, index).reverse();
    for (const child of [...children.slice(index), ...before]) {
      const found = [child, ...child.querySelectorAll(FOCUSABLE)].find((each) => each.matches(FOCUSABLE) && canHaveFocus(each as HTMLElement));
      (found as HTMLElement | undefined)?.focus({ preventScroll: true });
      if (!isLost()) return;
    }
  }
}

/** Moves the focus on if its element has disappeared. Dialogs give it back themselves. */
function keep(): void {
  if (current === undefined || !isLost()) return;
  const place = current;
  current = undefined;
  wasMoved = true;
  // The user has clicked beside it, or a dialog has closed.
  if (canHaveFocus(place.element) || place.path.some(({ parent }) => parent instanceof HTMLDialogElement && !parent.isConnected)) return;
  focusNear(place);
}

export function keepFocus(): void {
  document.addEventListener("keydown", () => (wasMoved = false), true);
  // Enter would click the button that has got the focus.
  document.addEventListener("keypress", (event) => wasMoved && event.preventDefault(), true);
  document.addEventListener("focusin", ({ target }) => (current = placeOf(target as Element)));
  // The focus is on its way to another element, which it reaches after the handlers of this event.
  document.addEventListener("blur", ({ relatedTarget }) => relatedTarget !== null && (current = undefined), true);
  document.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget === null && document.hasFocus()) queueMicrotask(keep);
  });
  // Not every browser reports that an element with the focus was removed.
  new MutationObserver(() => {
    if (current !== undefined && !current.element.isConnected) keep();
  }).observe(document.body, { childList: true, subtree: true });
}
