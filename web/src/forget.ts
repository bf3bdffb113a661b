// The end of the pairing of this device: nothing private stays in the browser.

import { NAME_KEY, NEW_SESSION_KEY, PAIRED_KEY } from "./pairing";
import { dropStates } from "./saved-state";
import { dropHeld } from "./shared-draft.svelte";

const ENDED_KEY = "agenthost.ended";

/** Removes what this browser has stored, and loads the page again: that empties its memory and all that it shows. */
export async function forgetDevice(): Promise<void> {
  localStorage.removeItem(PAIRED_KEY);
  localStorage.removeItem(NAME_KEY);
  localStorage.removeItem(NEW_SESSION_KEY);
  dropHeld();
  sessionStorage.setItem(ENDED_KEY, "1");
  await dropStates();
  // The address names the session that was open.
  history.replaceState(null, "", location.pathname);
  location.reload();
}

/** Returns `true` if the page was loaded because the host has ended the pairing. */
export function takeEnded(): boolean {
  const ended = sessionStorage.getItem(ENDED_KEY) !== null;
  sessionStorage.removeItem(ENDED_KEY);
  return ended;
}
