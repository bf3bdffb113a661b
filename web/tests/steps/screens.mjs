// Every screen in every theme, on a desktop and a phone, without violations of axe-core.

import { AxeBuilder } from "@axe-core/playwright";

const THEMES = ["light", "dark", "contrast"];
const PANELS = ["Changes", "Files", "Terminals", "Customizations", "Usage", "Settings"];

async function check(page, assert, screen) {
  for (const theme of THEMES) {
    await page.evaluate((theme) => (document.documentElement.dataset.theme = theme), theme);
    // The themes differ in colors alone: the other rules are checked once.
    const builder = new AxeBuilder({ page });
    const { violations } = await (theme === "light" ? builder : builder.withRules(["color-contrast"])).analyze();
    assert.deepEqual(violations.map(({ id, nodes }) => `${screen}, ${theme}: ${id}: ${nodes[0]?.html}`), []);
  }
  await page.evaluate(() => delete document.documentElement.dataset.theme);
}

/** A session with a request, and one with an answer, a plan, changed files and a message in the queue. */
async function fill(page, newSession) {
  await newSession(page, "echo waiting; true");
  await page.getByRole("main").getByRole("button", { name: "Allow once" }).first().waitFor();
  await page.getByRole("button", { name: "New session" }).first().click();
  await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption({ label: "Demo agent" });
  await page.getByRole("textbox", { name: "Message" }).last().fill("think of it ;; plan ;; write screens.txt x ;; say # Done\n\n`code` and **more** ;; form");
  await page.getByRole("button", { name: "Start session" }).click();
  await page.getByRole("main").getByRole("group", { name: "A few questions of the demo agent" }).waitFor();
  await page.getByRole("main").getByRole("textbox", { name: "Message" }).last().fill("say queued");
  await page.getByRole("button", { name: "Queue", exact: true }).click();
  await page.getByRole("region", { name: "Queue" }).waitFor();
}

async function empty(page) {
  await page.getByRole("main").getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByRole("main").getByRole("button", { name: "Stop", exact: true }).waitFor({ state: "detached" });
  await page.locator(".inbox-pane").getByRole("button", { name: "Deny" }).first().click();
}

export const steps = {
  async "a desktop has no violations on any screen in any theme"({ page, newSession, assert }) {
    await fill(page, newSession);
    await check(page, assert, "chat");
    for (const panel of PANELS) {
      await page.getByRole("navigation", { name: "Panels" }).getByRole("button", { name: panel }).click();
      await page.getByRole("complementary", { name: panel }).waitFor();
      await check(page, assert, panel);
    }
    await page.getByRole("navigation", { name: "Panels" }).getByRole("button", { name: "Changes" }).click();
    await page.getByRole("button", { name: "New session" }).first().click();
    await page.getByRole("heading", { name: "What should be done?" }).waitFor();
    await check(page, assert, "new session");
    await page.keyboard.press("Escape");
    for (const [key, name] of [["Control+k", "Commands"]]) {
      await page.keyboard.press(key);
      await page.getByRole("dialog", { name }).waitFor();
      await check(page, assert, name);
      await page.keyboard.press("Escape");
    }
    await page.getByRole("button", { name: /^Host / }).or(page.locator("button.host")).first().click();
    await page.getByRole("dialog").waitFor();
    await check(page, assert, "hosts");
    await page.keyboard.press("Escape");
    await empty(page);
  },

  async "a phone has no violations on any screen in any theme"({ page, phone, newSession, assert }) {
    await fill(page, newSession);
    const device = await phone();
    await device.goto(page.url());
    await device.getByRole("main").getByRole("group", { name: "A few questions of the demo agent" }).waitFor();
    await check(device, assert, "chat");
    const tabs = device.getByRole("navigation", { name: "Main" });
    for (const tab of ["Inbox", "Sessions", "Changes", "More"]) {
      await tabs.getByRole("button", { name: tab }).tap();
      await check(device, assert, tab);
    }
    for (const panel of PANELS.slice(1)) {
      await tabs.getByRole("button", { name: "More" }).tap();
      await device.getByRole("main").getByRole("button", { name: panel, exact: true }).tap();
      await device.getByRole("main", { name: panel }).waitFor();
      await check(device, assert, panel);
    }
    await tabs.getByRole("button", { name: "More" }).tap();
    await device.getByRole("main").getByRole("button", { name: "New session" }).tap();
    await device.getByRole("heading", { name: "What should be done?" }).waitFor();
    await check(device, assert, "new session");
    await device.context().close();
    await empty(page);
  },

  async "a page that is signed out has no violations in any theme"({ browser, newDevice, agenthost, assert, DESKTOP, PHONE }) {
    for (const viewport of [DESKTOP, PHONE]) {
      const device = await newDevice(browser, { name: "signed-out", viewport });
      agenthost("devices", "revoke", "signed-out");
      await device.getByRole("textbox", { name: "Code" }).waitFor();
      await check(device, assert, "sign-in");
      await device.context().close();
    }
  },
};
