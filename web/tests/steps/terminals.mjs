// Terminals: typing, two devices, a lost host, hostile output, refusals, live output in the timeline.

import { AxeBuilder } from "@axe-core/playwright";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Opens a new terminal in the panel. */
async function openTerminal(page, newSession) {
  await newSession(page, "true");
  await page.getByRole("button", { name: "Allow once" }).first().click();
  await showTerminals(page);
  await page.getByRole("button", { name: "New terminal" }).click();
  await page.getByRole("textbox", { name: /^Terminal / }).waitFor();
}

async function showTerminals(page) {
  if (await page.getByRole("button", { name: "Show panel" }).isVisible()) {
    await page.getByRole("button", { name: "Show panel" }).click();
  }
  await page.getByRole("button", { name: "Terminals", exact: true }).first().click();
  if (await page.getByRole("button", { name: "Back" }).first().isVisible()) {
    await page.getByRole("button", { name: "Back" }).first().click();
  }
}

async function type(page, text) {
  await page.getByRole("textbox", { name: /^Terminal / }).focus();
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
}

function screen(page) {
  return page.locator(".xterm-rows");
}

async function waitForText(page, text) {
  await page.waitForFunction((part) => document.querySelector(".xterm-rows")?.innerText.replaceAll("\u00a0", " ").includes(part), text);
}

async function waitForFile(page, path) {
  // A shell makes the file before its program writes to it.
  const isWritten = () => existsSync(path) && readFileSync(path, "utf8").endsWith("\n");
  for (let tries = 0; tries < 600 && !isWritten(); tries += 1) {
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
  }
  return readFileSync(path, "utf8");
}

