// Assertions that wait.

/** A step went wrong; the message says what was expected. */
export class Failure extends Error {}

export const DEFAULT_TIMEOUT_MS = 10_000;
const POLL_MS = 50;

export const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

/**
 * Calls `probe` until it returns something truthy, and returns that. Errors
 * of `probe` count as "not yet"; the last one is part of the failure.
 */
export async function eventually(what, probe, timeout = DEFAULT_TIMEOUT_MS) {
  const end = Date.now() + timeout;
  let last;
  for (;;) {
    try {
      const found = await probe();
      if (found) return found;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) {
      const reason = last ? `: ${firstLine(last)}` : '';
      throw new Failure(`expected within ${timeout / 1000} s: ${what}${reason}`);
    }
    await sleep(POLL_MS);
  }
}

/** Checks that `probe` stays truthy for a while. */
export async function remains(what, probe, duration = 1000) {
  const end = Date.now() + duration;
  while (Date.now() < end) {
    if (!(await probe())) throw new Failure(`expected all the time: ${what}`);
    await sleep(POLL_MS);
  }
}

export function check(condition, what) {
  if (!condition) throw new Failure(`expected: ${what}`);
}

export function equal(actual, expected, what) {
  const [found, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (found !== wanted) throw new Failure(`${what}: expected ${wanted}, found ${found}`);
}

export function includes(text, part, what) {
  if (!text.includes(part)) throw new Failure(`${what}: expected ${JSON.stringify(part)} in ${JSON.stringify(text.slice(0, 600))}`);
}

export function firstLine(error) {
  return String(error?.message ?? error).split('\n')[0];
}
