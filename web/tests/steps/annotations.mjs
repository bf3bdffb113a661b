// Comments on changed files, the review, keys of the changes panel, undo and commit, hostile text, large output.

import { AxeBuilder } from "@axe-core/playwright";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

async function approve(page) {
  const allow = page.getByRole("main").getByRole("button", { name: "Allow once" }).first();
  await allow.waitFor();
  await allow.click();
  await page.getByRole("main").getByText("Done", { exact: true }).first().waitFor();
}

function panel(page) {
  return page.locator(".right");
}

async function showChanges(page) {
  const tab = page.getByRole("button", { name: "Changes", exact: true }).last();
  if (await page.getByRole("button", { name: "Show panel" }).isVisible()) {
    await page.getByRole("button", { name: "Show panel" }).click();
  }
  await tab.click();
  const back = panel(page).getByRole("button", { name: "Back" });
  if (await back.isVisible()) await back.click();
}

/** Starts a session that writes a file, and opens the diff of the file. */
async function openDiff(page, newSession, name, content = "one\\ntwo\\nthree\\n") {
  await newSession(page, `printf '${content}' > ${name}`);
  await approve(page);
  await showChanges(page);
  await openFile(page, name);
}

async function openFile(page, name) {
  await panel(page).getByRole("list").getByRole("button", { name }).first().click();
  await panel(page).getByRole("region", { name: /^Diff of/ }).waitFor();
  await panel(page).locator(".line").first().waitFor();
}

async function comment(page, line, text) {
  await panel(page).getByRole("button", { name: `Comment on ${line}`, exact: true }).click();
  await panel(page).getByRole("textbox", { name: `Comment on ${line}` }).fill(text);
  await panel(page).getByRole("button", { name: "Comment", exact: true }).click();
}

/** Opens the first session of the list on a phone, and its diff. */
async function openOnPhone(phone, name, set) {
  phone.setDefaultTimeout(10_000);
  await phone.getByRole("button", { name: "Sessions", exact: true }).last().click();
  await phone.locator(".session-pane").getByRole("button").filter({ hasText: name }).first().click();
  await phone.getByRole("main").getByText(name).first().waitFor();
  await showChanges(phone);
  if (set !== undefined) await panel(phone).getByRole("combobox", { name: "Compare" }).selectOption({ label: set });
  await openFile(phone, name);
}

function thread(page, text) {
  return panel(page).getByRole("region", { name: /^Comments on/ }).filter({ hasText: text });
}

