// What a device reads when another one was faster, when a message is too large, and when the disk of the host is full.

import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A device that hears of nothing between `hold` and `release`. */
async function slowDevice({ browser, newDevice }, name) {
  const page = await newDevice(browser, { name });
  const worker = () => page.workers().find((each) => each.url().endsWith("/worker.js"));
  const hold = () =>
    worker().evaluate(() => {
      self.held = [];
      const { send } = WebSocket.prototype;
      // The worker sends a request, which tells its socket.
      WebSocket.prototype.send = function (data) {
        WebSocket.prototype.send = send;
        const handle = this.onmessage;
        this.onmessage = (event) => (self.held === null ? handle(event) : self.held.push(() => handle(event)));
        send.call(this, data);
      };
      self.onmessage({ data: { type: "do", id: 1e9, command: { op: "completions", kind: "files", text: "@", cursor: 1 } } });
    });
  const release = () =>
    worker().evaluate(() => {
      const { held } = self;
      self.held = null;
      for (const run of held) run();
    });
  return { page, hold, release };
}

const main = (page) => page.getByRole("main");
const box = (page) => main(page).getByRole("textbox", { name: "Message" }).last();
const notices = (page) => page.getByRole("log", { name: "Notices" });

export const steps = {
  async "the loser of a race for an approval reads who answered"(tools) {
    const { page, newSession, assert } = tools;
    const slow = await slowDevice(tools, "tablet");
    await newSession(page, "echo raced-answer");
    await main(page).getByRole("button", { name: "Allow once" }).first().waitFor();
    await slow.page.goto(page.url());
    const late = main(slow.page).getByRole("button", { name: "Deny" }).first();
    await late.waitFor();
    await slow.hold();
    await main(page).getByRole("button", { name: "Allow once" }).first().click();
    await main(page).getByText("raced-answer").nth(1).waitFor();
    await late.click();
    await slow.release();
    await notices(slow.page).getByText("already answered on laptop", { exact: true }).waitFor();
    assert.equal(await notices(slow.page).getByText("in progress").count(), 0);
    await main(slow.page).getByText("answered by laptop").waitFor();
    await slow.page.context().close();
  },

  async "a message that loses the race for a turn waits in the queue"(tools) {
    const { page, newSession, assert } = tools;
    const slow = await slowDevice(tools, "tablet");
    await newSession(page, "true before-the-race");
    await main(page).getByRole("button", { name: "Deny" }).first().click();
    await main(page).getByText("The command was not run.").waitFor();
    await slow.page.goto(page.url());
    await main(slow.page).getByText("The command was not run.").waitFor();
    await slow.hold();
    await box(page).fill("true first-message");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await main(page).getByRole("button", { name: "Deny" }).first().waitFor();
    await box(slow.page).fill("true second-message");
    await slow.page.getByRole("button", { name: "Send", exact: true }).click();
    await slow.release();
    await notices(slow.page).getByText("another device had started a turn: your message waits in the queue", { exact: true }).waitFor();
    for (const device of [page, slow.page]) {
      await main(device).getByRole("region", { name: "Queue" }).getByText("true second-message").waitFor();
    }
    assert.equal(await notices(slow.page).getByText("in progress").count(), 0);
    await main(page).getByRole("button", { name: "Deny" }).first().click();
    await main(page).getByRole("article", { name: "You" }).filter({ hasText: "true second-message" }).waitFor();
    await main(page).getByRole("button", { name: "Deny" }).first().click();
    await slow.page.context().close();
  },

  async "a message that is too large for the host is refused at once, and its text stays"({ page, newSession, assert }) {
    await newSession(page, "true large-message");
    await main(page).getByRole("button", { name: "Deny" }).first().click();
    await main(page).getByText("The command was not run.").waitFor();
    const length = 17 * 1024 * 1024;
    await box(page).evaluate((field, length) => {
      field.value = "x".repeat(length);
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }, length);
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await main(page).getByRole("alert").filter({ hasText: "the message has 18 MB, and hosts accept at most 16 MB" }).waitFor();
    assert.equal(await box(page).evaluate((field) => field.value.length), length);
    await page.getByText("Live").first().waitFor();
    await box(page).fill("echo small-message");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await main(page).getByRole("button", { name: "Deny" }).first().click();
    assert.equal(await page.getByText(/Offline/).count(), 0);
    for (const button of await notices(page).getByRole("button", { name: "Dismiss" }).all()) await button.click();
  },

  async "a full disk of the host is shown until there is room again"({ browser, startOther, assert, DESKTOP, PHONE }) {
    const data = mkdtempSync(join(tmpdir(), "agenthost-disk-"));
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=24m,mode=700", "tmpfs", data], { stdio: "ignore" });
    } catch {
      console.log("        skipped: file systems cannot be mounted here");
      return;
    }
    const other = await startOther(join(data, "host"));
    try {
      const context = await browser.newContext({ viewport: DESKTOP });
      const page = await context.newPage();
      await page.goto(other.link());
      const small = await (await browser.newContext({ viewport: PHONE, hasTouch: true, isMobile: true })).newPage();
      await small.goto(other.link());
      const banner = (device) => device.getByRole("complementary", { name: "Storage of the host" }).getByText(/The host can store nothing: .*full/);
      for (const device of [page, small]) await device.getByText("Live").first().waitFor();
      assert.equal(await banner(page).count(), 0);
      const filler = openSync(join(data, "filler"), "w");
      try {
        for (;;) writeSync(filler, Buffer.alloc(4096));
      } catch (error) {
        assert.equal(error.code, "ENOSPC");
      }
      closeSync(filler);
      // The host notices with the next change.
      await page.getByRole("button", { name: "New session" }).first().click();
      await page.getByRole("textbox", { name: "Message" }).last().fill(`true ${"x".repeat(400_000)}`);
      await page.getByRole("button", { name: "Start session" }).click();
      for (const device of [page, small]) await banner(device).waitFor();
      rmSync(join(data, "filler"));
      for (const device of [page, small]) await banner(device).waitFor({ state: "detached" });
      for (const device of [page, small]) await device.context().close();
    } finally {
      await other.stop();
      execFileSync("umount", [data]);
      rmSync(data, { recursive: true });
    }
  },
};
