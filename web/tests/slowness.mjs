// Limits of times. Times are measured in the page; a slow machine gets more of it, by the time that a fixed computation
// takes there.

/** How much slower this machine is than the one that the budgets are for; at least 1. */
export function slowness(page) {
  return page.evaluate(() => {
    const started = performance.now();
    let sum = 0;
    for (let index = 0; index < 2e7; index += 1) {
      sum = (sum + index * 31) % 1000003;
    }
    const REFERENCE_MS = 60;
    return Math.max(1, (performance.now() - started + (sum < 0 ? 1 : 0)) / REFERENCE_MS);
  });
}

/** Prints a measured time and its limit on this machine, and throws if it is above the limit. */
export function checkTime(what, measured, limit, factor) {
  const line = `${what}: ${measured.toFixed(1)} ms, at most ${(limit * factor).toFixed(1)} (${factor.toFixed(1)} × ${limit})`;
  console.log(`        ${line}`);
  if (!(measured >= 0 && measured <= limit * factor)) {
    throw new Error(line);
  }
}

/** Prints a measured number and throws if it is above its limit. */
export function checkCount(what, measured, limit) {
  const line = `${what}: ${measured}, at most ${limit}`;
  console.log(`        ${line}`);
  if (!(measured <= limit)) {
    throw new Error(line);
  }
}