async function check(page, assert, scope) {
  const { violations } = await new AxeBuilder({ page }).include(scope).analyze();
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`), []);
}

async function shot(page, name) {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
}

export const steps = {
  async "a comment is shared, answered, edited, resolved, reopened and removed"({ page, phone, newSession, assert }) {
    await openDiff(page, newSession, "shared.txt");
    await comment(page, "new line 2", "Why two?");
    await thread(page, "Why two?").getByText("You").waitFor();
    await shot(page, "desktop-thread");
    const other = await phone();
    await openOnPhone(other, "shared.txt");
    await thread(other, "Why two?").waitFor();
    assert.ok((await thread(other, "Why two?").locator("time").count()) === 1);
    await shot(other, "phone-thread");
    await thread(other, "Why two?").getByRole("button", { name: "Reply" }).click();
    await thread(other, "Why two?").getByRole("textbox", { name: "Reply to the comment" }).fill("Because of one.");
    await thread(other, "Why two?").getByRole("button", { name: "Reply" }).click();
    await thread(page, "Because of one.").waitFor();
    // A comment of the phone on two lines: the second tap extends it.
    await panel(other).getByRole("button", { name: "Comment on new line 1", exact: true }).click();
    await panel(other).getByRole("button", { name: "Comment on new line 3", exact: true }).click();
    const box = panel(other).getByRole("textbox", { name: "Comment on new lines 1 to 3" });
    await box.fill("From the phone");
    await shot(other, "phone-editor");
    await check(other, assert, ".right");
    await panel(other).getByRole("button", { name: "Comment", exact: true }).click();
    await thread(page, "From the phone").waitFor();
    await check(page, assert, ".right");
    await thread(page, "Why two?").getByRole("button", { name: "Comment actions" }).first().click();
    await page.getByRole("menuitem", { name: "Edit comment" }).click();
    await thread(page, "Because of one.").getByRole("textbox", { name: "Text of the comment" }).fill("Why not three?");
    await thread(page, "Because of one.").getByRole("button", { name: "Save" }).click();
    await thread(other, "Why not three?").getByText("edited").waitFor();
    await thread(page, "Why not three?").getByRole("button", { name: "Resolve" }).click();
    await thread(other, "Resolved").waitFor();
    await thread(other, "Resolved").getByRole("button", { name: /^Show comment/ }).click();
    await thread(other, "Why not three?").getByRole("button", { name: "Reopen" }).click();
    await thread(page, "Why not three?").getByRole("button", { name: "Resolve" }).waitFor();
    await panel(page).getByRole("button", { name: "Back" }).click();
    await panel(page).getByRole("img", { name: "2 open comments" }).waitFor();
    await shot(page, "desktop-list");
    await openFile(page, "shared.txt");
    // The answer is removed, and then the thread with its last comment.
    for (const text of ["Because of one.", "Why not three?", "From the phone"]) {
      await thread(page, text).getByRole("button", { name: "Comment actions" }).last().click();
      await page.getByRole("menuitem", { name: "Delete comment" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete comment" }).click();
      await panel(other).getByText(text).waitFor({ state: "detached" });
    }
    assert.deepEqual(other.errors, []);
    await other.context().close();
  },

  async "two devices comment on one line at once"({ browser, newDevice, page, newSession, assert }) {
    await openDiff(page, newSession, "at-once.txt");
    const other = await newDevice(browser, { name: "second" });
    await other.goto(page.url());
    await showChanges(other);
    await openFile(other, "at-once.txt");
    await Promise.all([comment(page, "new line 3", "by the first"), comment(other, "new line 3", "by the second")]);
    for (const device of [page, other]) {
      for (const text of ["by the first", "by the second"]) await thread(device, text).waitFor();
      assert.equal(await panel(device).getByRole("region", { name: /^Comments on/ }).count(), 2);
    }
    await other.context().close();
  },

  async "a review is previewed, sent as one message, and resolves its comments"({ page, newSession, project, assert }) {
    await openDiff(page, newSession, "review.txt");
    await comment(page, "new line 1", "First remark");
    await thread(page, "First remark").waitFor();
    await panel(page).getByRole("button", { name: "Comment on new line 2", exact: true }).click();
    await panel(page).getByRole("button", { name: "Comment on new line 3", exact: true }).click({ modifiers: ["Shift"] });
    await panel(page).getByRole("textbox", { name: "Comment on new lines 2 to 3" }).fill("Second \u202eremark");
    await page.keyboard.press("Control+Enter");
    await thread(page, "Second").waitFor();
    await page.getByRole("main").getByRole("textbox", { name: "Message" }).last().fill("my draft");
    await panel(page).getByRole("button", { name: "Send review, 2 open comments" }).click();
    const dialog = page.getByRole("dialog", { name: "Send review" });
    await dialog.getByRole("textbox", { name: "Summary" }).fill("true # All in all");
    const preview = dialog.getByRole("group", { name: "Message" });
    await preview.getByText("true # All in all").waitFor();
    const text = await preview.innerText();
    for (const part of ["2 comments in 1 file", "1. review.txt, line 1", "First remark", "review.txt, lines 2-3", "two\nthree", "\\u{202e}remark"]) {
      assert.ok(text.includes(part), `${part} is not in ${text}`);
    }
    await shot(page, "desktop-review");
    await check(page, assert, "dialog");
    await dialog.getByRole("button", { name: "Send to the agent" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("main").getByRole("article", { name: "You" }).filter({ hasText: "First remark" }).first().waitFor();
    await panel(page).getByRole("button", { name: /^Show comment/ }).nth(1).waitFor();
    assert.equal(await panel(page).getByRole("button", { name: /^Send review/ }).count(), 0);
    assert.equal(await page.getByRole("main").getByRole("textbox", { name: "Message" }).last().inputValue(), "my draft");
    await page.getByRole("main").getByRole("button", { name: "Deny" }).first().click();
    await page.getByRole("main").getByRole("textbox", { name: "Message" }).last().fill("");
    assert.ok(existsSync(join(project, "review.txt")));
  },

  async "a review waits in the queue while a turn runs"({ page, newSession }) {
    await openDiff(page, newSession, "queued.txt");
    await comment(page, "new line 1", "Queued remark");
    await thread(page, "Queued remark").waitFor();
    await page.getByRole("main").getByRole("textbox", { name: "Message" }).last().fill("sleep 1000");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByRole("main").getByRole("button", { name: "Allow once" }).first().click();
    await page.getByRole("button", { name: "Stop", exact: true }).waitFor();
    await panel(page).getByRole("region", { name: /^Diff of/ }).focus();
    await page.keyboard.press("r");
    await page.getByRole("dialog").getByRole("button", { name: "Add to the queue" }).click();
    await page.getByRole("main").getByRole("list", { name: "Queue" }).or(page.getByRole("main").locator("section,div").filter({ hasText: "Queue" })).getByText("Queued remark").first().waitFor();
    await panel(page).getByRole("button", { name: /^Show comment/ }).waitFor();
    await page.getByRole("button", { name: "Remove", exact: true }).first().click();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText(/Cancelled|Stopped/i).first().waitFor();
  },

  async "keys move through files and hunks, comment, mark as reviewed and undo; the comment stays"({ page, phone, newSession, project, assert }) {
    await newSession(page, "seq 1 60 > keys-a.txt; printf 'b\\n' > keys-b.txt");
    await approve(page);
    await showChanges(page);
    await panel(page).getByRole("combobox", { name: "Compare" }).selectOption({ label: "Session changes" });
    await openFile(page, "keys-a.txt");
    await page.keyboard.press("j");
    await panel(page).getByRole("region", { name: /keys-b.txt/ }).waitFor();
    await page.keyboard.press("k");
    await panel(page).getByRole("region", { name: /keys-a.txt/ }).waitFor();
    await panel(page).locator(".line").first().waitFor();
    await page.keyboard.press("n");
    for (let step = 0; step < 2; step += 1) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("c");
    await page.keyboard.type("typed comment");
    await page.keyboard.press("Control+Enter");
    await thread(page, "typed comment").waitFor();
    await page.keyboard.press("?");
    const help = page.getByRole("dialog", { name: "Keys" });
    await help.getByText("Undo the file").waitFor();
    await shot(page, "desktop-keys");
    await check(page, assert, "dialog");
    await page.keyboard.press("Escape");
    await panel(page).getByRole("region", { name: /^Diff of/ }).focus();
    await page.keyboard.press("v");
    await page.waitForFunction(() => document.querySelector(".right .bar input[type=checkbox]")?.checked);
    // The mark is shared.
    const other = await phone();
    await openOnPhone(other, "keys-a.txt", "Session changes");
    await other.waitForFunction(() => document.querySelector(".right .bar input[type=checkbox]")?.checked);
    await page.keyboard.press("x");
    await page.getByRole("dialog").getByRole("button", { name: "Undo" }).click();
    for (const device of [page, other]) {
      const back = panel(device).getByRole("button", { name: "Back" });
      if (device === other) await device.waitForFunction(() => !document.querySelector(".right .bar input[type=checkbox]"));
      else await device.waitForFunction(() => !document.querySelector(".right .bar input[type=checkbox]"));
      await back.click();
      const orphan = panel(device).getByRole("region", { name: "On files without changes" });
      await orphan.getByText("typed comment").waitFor();
      await orphan.locator("pre", { hasText: /^\d+$/ }).waitFor();
    }
    await shot(other, "phone-orphan");
    await check(other, assert, ".right");
    assert.ok(!existsSync(join(project, "keys-a.txt")), "the file was not undone");
    assert.equal(readFileSync(join(project, "keys-b.txt"), "utf8"), "b\n");
    await panel(page).getByRole("button", { name: "Send review, 1 open comment" }).waitFor();
    await other.context().close();
  },

  async "changes are committed"({ page, newSession, project, assert }) {
    for (const [key, value] of [["user.name", "Test"], ["user.email", "test@example.org"]]) {
      execFileSync("git", ["config", key, value], { cwd: project });
    }
    await newSession(page, "echo committed > committed.txt");
    await approve(page);
    await showChanges(page);
    await panel(page).getByRole("combobox", { name: "Compare" }).selectOption({ label: "Uncommitted changes" });
    await panel(page).getByRole("list").getByRole("button", { name: "committed.txt" }).first().waitFor();
    await panel(page).getByRole("group", { name: "Operations" }).getByRole("button", { name: "Commit" }).click();
    await panel(page).getByText("No changed files").waitFor();
    assert.match(execFileSync("git", ["show", "--stat", "HEAD"], { cwd: project }).toString(), /committed\.txt/);
  },

  async "500 comments stay usable"({ page, newSession, assert }) {
    await page.addInitScript(() => {
      window.Worker = class extends Worker {
        constructor(...words) {
          super(...words);
          window.pageWorker = this;
        }
      };
    });
    await page.reload();
    await page.getByText("Live").first().waitFor();
    await newSession(page, "seq 1 1000 > many.txt");
    await approve(page);
    await showChanges(page);
    await openFile(page, "many.txt");
    const file = await page.evaluate(async () => {
      const list = document.querySelector(".right [role=region]");
      return list?.getAttribute("aria-label");
    });
    assert.match(file, /many\.txt/);
    await panel(page).getByRole("button", { name: "Back" }).click();
    const key = await panel(page).locator("[data-file]").filter({ hasText: "many.txt" }).getAttribute("data-file");
    await openFile(page, "many.txt");
    await page.evaluate((wanted) => {
      for (let line = 1; line <= 500; line += 1) {
        const command = { op: "annotation.add", file: wanted, side: "after", first: line * 2, last: line * 2, text: `Remark ${line}` };
        window.pageWorker.postMessage({ type: "do", id: 1_000_000 + line, command });
      }
    }, key);
    await panel(page).getByRole("button", { name: "Send review, 500 open comments" }).waitFor();
    await page.waitForFunction(() => !document.body.innerText.includes("waiting to be sent"));
    await thread(page, "Remark 1").first().waitFor();
    const scroller = panel(page).getByRole("region", { name: /^Diff of/ });
    assert.ok((await panel(page).getByRole("region", { name: /^Comments on/ }).count()) < 60, "all threads are drawn");
    const last = thread(page, "Remark 500");
    for (let tries = 0; tries < 50 && (await last.count()) === 0; tries += 1) {
      await scroller.evaluate((element) => new Promise((done) => {
        element.scrollTop = element.scrollHeight;
        requestAnimationFrame(() => requestAnimationFrame(done));
      }));
    }
    await last.waitFor();
    await page.keyboard.press("Escape");
    await panel(page).getByRole("button", { name: "Send review, 500 open comments" }).click();
    const dialog = page.getByRole("dialog", { name: "Send review" });
    await dialog.getByText("500 comments in 1 file").waitFor();
    await dialog.getByRole("button", { name: "Send to the agent" }).click();
    await dialog.waitFor({ state: "detached" });
    await panel(page).getByRole("button", { name: /^Send review/ }).waitFor({ state: "detached" });
    await page.getByRole("main").getByRole("button", { name: "Deny" }).first().click();
  },

  async "text of peers is shown as it is, and stays in its place"({ page, newSession, assert }) {
    await openDiff(page, newSession, "hostile.txt", String.raw`<img src=x onerror=window.pwned=1>\n\342\200\256evil\n`);
    await comment(page, "new line 1", "<img src=x onerror=window.pwned=2>\u202egnp.\u001b[31m\n# not a heading");
    const text = thread(page, "<img src=x").locator(".text");
    assert.equal(await text.innerText(), "<img src=x onerror=window.pwned=2>\\u{202e}gnp.\\u{1b}[31m\n# not a heading");
    assert.equal(await panel(page).locator("img").count(), 0);
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    assert.equal(await panel(page).locator(".line .code").nth(1).evaluate((code) => getComputedStyle(code).unicodeBidi), "isolate");
    // The user decides upon a command by what it says.
    await newSession(page, "echo \u202efdp.exe # **not bold**");
    const card = page.getByRole("main").getByRole("group", { name: /^(Command|Input)$/ });
    await card.waitFor();
    assert.equal(await card.innerText(), "echo \\u{202e}fdp.exe # **not bold**");
    const message = page.getByRole("main").getByRole("article", { name: "You" }).first();
    assert.ok((await message.innerText()).includes("# **not bold**"));
    assert.equal(await message.locator("strong").count(), 0);
    await page.getByRole("main").getByRole("button", { name: "Deny" }).first().click();
  },

  async "the whole output of a command opens"({ page, newSession, assert }) {
    await newSession(page, "for i in $(seq 1 20000); do printf '\\033[32mline %s\\033[0m\\n' $i; done");
    await approve(page);
    await page.getByRole("main").getByRole("button", { name: /^Ran / }).click();
    await page.getByRole("main").getByRole("button", { name: "Open the whole output" }).click();
    const dialog = page.getByRole("dialog", { name: "Open the whole output" });
    await dialog.getByText("20,000 lines").waitFor();
    await dialog.getByText("line 1\n").waitFor();
    await shot(page, "desktop-output");
    await check(page, assert, "dialog");
    await dialog.getByRole("group", { name: "Output" }).evaluate((element) => (element.scrollTop = element.scrollHeight));
    await dialog.getByText("line 20000").waitFor();
    assert.ok(!(await dialog.innerText()).includes("[32m"));
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.equal(await page.getByRole("main").getByRole("group", { name: "Output" }).count(), 1, "the output is shown twice");
  },

  async "a device that may only read sees comments and cannot write any"({ browser, page, newDevice, newSession, assert }) {
    await openDiff(page, newSession, "read.txt");
    await comment(page, "new line 1", "Visible to all");
    await thread(page, "Visible to all").waitFor();
    const reader = await newDevice(browser, { name: "reader", scope: "read" });
    await reader.goto(page.url());
    await showChanges(reader);
    await openFile(reader, "read.txt");
    await thread(reader, "Visible to all").waitFor();
    assert.equal(await thread(reader, "Visible to all").getByRole("button").count(), 0);
    assert.equal(await panel(reader).getByRole("button", { name: /^Comment on/ }).count(), 0);
    assert.equal(await panel(reader).getByRole("button", { name: /^Send review/ }).count(), 0);
    assert.ok(await panel(reader).getByRole("checkbox").first().isDisabled());
    await reader.context().close();
  },

  async "a comment without a connection is confirmed after the reconnection"({ page, phone, newSession, stopHost, startHost, assert }) {
    await openDiff(page, newSession, "offline.txt");
    await comment(page, "new line 1", "Before");
    await thread(page, "Before").waitFor();
    await stopHost("SIGKILL");
    await page.getByText(/Offline/).first().waitFor();
    await comment(page, "new line 2", "Written offline");
    await thread(page, "Written offline").getByText("Not confirmed by the host yet").waitFor();
    await panel(page).getByRole("button", { name: /^Send review, 2 open/ }).click();
    const dialog = page.getByRole("dialog", { name: "Send review" });
    await dialog.getByText("Written offline").waitFor();
    await dialog.getByRole("button", { name: "Send to the agent" }).click();
    await dialog.getByText("Sent, waiting for the host").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await thread(page, "Written offline").getByText("Being sent to the agent").waitFor();
    await startHost();
    await page.getByText("Live").first().waitFor();
    await panel(page).getByRole("button", { name: /^Show comment/ }).nth(1).waitFor();
    const other = await phone();
    await openOnPhone(other, "offline.txt");
    await panel(other).getByRole("button", { name: /^Show comment: Written offline/ }).waitFor();
    await page.getByRole("main").getByRole("article", { name: "You" }).filter({ hasText: "Written offline" }).first().waitFor();
    assert.equal(await page.getByRole("main").getByRole("article", { name: "You" }).filter({ hasText: "Written offline" }).count(), 1);
    await page.getByRole("main").getByRole("button", { name: "Deny" }).first().click();
    await other.context().close();
  },
};
