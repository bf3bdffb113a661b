// Budgets of the page in a real browser.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { checkTime, slowness } from "../slowness.mjs";

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

  async "a diff of 100,000 lines in a list of 2,500 files opens quickly"({ page, newSession, project }) {
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
    // The host shows 3,000 changed files at most: other steps have files, too.
    for (const name of ["many", "big.txt"]) rmSync(join(project, name), { recursive: true });
    checkTime("diff of 100,000 lines", measured, 300, factor);
  },

  async "the list of sessions is there soon after a load"({ page, newSession }) {
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
    checkTime("list of sessions", measured, 400, factor);
  },
};
