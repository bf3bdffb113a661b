// Chats of a session, the menu of a turn, links to turns, restore, absences and usage.

import { AxeBuilder } from "@axe-core/playwright";
import { existsSync } from "node:fs";
import { join } from "node:path";

async function approve(page) {
  const allow = page.getByRole("main").getByRole("button", { name: "Allow once" }).first();
  await allow.waitFor();
  await allow.click();
  await allow.waitFor({ state: "detached" });
}

async function say(page, text) {
  const box = page.getByRole("main").getByRole("textbox", { name: "Message" }).last();
  await box.fill(text);
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await approve(page);
}

async function openTurnMenu(page, text) {
  const message = page.getByRole("main").getByRole("article", { name: "You" }).filter({ hasText: text }).first();
  await message.hover();
  await message.getByRole("button", { name: "Turn actions" }).click();
}

async function check(page, assert, scope) {
  const { violations } = await new AxeBuilder({ page }).include(scope).analyze();
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`), []);
}

export const steps = {
  async "a turn is forked into a chat of its own, which is closed again"({ page, newSession, assert }) {
    await newSession(page, "echo first > one.txt");
    await approve(page);
    await say(page, "echo '<img src=x onerror=alert(1)>' > two.txt");
    await openTurnMenu(page, "echo first");
    await page.getByRole("menuitem", { name: "Fork from here" }).click();
    const tabs = page.getByRole("tablist", { name: "Chats" });
    await tabs.getByRole("tab").nth(1).waitFor();
    await page.waitForFunction(() => document.querySelectorAll("[role=tab]")[1]?.getAttribute("aria-selected") === "true");
    await page.getByText("echo first > one.txt").first().waitFor();
    assert.equal(await page.getByRole("main").getByText("onerror").count(), 0, "the fork has a later turn");
    await check(page, assert, "main");
    // Arrow keys select tabs.
    await tabs.getByRole("tab").nth(1).focus();
    await page.keyboard.press("ArrowLeft");
    await page.getByRole("main").getByText("onerror").first().waitFor();
    await tabs.getByRole("tab").nth(1).click();
    await page.waitForFunction(() => document.querySelectorAll("[role=tab]")[1]?.getAttribute("aria-selected") === "true");
    await page.getByRole("button", { name: "Chat actions" }).click();
    await page.getByRole("menuitem", { name: "Close chat" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Close", exact: true }).click();
    await tabs.waitFor({ state: "detached" });
    await page.getByRole("main").getByText("onerror").first().waitFor();
    assert.deepEqual(page.errors, []);
  },

  async "a chat moves to a session of its own"({ page, newSession, assert }) {
    await newSession(page, "echo moved-chat");
    await approve(page);
    const before = await page.evaluate(() => location.hash);
    await openTurnMenu(page, "echo moved-chat");
    await page.getByRole("menuitem", { name: "Fork into a new session" }).click();
    await page.waitForFunction((hash) => location.hash !== hash, before);
    await page.getByRole("main").getByText("echo moved-chat").first().waitFor();
    assert.deepEqual(page.errors, []);
  },

  async "a restore shows the files, and brings back files and chat"({ page, newSession, project, assert }) {
    await newSession(page, "echo keep > kept.txt");
    await approve(page);
    await say(page, "echo lost > lost.txt");
    await page.getByRole("main").getByText("Done").nth(1).waitFor();
    await openTurnMenu(page, "echo lost");
    await page.getByRole("menuitem", { name: /Restore to before this turn/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("lost.txt", { exact: false }).nth(1).waitFor();
    await check(page, assert, "dialog");
    await dialog.getByRole("button", { name: "Restore" }).click();
    await dialog.waitFor({ state: "detached" });
    assert.ok(!existsSync(join(project, "lost.txt")), "the file is still there");
    assert.ok(existsSync(join(project, "kept.txt")));
    const box = page.getByRole("main").getByRole("textbox", { name: "Message" }).last();
    await page.waitForFunction(() => document.querySelector("textarea[data-composer]")?.value === "echo lost > lost.txt");
    await box.fill("");
  },

  async "a link opens a turn and marks it"({ page, newSession, assert }) {
    await newSession(page, "echo linked-turn");
    await approve(page);
    for (const word of ["two", "three"]) {
      await say(page, `echo ${word}`);
    }
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await openTurnMenu(page, "echo linked-turn");
    await page.getByRole("menuitem", { name: "Copy link" }).click();
    const link = await page.waitForFunction(() => navigator.clipboard.readText());
    const url = await link.jsonValue();
    assert.match(url, /#session=.*&turn=/);
    const other = await page.context().newPage();
    await other.goto(url);
    await other.locator("[data-row].marked").filter({ hasText: "echo linked-turn" }).first().waitFor();
    await other.close();
    // A turn that is not there is reported.
    await page.goto(url.replace(/turn=.*/, "turn=%3Cb%3Enone"));
    await page.getByText("The turn of this link is not in the chat any more.").waitFor();
  },

  async "usage has charts with tables"({ page, phone, assert }) {
    await page.getByRole("button", { name: "Usage", exact: true }).click();
    await page.getByRole("region", { name: "Usage", exact: true }).waitFor();
    await check(page, assert, ".usage");
    const device = await phone();
    await device.getByRole("button", { name: "More", exact: true }).click();
    await device.getByRole("button", { name: "Usage", exact: true }).click();
    await device.getByRole("region", { name: "Usage", exact: true }).waitFor();
    await check(device, assert, ".usage");
    await device.context().close();
  },

  async "what happened meanwhile is shown after the return"({ browser, page, newDevice, newSession, assert }) {
    const away = await newDevice(browser, { name: "tablet" });
    await away.evaluate(() => {
      Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "hidden" });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await newSession(page, "echo while-away");
    await approve(page);
    const worker = away.workers()[0];
    await worker.evaluate(() => {
      const now = Date.now;
      Date.now = () => now() + 600_000;
    });
    await away.evaluate(() => {
      Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "visible" });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    const summary = away.getByRole("region", { name: "Since you were away" }).first();
    await summary.waitFor();
    await check(away, assert, "main");
    await summary.getByRole("button", { name: /while-away/ }).click();
    await away.getByRole("main").getByText("echo while-away").first().waitFor();
    await away.getByRole("button", { name: "Dismiss summary" }).click();
    await summary.waitFor({ state: "detached" });
    await away.context().close();
  },

  async "an answer names the device that gave it"({ page, phone, newSession }) {
    const device = await phone();
    await newSession(page, "echo named-answer");
    await device.getByRole("button", { name: /Inbox/ }).click();
    await device.getByText("echo named-answer").first().waitFor();
    await device.getByRole("button", { name: "Allow once" }).first().click();
    await page.getByText(/answered by phone/).first().waitFor();
    await device.context().close();
  },
};
