// The form of a new session, files in both composers, and the actions of the session list, on a desktop and a phone.

import { AxeBuilder } from "@axe-core/playwright";
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

async function check(page, assert, scope) {
  const { violations } = await new AxeBuilder({ page }).include(scope).analyze();
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`), []);
}

async function openForm(page) {
  await page.getByRole("button", { name: "New session" }).first().click();
  await page.getByRole("heading", { name: "What should be done?" }).waitFor();
  await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption({ label: "Shell" });
}

const message = (page) => page.getByRole("main").getByRole("textbox", { name: "Message" }).last();

/** Pastes or drops files into the message box, as the browser does. */
async function give(page, kind, files) {
  await message(page).evaluate((field, { kind, files }) => {
    const data = new DataTransfer();
    for (const { name, type, size, png } of files) {
      const bytes = png ? Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0)) : new Uint8Array(size);
      data.items.add(new File([bytes], name, { type }));
    }
    const options = { bubbles: true, cancelable: true };
    field.dispatchEvent(kind === "paste" ? new ClipboardEvent("paste", { ...options, clipboardData: data }) : new DragEvent("drop", { ...options, dataTransfer: data }));
  }, { kind, files });
}

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const IMAGE = { name: "shot.png", type: "image/png", png: PNG };
const attachments = (page) => page.getByRole("list", { name: "Attachments" });

/** Checks thumbnails and limits in the composer that is open. */
async function checkFiles(page, assert) {
  await give(page, "paste", [IMAGE]);
  const image = attachments(page).getByRole("img", { name: "shot.png" });
  await image.waitFor();
  assert.ok(await image.evaluate(async (each) => { await each.decode(); return each.naturalWidth > 0; }));
  await give(page, "drop", [{ name: "notes.txt", type: "text/plain", size: 10 }, { name: "huge.bin", type: "", size: 6_000_000 }]);
  await attachments(page).getByText("notes.txt").waitFor();
  const notices = page.getByRole("log", { name: "Notices" });
  await notices.getByText(/huge\.bin does not fit/).waitFor();
  await notices.getByRole("button", { name: "Dismiss" }).click();
  assert.equal(await attachments(page).getByRole("listitem").count(), 2);
  await attachments(page).getByRole("button", { name: "Remove notes.txt" }).click();
  await give(page, "paste", Array.from({ length: 30 }, (_, index) => ({ name: `f${index}`, type: "", size: 1 })));
  await notices.getByText("A message has at most 20 files.").waitFor();
  await notices.getByRole("button", { name: "Dismiss" }).click();
  assert.equal(await attachments(page).getByRole("listitem").count(), 20);
  for (let index = 0; index < 19; index += 1) {
    await attachments(page).getByRole("button", { name: `Remove f${index}`, exact: true }).click();
  }
  await image.waitFor();
}

async function allow(page) {
  const button = page.getByRole("main").getByRole("button", { name: "Allow once" }).first();
  await button.click();
  await button.waitFor({ state: "detached" });
}

const row = (page, title) => page.getByRole("list", { name: "Sessions" }).first().getByRole("listitem").filter({ has: page.getByRole("button", { name: `Actions for ${title}`, exact: true }) }).last();

async function act(page, title, action) {
  await row(page, title).hover();
  await page.getByRole("button", { name: `Actions for ${title}`, exact: true }).click();
  await page.getByRole("menuitem", { name: action, exact: true }).click();
}

export const steps = {
  async "the draft and the choices of a new session survive a reload"({ page, project, assert }) {
    await openForm(page);
    await message(page).fill("echo survives > survived.txt");
    const mode = page.getByRole("main").locator("select.chip").filter({ hasText: "Ask first" });
    const values = await mode.locator("option").evaluateAll((all) => all.map(({ value }) => value));
    await mode.selectOption(values.at(-1));
    await page.getByRole("button", { name: "Own worktree" }).click();
    await page.reload();
    await page.getByText("Live").first().waitFor();
    await page.getByRole("button", { name: "New session" }).first().click();
    assert.equal(await message(page).inputValue(), "echo survives > survived.txt");
    await page.locator(".on[aria-pressed='true']").getByText("Own worktree").waitFor();
    assert.equal(await page.getByRole("main").locator(`select.chip:has(option[value="${values.at(-1)}"])`).inputValue(), values.at(-1));
    // Back to the defaults, which are remembered as well.
    await page.getByRole("main").locator(`select.chip:has(option[value="${values.at(-1)}"])`).selectOption(values[0]);
    await page.getByRole("button", { name: "Own worktree" }).click();
    await page.getByRole("button", { name: `Folder ${project}` }).waitFor();
    await check(page, assert, "main");
    await message(page).fill("");
  },

  async "the mode and the worktree of the form are those of the session"({ page, agenthost, project, assert }) {
    // A worktree needs a commit to start from.
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "first"], { cwd: project });
    await openForm(page);
    const isolation = page.getByRole("button", { name: "Own worktree" });
    await isolation.click();
    assert.equal(await isolation.getAttribute("aria-pressed"), "true");
    await message(page).fill("true in-worktree");
    await page.getByRole("button", { name: "Start session" }).click();
    await page.getByRole("heading", { level: 1, name: /in-worktree/ }).waitFor();
    await page.getByRole("button", { name: "New session" }).first().click();
    assert.equal(await message(page).inputValue(), "", "the draft stays after it was sent");
    const session = JSON.parse(`[${agenthost("sessions", "--json").trim().split("\n").join(",")}]`).find(({ title }) => title?.includes("in-worktree"));
    assert.match(JSON.stringify(session), /worktree/);
    // The isolation cannot change any more, so the chat does not offer it.
    assert.equal(await page.getByRole("main").getByRole("combobox", { name: "Isolation" }).count(), 0);
    await openForm(page);
    await page.getByRole("button", { name: "Own worktree" }).click();
    assert.equal(await page.getByRole("button", { name: "Own worktree" }).getAttribute("aria-pressed"), "false");
  },

  async "a folder is browsed, typed, and refused where nothing was granted"({ page, phone, project, assert }) {
    mkdirSync(join(project, "alpha/beta"), { recursive: true });
    mkdirSync(join(project, "alps"), { recursive: true });
    await openForm(page);
    await page.getByRole("button", { name: `Folder ${project}` }).click();
    const dialog = page.getByRole("dialog", { name: "Choose a folder" });
    const path = dialog.getByRole("combobox", { name: "Path of the folder" });
    await dialog.getByRole("option", { name: "alpha", exact: true }).waitFor();
    await check(page, assert, "dialog");
    await path.fill(`${project}/alpha`);
    await dialog.getByRole("option", { name: "alps" }).waitFor({ state: "detached" });
    await path.press("Tab");
    assert.equal(await path.inputValue(), `${project}/alpha/`);
    await dialog.getByRole("option", { name: "beta" }).waitFor();
    await path.press("ArrowDown");
    await path.press("Enter");
    assert.equal(await path.inputValue(), `${project}/alpha/beta/`);
    await path.press("Enter");
    await page.getByRole("button", { name: `Folder ${project}/alpha/beta` }).click();
    await path.fill("/etc/");
    await dialog.getByText("The host does not let clients list this folder.").waitFor();
    // A recent folder is one step away.
    await dialog.getByRole("option", { name: project, exact: true }).click();
    await page.getByRole("button", { name: `Folder ${project}`, exact: true }).waitFor();
    const device = await phone();
    await openForm(device);
    await device.getByRole("button", { name: /^Folder / }).tap();
    const sheet = device.getByRole("dialog", { name: "Choose a folder" });
    await sheet.getByRole("option", { name: "alpha", exact: true }).tap();
    await sheet.getByRole("option", { name: "beta" }).waitFor();
    const heights = await sheet.locator("[role=option], button, input").evaluateAll((all) => all.map((each) => each.getBoundingClientRect().height));
    assert.ok(heights.every((height) => height >= 44), heights.join(" "));
    await check(device, assert, "dialog");
    await sheet.getByRole("button", { name: "Use this folder" }).tap();
    await device.getByRole("button", { name: `Folder ${project}/alpha`, exact: true }).waitFor();
    await device.context().close();
  },

  async "images are pasted and dropped into both composers within limits"({ page, phone, assert }) {
    await openForm(page);
    await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption({ label: "Demo agent" });
    await checkFiles(page, assert);
    await check(page, assert, "main");
    await message(page).fill("say picture-received");
    await page.getByRole("button", { name: "Start session" }).click();
    await page.getByRole("main").getByText("picture-received", { exact: true }).first().waitFor();
    const sent = page.getByRole("main").getByRole("article", { name: "You" }).first();
    await sent.getByText("shot.png").waitFor();
    await checkFiles(page, assert);
    await message(page).fill("say second-picture");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByRole("main").getByText("second-picture", { exact: true }).first().waitFor();
    assert.equal(await attachments(page).count(), 0);
    const device = await phone();
    await openForm(device);
    await give(device, "paste", [IMAGE]);
    await attachments(device).getByRole("img").waitFor();
    const button = attachments(device).getByRole("button", { name: "Remove shot.png" });
    const box = await button.boundingBox();
    assert.ok(box.width >= 44 && box.height >= 44, JSON.stringify(box));
    await check(device, assert, "main");
    await button.tap();
    assert.equal(await attachments(device).count(), 0);
    await device.context().close();
  },

  async "a session is renamed, forked, archived, found again and deleted by menu and keyboard"({ page, newSession, assert }) {
    await newSession(page, "echo listed-one");
    await allow(page);
    await act(page, "echo listed-one", "Rename");
    await page.getByRole("textbox", { name: "Title" }).fill("Listed");
    await page.keyboard.press("Enter");
    await row(page, "Listed").waitFor();
    await act(page, "Listed", "Fork");
    // The copy is a session of its own, with the turn.
    await row(page, "Copy of Listed").waitFor();
    await page.getByRole("heading", { level: 1, name: "Copy of Listed" }).waitFor();
    await page.getByRole("main").getByText("listed-one").first().waitFor();
    const current = page.locator("[data-session][aria-current='true']");
    await current.focus();
    await page.keyboard.press("F2");
    await page.getByRole("textbox", { name: "Title" }).fill("The copy");
    await page.keyboard.press("Enter");
    await row(page, "The copy").waitFor();
    // Archived sessions are hidden until they are asked for.
    await act(page, "Listed", "Archive");
    await row(page, "Listed").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Show archived sessions" }).click();
    await act(page, "Listed", "Restore from archive");
    await page.getByRole("button", { name: "Show archived sessions" }).click();
    await row(page, "Listed").waitFor();
    // The filter, and groups by folder, by time, and none.
    await page.getByRole("searchbox", { name: "Filter sessions" }).fill("the copy");
    await row(page, "Listed").waitFor({ state: "detached" });
    await row(page, "The copy").waitFor();
    await page.getByRole("searchbox", { name: "Filter sessions" }).fill("");
    await page.getByRole("combobox", { name: "Group" }).selectOption({ label: "By time" });
    await page.getByRole("button", { name: /project \d+/ }).waitFor({ state: "detached" });
    await page.getByRole("combobox", { name: "Group" }).selectOption({ label: "By folder" });
    await page.getByRole("button", { name: /project \d+/ }).waitFor();
    for (const title of ["The copy", "Listed"]) {
      await row(page, title).locator("[data-session]").focus();
      await page.keyboard.press("Delete");
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await row(page, title).waitFor({ state: "detached" });
    }
    assert.equal(await page.getByRole("log", { name: "Notices" }).getByRole("button", { name: "Dismiss" }).count(), 0);
  },

  async "all actions of the list are reachable on a phone"({ page, phone, newSession, assert }) {
    await newSession(page, "echo phone-listed");
    await allow(page);
    const device = await phone();
    await device.getByRole("button", { name: "Sessions", exact: true }).tap();
    await device.getByRole("button", { name: "Actions for echo phone-listed" }).tap();
    const items = device.getByRole("menuitem");
    assert.deepEqual(await items.allInnerTexts(), ["Rename", "Fork", "Archive", "Delete"]);
    const heights = await items.evaluateAll((all) => all.map((each) => each.getBoundingClientRect().height));
    assert.ok(heights.every((height) => height >= 44), heights.join(" "));
    await device.getByRole("menuitem", { name: "Fork" }).tap();
    await device.getByRole("heading", { level: 1, name: "Copy of echo phone-listed" }).waitFor();
    await device.getByRole("main").getByText("phone-listed").first().waitFor();
    await device.getByRole("button", { name: "Sessions", exact: true }).tap();
    await device.getByRole("button", { name: "Actions for Copy of echo phone-listed" }).waitFor();
    await check(device, assert, ".session-pane");
    await device.getByRole("button", { name: "Actions for echo phone-listed" }).tap();
    await device.getByRole("menuitem", { name: "Delete" }).tap();
    await device.getByRole("dialog").getByRole("button", { name: "Delete" }).tap();
    await device.getByRole("button", { name: "Actions for echo phone-listed" }).waitFor({ state: "detached" });
    await device.context().close();
  },

  async "a session that cannot be requested leaves the form as it was"({ page, stopHost, startHost, assert }) {
    await openForm(page);
    await give(page, "paste", [IMAGE]);
    await message(page).fill("echo refused");
    await stopHost("SIGKILL");
    await page.getByText(/Offline/).first().waitFor();
    await page.getByRole("button", { name: "Start session" }).click();
    await page.getByRole("main").getByRole("alert").getByText(/Not sent/).waitFor();
    assert.equal(await message(page).inputValue(), "echo refused");
    await attachments(page).getByRole("img").waitFor();
    await startHost();
    await page.getByText("Live").first().waitFor();
    await attachments(page).getByRole("button", { name: "Remove shot.png" }).click();
    await message(page).fill("");
  },

  async "a session that could not start shows the reason, and its message is tried again"({ page, phone, assert }) {
    await openForm(page);
    await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption({ label: "Broken" });
    await give(page, "paste", [IMAGE]);
    await message(page).fill("say this was not lost");
    await page.getByRole("button", { name: "Start session" }).click();
    const failure = (device) => device.getByRole("main").getByRole("alert").filter({ hasText: "This session could not start." });
    const inList = (device) => device.locator("[data-session]").filter({ hasText: /Could not start: .*no license found/ });
    for (const reload of [false, true]) {
      if (reload) {
        await page.reload();
        await page.getByText("Live").first().waitFor();
      }
      await failure(page).getByText(/no license found/).waitFor();
      await failure(page).getByText("say this was not lost").waitFor();
      await inList(page).first().waitFor();
    }
    await check(page, assert, "main");
    // Another device has the reason without opening the session, and can try again, too.
    const device = await phone();
    await device.getByRole("button", { name: "Sessions", exact: true }).tap();
    await inList(device).first().tap();
    await failure(device).getByText(/no license found/).waitFor();
    await failure(device).getByText("say this was not lost").waitFor();
    await check(device, assert, "main");
    await failure(device).getByRole("button", { name: "Try again" }).tap();
    assert.equal(await message(device).inputValue(), "say this was not lost");
    assert.equal(await device.getByRole("combobox", { name: "Agent", exact: true }).inputValue(), "broken");
    await attachments(device).getByRole("img", { name: "shot.png" }).waitFor();
    await device.context().close();
    await failure(page).getByRole("button", { name: "Try again" }).click();
    assert.equal(await message(page).inputValue(), "say this was not lost");
    assert.equal(await page.getByRole("combobox", { name: "Agent", exact: true }).inputValue(), "broken");
    await attachments(page).getByRole("img", { name: "shot.png" }).waitFor();
    await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption({ label: "Demo agent" });
    await page.getByRole("button", { name: "Start session" }).click();
    await page.getByRole("main").getByText("this was not lost", { exact: true }).first().waitFor();
    await inList(page).first().click();
    await failure(page).getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await inList(page).waitFor({ state: "detached" });
  },

  async "a message is sent when its session is ready, also after a reload or from another session"({ page, newSession, assert }) {
    await newSession(page, "true elsewhere");
    await page.getByRole("button", { name: "New session" }).first().click();
    await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption({ label: "Demo agent" });
    await message(page).fill("say sent-from-elsewhere");
    await page.getByRole("button", { name: "Start session" }).click();
    await page.locator("[data-session]").filter({ hasText: "true elsewhere" }).first().click();
    await page.locator("[data-session]").filter({ hasText: "sent-from-elsewhere" }).first().click();
    await page.getByRole("main").getByText("sent-from-elsewhere", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: "New session" }).first().click();
    await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption({ label: "Demo agent" });
    await message(page).fill("say sent-after-reload");
    await page.getByRole("button", { name: "Start session" }).click();
    await page.getByRole("heading", { name: "What should be done?" }).waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("main").getByText("sent-after-reload", { exact: true }).first().waitFor();
    assert.equal(await page.getByRole("main").getByRole("article", { name: "You" }).count(), 1);
  },

  async "the focus returns to a session after it was renamed"({ page, newSession, assert }) {
    await newSession(page, "true focus-me");
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute("data-session") ?? document.activeElement?.tagName);
    const renamed = await row(page, "true focus-me").locator("[data-session]").getAttribute("data-session");
    for (const [key, title] of [["Enter", "Focus one"], ["Escape", "Focus one"]]) {
      await page.locator(`[data-session="${renamed}"]`).focus();
      await page.keyboard.press("F2");
      await page.getByRole("textbox", { name: "Title" }).fill("Focus one");
      await page.keyboard.press(key);
      await row(page, title).waitFor();
      assert.equal(await focused(), renamed, key);
    }
    await act(page, "Focus one", "Rename");
    await page.getByRole("textbox", { name: "Title" }).fill("Focus two");
    await page.keyboard.press("Enter");
    await row(page, "Focus two").waitFor();
    assert.equal(await focused(), renamed);
    // A click elsewhere keeps its focus.
    await page.keyboard.press("F2");
    await page.getByRole("searchbox", { name: "Filter sessions" }).click();
    assert.equal(await focused(), "INPUT");
  },
};