async function closeTerminal(page) {
  await page.getByRole("button", { name: "Terminal actions" }).click();
  await page.getByRole("menuitem", { name: "Close terminal" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Close terminal" }).click();
  await page.getByRole("button", { name: "New terminal" }).waitFor();
}

async function checkAxe(page, assert) {
  const { violations } = await new AxeBuilder({ page }).exclude(".xterm").analyze();
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`), []);
}

export const steps = {
  async "a terminal runs what is typed, in the folder of the session"({ page, newSession, project, assert }) {
    await openTerminal(page, newSession);
    await type(page, "pwd > where.txt; echo shown-$((40+2))");
    await waitForText(page, "shown-42");
    assert.equal((await waitForFile(page, join(project, "where.txt"))).trim(), project);
    await checkAxe(page, assert);
    await closeTerminal(page);
  },

  async "the terminal fills its panel"({ page, newSession, assert }) {
    await openTerminal(page, newSession);
    const size = () => page.evaluate(() => document.querySelectorAll(".xterm-rows > div").length);
    await page.waitForFunction(() => document.querySelectorAll(".xterm-rows > div").length > 26);
    await type(page, "stty size");
    await waitForText(page, `${await size()} `);
    await closeTerminal(page);
  },

  async "two devices share the terminal of a session"({ page, newSession, phone, assert }) {
    await openTerminal(page, newSession);
    const other = await phone();
    await other.getByRole("button", { name: "Sessions", exact: true }).last().click();
    await other.getByRole("list", { name: "Sessions" }).getByRole("button").first().click();
    await other.getByRole("button", { name: "More", exact: true }).last().click();
    await other.getByRole("button", { name: "Terminals", exact: true }).click();
    await other.getByRole("button", { name: "Open Terminal" }).first().click();
    await other.getByRole("textbox", { name: /^Terminal / }).waitFor();
    await type(other, "echo by-phone-$((1+1))");
    for (const device of [page, other]) {
      await waitForText(device, "by-phone-2");
    }
    // Sticky Ctrl: Ctrl and C end the command.
    await type(other, "sleep 1000; echo not-reached");
    await other.getByRole("button", { name: "Ctrl", exact: true }).click();
    await other.keyboard.type("c");
    await type(other, "echo after-$((2+1))");
    await waitForText(other, "after-3");
    await checkAxe(other, assert);
    assert.deepEqual(other.errors, []);
    await other.context().close();
    await closeTerminal(page);
  },

  async "hostile output stays text and types nothing back"({ page, newSession, project, assert }) {
    await openTerminal(page, newSession);
    const attack = String.raw`printf '\033]0;<img src=x onerror=window.pwned=1>\007\033]8;;javascript:window.pwned=1\033\\link\033]8;;\033\\\033]52;c;cHduZWQ=\007\033[c\033[6n\033[>c\033P$qm\033\\\033]11;?\007\033[38;2;250;251;252mpale\033[0m<b>bold</b>'; cat > typed.txt`;
    await type(page, attack);
    await waitForText(page, "<b>bold</b>");
    await type(page, "mine");
    await page.keyboard.press("Control+d");
    assert.equal(await waitForFile(page, join(project, "typed.txt")), "mine\n");
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    // The policy of the page allows the colours of characters only as properties.
    assert.match(await page.locator(".xterm-rows span", { hasText: /^pale$/ }).first().evaluate((span) => span.style.color), /rgb/);
    assert.equal(await page.locator(".xterm b, .xterm img, .xterm a").count(), 0);
    await closeTerminal(page);
  },

  async "large output arrives once"({ page, newSession }) {
    await openTerminal(page, newSession);
    await type(page, "seq 1 200000; echo end-$((5+5))");
    await waitForText(page, "end-10");
    await waitForText(page, "200000");
    await closeTerminal(page);
  },

  async "a terminal is renamed, and left by keyboard"({ page, newSession, assert }) {
    await openTerminal(page, newSession);
    await page.getByRole("button", { name: "Terminal actions" }).click();
    await page.getByRole("menuitem", { name: "Rename" }).click();
    await page.getByRole("textbox", { name: "Title of the terminal" }).fill("build <b>&");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "build <b>&" }).waitFor();
    await page.getByRole("textbox", { name: /^Terminal / }).focus();
    await page.keyboard.press("Shift+Escape");
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "Back");
    await closeTerminal(page);
  },

  async "a device without the scope sees a terminal and cannot type"({ browser, page, newDevice, newSession, assert }) {
    await openTerminal(page, newSession);
    await type(page, "echo visible-$((3+4))");
    await waitForText(page, "visible-7");
    const reader = await newDevice(browser, { name: "reader", scope: "read" });
    await reader.getByRole("list", { name: "Sessions" }).getByRole("button").first().click();
    await showTerminals(reader);
    await reader.getByRole("button", { name: "Open Terminal" }).first().click();
    await waitForText(reader, "visible-7");
    await type(reader, "echo not-allowed");
    assert.equal(await reader.getByRole("button", { name: "Paste" }).count(), 0);
    await reader.context().close();
    await closeTerminal(page);
  },

  async "a running tool call shows live output and opens as a terminal"({ page, newSession }) {
    await newSession(page, "printf '\\033[31mlive-%s\\n' one; sleep 1000");
    await page.getByRole("button", { name: "Allow once" }).first().click();
    await page.getByRole("group", { name: "Live output" }).getByText("live-one").waitFor();
    await page.getByRole("button", { name: "Open terminal" }).first().click();
    await waitForText(page, "live-one");
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText(/The program has exited/).waitFor();
    await page.getByRole("button", { name: "Back" }).first().click();
  },

  async "a lost host is reported, and its terminals have ended"({ page, newSession, stopHost, startHost }) {
    await openTerminal(page, newSession);
    await type(page, "echo before-$((6+6))");
    await waitForText(page, "before-12");
    await stopHost("SIGKILL");
    await page.getByText(/What you type is not sent/).waitFor();
    await startHost();
    await page.getByText("Live").first().waitFor();
    await page.getByText(/The program has exited|does not have this terminal/).first().waitFor();
    await page.getByRole("button", { name: "Back" }).first().click();
  },
};
