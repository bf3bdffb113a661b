/** Time for which a request that has appeared or moved takes no answer by pointer, in milliseconds. */
const SETTLE_MS = 600;

/**
 * Is `false` for a short time after something has moved: a tap that was meant for another request
 * must not answer the one that has taken its place.
 */
export class Settling {
  done = $state(true);
  #timer: ReturnType<typeof setTimeout> | undefined;

  restart(): void {
    this.done = false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.done = true), SETTLE_MS);
  }
}

/** The requests of the inbox, which move when one of them appears or is answered. */
export const inboxSettling = new Settling();
