// Budgets of the page in a real browser. Times are measured in the page; a slow machine gets more of it, by the time that
// a fixed computation takes there.

/** How much slower this machine is than the one that the budgets are for; at least 1. */
function slowness(page) {
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

/** Prints a measured time and its limit on this machine. */
function report(what, measured, limit, factor) {
  console.log(`        ${what}: ${Math.round(measured)} ms, at most ${Math.round(limit * factor)} (${factor.toFixed(1)} × ${limit})`);
}

async function runAndAllow(page, newSession, command) {
  await newSession(page, command);
  await page.getByRole("button", { name: "Allow once" }).first().click();
  await page.waitForFunction(() => !document.body.innerText.includes("Needs you"));
}

export const steps = {
  async "an idle page draws no frames and runs no timers"({ page }) {
    await page.waitForFunction(() => !document.body.innerText.includes("Running"));
    const calls = await page.evaluate(async () => {
      let calls = 0;
      const frame = window.requestAnimationFrame;
      const timer = window.setTimeout;
      const interval = window.setInterval;
      const counted = (original) => (...words) => {
        calls += 1;
        return original(...words);
      };
      window.requestAnimationFrame = counted(frame);
      window.setTimeout = counted(timer);
      window.setInterval = counted(interval);
      let changes = 0;
      const observer = new MutationObserver((list) => (changes += list.length));
      observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
      await new Promise((done) => timer(done, 10_000));
      observer.disconnect();
      window.requestAnimationFrame = frame;
      window.setTimeout = timer;
      window.setInterval = interval;
      return { calls, changes };
    });
    if (calls.calls !== 0 || calls.changes !== 0) {
      throw new Error(`an idle page made ${calls.calls} calls and ${calls.changes} changes`);
    }
  },

  async "a diff of 100,000 lines in a list of 2,500 files opens quickly"({ page, newSession, assert }) {
    const factor = await slowness(page);
    await runAndAllow(page, newSession, "seq 1 100000 > big.txt; mkdir many; for i in $(seq 1 2500); do echo $i > many/file-$i.txt; done");
    await page.getByRole("button", { name: "Changes", exact: true }).first().click();
    // The title of the session has the name of the file, too, after its command.
    const file = page.getByRole("button", { name: /big\.txt/ }).filter({ hasText: "+100K" });
    await file.waitFor({ timeout: 60_000 });
    const measured = await file.evaluate(async (button) => {
      const started = performance.now();
      button.click();
      while (!document.querySelector(".rows .line")) {
        await new Promise((done) => requestAnimationFrame(done));
        if (performance.now() - started > 30_000) {
          return -1;
        }
      }
      return performance.now() - started;
    });
    assert.ok(measured >= 0, "the diff did not open");
    report("diff of 100,000 lines", measured, 300, factor);
    assert.ok(measured <= 300 * factor, `the diff took ${Math.round(measured)} ms, on a machine ${factor.toFixed(1)} times slower`);
  },

  async "the list of sessions is there soon after a load"({ page, newSession, assert }) {
    const factor = await slowness(page);
    await runAndAllow(page, newSession, "echo a-session-to-find");
    await page.reload({ waitUntil: "commit" });
    // The time of the page starts with the navigation.
    const row = await page.waitForFunction(
      () => document.body?.innerText.includes("a-session-to-find") && performance.now(),
      undefined,
      { polling: "raf" },
    );
    const measured = await row.jsonValue();
    report("list of sessions", measured, 400, factor);
    assert.ok(measured <= 400 * factor, `the list took ${Math.round(measured)} ms`);
  },
};
