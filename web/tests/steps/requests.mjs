// Approvals and forms: nothing is approved that was not shown, and everybody sees who answered.

import { AxeBuilder } from "@axe-core/playwright";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

async function check(page, assert, scope) {
  const { violations } = await new AxeBuilder({ page }).include(scope).analyze();
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`), []);
}

/** A command whose end is dangerous and far below its beginning. */
const LONG = `${"x=1; ".repeat(80)}\n${Array.from({ length: 60 }, (_, line) => `echo line-${line};`).join("\n")}\necho the-end-of-it`;

const inbox = (page) => page.getByRole("region", { name: "Inbox" }).or(page.locator(".inbox-pane"));
const allow = (area) => area.getByRole("button", { name: "Allow once" }).first();

/** Finds the hidden end, shows it, and checks that only then the command can be approved. */
async function readAndAllow(area, assert, click) {
  await area.getByText("x=1; x=1;", { exact: false }).first().waitFor();
  const more = area.getByRole("button", { name: /^\d+ more lines · Show all$/ }).first();
  await more.waitFor();
  const hidden = Number.parseInt(await more.innerText(), 10);
  assert.ok(hidden >= 20 && hidden <= 90, `${hidden} lines`);
  await area.getByText("Show all of it first.").first().waitFor();
  assert.ok(await allow(area).isDisabled(), "it can be approved blind");
  await area.getByRole("button", { name: "Deny" }).first().click({ trial: true });
  const box = area.getByRole("group", { name: /^(Command|Details|Input)$/ }).first();
  const isWhole = () =>
    box.locator(".clip").evaluate((clip) => {
      const content = clip.firstElementChild.getBoundingClientRect();
      const isWide = [...clip.querySelectorAll("*")].some((each) => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0);
      return content.bottom <= clip.getBoundingClientRect().bottom + 1 && !isWide;
    });
  assert.equal(await isWhole(), false);
  await click(more);
  await box.getByRole("button", { name: "Show less" }).waitFor();
  assert.equal(await isWhole(), true, "the end is hidden");
  await allow(area).click({ trial: true });
}

export const steps = {
  async "a long command says how much is hidden, and is approved only after it was shown"({ page, phone, newSession, assert }) {
    await newSession(page, LONG);
    const main = page.getByRole("main");
    const device = await phone();
    await device.getByRole("button", { name: /Inbox/ }).tap();
    await readAndAllow(inbox(device), assert, (button) => button.tap());
    await check(device, assert, ".inbox-pane");
    await readAndAllow(inbox(page), assert, (button) => button.click());
    // The card in the timeline is read on its own.
    await readAndAllow(main, assert, (button) => button.click());
    await check(page, assert, "main");
    await inbox(device).getByRole("button", { name: "Open" }).first().tap();
    await readAndAllow(device.getByRole("main"), assert, (button) => button.tap());
    await allow(device.getByRole("main")).tap();
    await main.getByText("answered by phone").waitFor();
    await main.getByText("the-end-of-it").first().waitFor();
    await device.context().close();
  },

  async "a short command is approved with one tap"({ page, newSession, assert }) {
    await newSession(page, "echo short");
    assert.equal(await page.getByRole("main").getByText("Show all of it first.").count(), 0);
    assert.equal(await page.getByRole("main").getByRole("button", { name: /more lines/ }).count(), 0);
    await allow(page.getByRole("main")).click();
    await allow(page.getByRole("main")).waitFor({ state: "detached" });
  },

  async "alike requests of sessions are denied together"({ page, newSession, assert }) {
    for (let count = 0; count < 2; count += 1) {
      await newSession(page, "echo alike-requests");
      await allow(page.getByRole("main")).waitFor();
    }
    const group = inbox(page).getByRole("group", { name: "2 alike: echo alike-requests" });
    await group.getByText("echo alike-requests").waitFor();
    await group.getByRole("button", { name: "Allow once (all 2)" }).click({ trial: true });
    await group.getByRole("button", { name: "Deny (all 2)" }).click();
    await group.waitFor({ state: "detached" });
    await allow(page.getByRole("main")).waitFor({ state: "detached" });
  },

  async "a form of every kind of question is shared between devices, which see who answered"({ page, phone, assert }) {
    await page.getByRole("button", { name: "New session" }).first().click();
    await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption({ label: "Demo agent" });
    await page.getByRole("textbox", { name: "Message" }).last().fill("form");
    await page.getByRole("button", { name: "Start session" }).click();
    const desk = page.getByRole("main").getByRole("group", { name: "A few questions of the demo agent" });
    await desk.waitFor();
    const device = await phone();
    await device.getByRole("button", { name: /Inbox/ }).tap();
    const sheet = inbox(device).getByRole("group", { name: "A few questions of the demo agent" });
    await sheet.getByRole("button", { name: "Answer 6 questions" }).tap();
    const name = (area) => area.getByRole("textbox", { name: /^Name/ });
    // A choice of one device is that of all; typed text too, while only one device types.
    await sheet.getByRole("radio", { name: "Green" }).check();
    await desk.getByRole("radio", { name: "Green", checked: true }).waitFor();
    await name(sheet).fill("Ada");
    await page.waitForFunction(() => document.querySelector("main form input[type=text]")?.value === "Ada");
    await name(sheet).fill("Ada Lovelace");
    await page.waitForFunction(() => document.querySelector("main form input[type=text]")?.value === "Ada Lovelace");
    // Both type: each keeps its text and is offered the other one.
    await name(desk).fill("Grace");
    await sheet.getByText("Answer of another device:").waitFor();
    assert.equal(await name(sheet).inputValue(), "Ada Lovelace");
    await sheet.getByText("Grace", { exact: true }).waitFor();
    await check(device, assert, ".inbox-pane");
    await sheet.getByRole("button", { name: "Use it" }).tap();
    assert.equal(await name(sheet).inputValue(), "Grace");
    await sheet.getByText("Ada Lovelace", { exact: true }).waitFor();
    await sheet.getByRole("spinbutton", { name: "Count" }).fill("3");
    await sheet.getByRole("checkbox", { name: "Salt" }).check();
    await sheet.getByRole("radio", { name: "Yes" }).check();
    await sheet.getByRole("button", { name: "Send answers" }).tap();
    const main = page.getByRole("main");
    await main.getByText(/Answered by phone: A few questions/).waitFor();
    await main.getByText(/Form: accept name="Grace", count=3, .*sure=true, colour="green", toppings=\["salt"\]/).waitFor();
    // It is known after a reload, too.
    await page.reload();
    await main.getByText(/Answered by phone: A few questions/).waitFor();
    await device.context().close();
  },

  async "typed answers of a form survive a reload, and are shared after Use it"({ browser, page, newDevice, assert }) {
    await page.getByRole("button", { name: "New session" }).first().click();
    await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption({ label: "Demo agent" });
    await page.getByRole("textbox", { name: "Message" }).last().fill("form");
    await page.getByRole("button", { name: "Start session" }).click();
    const form = (device) => device.getByRole("main").getByRole("group", { name: "A few questions of the demo agent" });
    const name = (device) => form(device).getByRole("textbox", { name: /^Name/ });
    const count = (device) => form(device).getByRole("spinbutton", { name: "Count" });
    const hasName = (device, text) => device.waitForFunction((wanted) => document.querySelector("main form input[type=text]")?.value === wanted, text);
    await name(page).waitFor();
    // The page is reloaded before the text can have been shared.
    await name(page).fill("half an ans");
    await count(page).fill("7");
    await form(page).getByRole("radio", { name: "Blue" }).check();
    await page.reload();
    await hasName(page, "half an ans");
    assert.equal(await count(page).inputValue(), "7");
    await form(page).getByRole("radio", { name: "Blue", checked: true }).waitFor();
    const other = await newDevice(browser, { name: "second desk" });
    await other.goto(page.url());
    await hasName(other, "half an ans");
    // Both write, and one takes the text of the other over: what is written then is shared again.
    await Promise.all([name(page).fill("text of one"), name(other).fill("text of two")]);
    const offered = (device) => form(device).getByRole("status").filter({ hasText: "Answer of another device:" });
    await Promise.any([offered(page).waitFor(), offered(other).waitFor()]);
    const [told, calm] = (await offered(page).count()) > 0 ? [page, other] : [other, page];
    const [own, theirs] = [await name(told).inputValue(), await name(calm).inputValue()];
    // A reload loses neither text.
    await told.reload();
    await hasName(told, own);
    await offered(told).getByText(theirs, { exact: true }).waitFor();
    await offered(told).getByRole("button", { name: "Use it" }).click();
    assert.equal(await name(told).inputValue(), theirs);
    await name(told).fill(`${theirs} and more`);
    await hasName(calm, `${theirs} and more`);
    await form(told).getByRole("status").getByRole("button", { name: "Use it" }).click();
    await hasName(calm, own);
    await form(told).getByText(`${theirs} and more`, { exact: true }).waitFor();
    await form(told).getByRole("button", { name: "Discard this text" }).click();
    assert.equal(await name(told).inputValue(), own);
    await form(told).getByRole("button", { name: "Decline" }).click();
    await form(told).waitFor({ state: "detached" });
    await other.context().close();
  },

  async "text that reorders other text is shown as what it is"({ page, project, assert }) {
    const override = "\u202e";
    await page.getByRole("button", { name: "New session" }).first().click();
    await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption({ label: "Demo agent" });
    await page.getByRole("textbox", { name: "Message" }).last().fill(`say before${override}after ;; write photo${override}gpj.exe x`);
    await page.getByRole("button", { name: "Start session" }).click();
    const main = page.getByRole("main");
    await main.getByText("before\\u{202e}after", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: "Changes", exact: true }).first().click();
    await page.getByText("photo\\u{202e}gpj.exe").first().waitFor();
    // Names and texts of all kinds, in all panels.
    const name = `x${override}y`;
    mkdirSync(join(project, name), { recursive: true });
    writeFileSync(join(project, name, `${name}.txt`), "text\n");
    const box = main.getByRole("textbox", { name: "Message" }).last();
    await box.evaluate((field, name) => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(20)], `${name}.bin`));
      field.dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData: data }));
    }, name);
    await main.getByRole("list", { name: "Attachments" }).getByText(".bin").waitFor();
    await isVisible(page, assert, override, "an attachment");
    await box.fill(`say [link](https://a.example/${override}b) and ${"```"}j${override}s x${"```"} ;; say ${"```"}j${override}s`);
    await box.press("Enter");
    await main.getByText("link", { exact: true }).first().waitFor();
    await isVisible(page, assert, override, "a message");
    const session = new URL(page.url()).hash;
    await page.getByRole("button", { name: "Chat actions" }).waitFor();
    await page.locator("[data-session][aria-current]").focus();
    await page.keyboard.press("F2");
    await page.keyboard.type("renamed");
    await page.keyboard.insertText(override);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: /renamed/ }).waitFor();
    assert.ok(session !== "");
    for (const panel of ["Files", "Terminals", "Customizations", "Usage", "Settings", "Changes"]) {
      await page.getByRole("navigation", { name: "Panels" }).getByRole("button", { name: panel }).click();
      await page.getByRole("complementary", { name: panel }).waitFor();
      if (panel === "Files") {
        await page.getByRole("treeitem", { name: /^x/ }).first().click();
        await page.getByRole("treeitem", { name: /txt/ }).filter({ hasText: "202e" }).first().click();
        await page.getByRole("button", { name: "Edit", exact: true }).waitFor();
      }
      if (panel === "Terminals") {
        await page.getByRole("button", { name: "New terminal" }).first().click();
        await page.getByRole("textbox", { name: /^Terminal / }).focus();
        await page.keyboard.insertText(`printf '\\033]2;%s\\007' 'title${override}'`);
        await page.keyboard.press("Enter");
        await page.getByText(/title/).first().waitFor();
      }
      await isVisible(page, assert, override, panel);
    }
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog", { name: "Commands" }).waitFor();
    await isVisible(page, assert, override, "the palette");
    await page.keyboard.press("Escape");
    rmSync(join(project, name), { recursive: true });
  },
};

/** No text, name or tooltip of the page changes the order of others. The text of terminals is in cells of their own. */
async function isVisible(page, assert, override, where) {
  const shown = await page.evaluate(() => {
    const attributes = ["aria-label", "title", "alt", "placeholder", "aria-description"];
    const marked = attributes.flatMap((name) => [...document.querySelectorAll(`[${name}]`)].map((each) => `${name}=${each.getAttribute(name)}`));
    const text = [...document.querySelectorAll("h1, h2, [data-session], [role=treeitem], [role=tab], button, li")].map((each) => `text=${each.innerText}`);
    return [document.title, ...marked, ...text];
  });
  assert.deepEqual(shown.filter((text) => text.includes(override)), [], where);
}
