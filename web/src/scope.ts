// What the host lets this device do. It refuses everything else, so the page does not offer it.

import { store } from "./store.svelte";

export const scope = {
  /** This device may send messages, answer requests and change files. */
  get operates(): boolean {
    return store.host.scope !== "read";
  },
  /** This device may open terminals and type into them. */
  get hasTerminals(): boolean {
    return store.host.scope === undefined;
  },
};
