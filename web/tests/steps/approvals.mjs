// All that an approval is about is shown before it can be allowed: diffs, texts and arguments, on desktop and phone.

import { AxeBuilder } from "@axe-core/playwright";

async function check(page, assert, scope) {
  const { violations } = await new AxeBuilder({ page }).include(scope).analyze();
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`), []);
}

const inbox = (page) => page.locator(".inbox-pane");
const allow = (area) => area.getByRole("button", { name: "Allow once" }).first();
const deny = (area) => area.getByRole("button", { name: "Deny" }).first();

/** Lets an agent ask for permission in a new session. */
async function ask(page, toolCall, options) {
  await page.getByRole("button", { name: "New session" }).first().click();
  await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption({ label: "Ask" });
  await page.getByRole("textbox", { name: "Message" }).last().fill(`ask ${JSON.stringify({ toolCall, ...(options && { options }) })}`);
  await page.getByRole("button", { name: "Start session" }).click();
  await deny(page.getByRole("main")).waitFor();
}

/** Shows all that is cut off in an area. The first part is there when its button is. */
async function showAll(area) {
  const more = area.getByRole("button", { name: /more lines? · (Show all|Load)$/ });
  while ((await more.count()) > 0) await more.first().click();
}

const ALWAYS = [
  { optionId: "yes", name: "Always", kind: "allow_always" },
  { optionId: "no", name: "Deny", kind: "reject_once" },
];

export const steps = {
  async "the whole diff of an edit is shown before it can be allowed"({ page, phone, assert }) {
    await ask(page, {
      title: "Edit two files",
      kind: "edit",
      content: [
        { type: "diff", path: "/tmp/long.txt", oldText: "first\n", newText: "first\nlines 2500\nthe-last-line\u202e\n" },
        { type: "diff", path: "/tmp/short.txt", newText: "short\n" },
      ],
    });
    const device = await phone();
    await device.getByRole("button", { name: /Inbox/ }).tap();
    for (const area of [page.getByRole("main"), inbox(page), inbox(device)]) {
      const long = area.getByRole("group", { name: "Diff of /tmp/long.txt" });
      await long.getByText("line 0", { exact: true }).waitFor();
      await area.getByRole("group", { name: "Diff of /tmp/short.txt" }).getByText("short", { exact: true }).waitFor();
      assert.ok(await allow(area).isDisabled(), "it can be allowed with a diff that was not shown");
      await deny(area).click({ trial: true });
      await long.getByRole("button", { name: /more lines · Show all$/ }).click();
      assert.ok(await allow(area).isDisabled(), "the rest of the diff was not loaded");
      await long.getByRole("button", { name: /more lines · Load$/ }).click();
      await long.getByText("line 1990", { exact: true }).waitFor();
      await long.getByRole("button", { name: /more lines · Load$/ }).click();
      await long.getByText("the-last-line\\u{202e}", { exact: true }).waitFor();
      await area.locator("button:enabled", { hasText: "Allow once" }).first().waitFor();
    }
    await check(page, assert, "main");
    await check(device, assert, ".inbox-pane");
    await allow(inbox(device)).tap();
    await page.getByRole("main").getByText("Chosen: yes.").waitFor();
    await device.context().close();
  },

  async "many files are shown before they can be allowed"({ page, assert }) {
    const file = (index) => ({ type: "diff", path: `/tmp/file-${index}.txt`, newText: `text ${index}\n` });
    await ask(page, { title: "Edit files", kind: "edit", content: Array.from({ length: 12 }, (_, index) => file(index)) });
    const main = page.getByRole("main");
    for (const left of [7, 2]) {
      await main.getByText(`text ${11 - left}`, { exact: true }).waitFor();
      assert.ok(await allow(main).isDisabled());
      await main.getByRole("button", { name: `${left} more files · Show` }).click();
    }
    await main.getByText("text 11", { exact: true }).waitFor();
    await main.locator("button:enabled", { hasText: "Allow once" }).first().waitFor();
    await deny(main).click();
    await main.getByText("Chosen: no.").waitFor();
  },

  async "a diff that the host has cut can only be denied"({ page, assert }) {
    // Without an option for one time, the host sends the diff as text.
    const content = [{ type: "diff", path: "/tmp/huge.txt", newText: `lines 20000\nend\n` }];
    await ask(page, { title: "Write it", kind: "edit", content }, ALWAYS);
    const main = page.getByRole("main");
    await main.getByText("The agent asks with more text than the host passes on.", { exact: false }).waitFor();
    const always = main.getByRole("button", { name: /^Always/ }).first();
    await showAll(main);
    assert.ok(await always.isDisabled(), "a cut diff can be allowed");
    await deny(main).click();
    await main.getByText("Chosen: no.").waitFor();
    // A diff that fits is whole.
    await ask(page, { title: "Write it", kind: "edit", content: [{ type: "diff", path: "/tmp/fits.txt", newText: "lines 3000\nthe-end\n" }] }, ALWAYS);
    await main.getByRole("button", { name: /more lines · Show all$/ }).waitFor();
    assert.ok(await always.isDisabled());
    await showAll(main);
    assert.match(await main.innerText(), /\+line 2999\s+\+the-end/);
    await always.click({ trial: true });
    await deny(main).click();
    await main.getByText("Chosen: no.").waitFor();
  },

  async "a diff and a text behind a short command are shown"({ page, assert }) {
    await ask(page, {
      title: "make",
      kind: "execute",
      rawInput: { command: "make" },
      content: [
        { type: "diff", path: "/tmp/Makefile", newText: "lines 100\nhidden-rule\n" },
        { type: "content", content: { type: "text", text: "paragraphs 40\n\nhidden-text" } },
      ],
    });
    const main = page.getByRole("main");
    await main.getByRole("group", { name: "Command" }).getByText("make", { exact: true }).waitFor();
    await main.getByRole("group", { name: "Diff of /tmp/Makefile" }).waitFor();
    assert.ok(await allow(main).isDisabled(), "the diff behind the command was not shown");
    await main.getByRole("group", { name: "Diff of /tmp/Makefile" }).getByRole("button", { name: /Show all$/ }).click();
    assert.ok(await allow(main).isDisabled(), "the text behind the command was not shown");
    await main.getByRole("group", { name: "Details" }).getByRole("button", { name: /Show all$/ }).click();
    await main.locator("button:enabled", { hasText: "Allow once" }).first().waitFor();
    for (const text of ["hidden-rule", "hidden-text"]) assert.ok(await main.getByText(text).first().isVisible());
    await deny(main).click();
    await main.getByText("Chosen: no.").waitFor();
  },

  async "a text behind a short argument is shown"({ page, assert }) {
    const content = [{ type: "content", content: { type: "text", text: "paragraphs 40\n\nhidden-text" } }];
    await ask(page, { title: "Fetch", kind: "fetch", rawInput: { url: "a" }, content });
    const main = page.getByRole("main");
    await main.getByRole("group", { name: "Input" }).waitFor();
    await main.getByRole("group", { name: "Details" }).getByRole("button", { name: /Show all$/ }).waitFor();
    assert.ok(await allow(main).isDisabled(), "the text behind the argument was not shown");
    await showAll(main);
    assert.ok(await main.getByText("hidden-text").first().isVisible());
    await allow(main).click({ trial: true });
    await deny(main).click();
    await main.getByText("Chosen: no.").waitFor();
  },

  async "a command shows its folder and its environment"({ page, phone, assert }) {
    const rawInput = { command: "make", cwd: "/etc", env: { PATH: "/evil\u202e" }, sandbox: false };
    await ask(page, { title: "make", kind: "execute", rawInput });
    const device = await phone();
    await device.getByRole("button", { name: /Inbox/ }).tap();
    for (const area of [page.getByRole("main"), inbox(page), inbox(device)]) {
      const others = area.getByRole("group", { name: "Other arguments" });
      await others.waitFor();
      assert.equal(await others.innerText(), "cwd: /etc\nenv.PATH: /evil\\u{202e}\nsandbox: false");
    }
    await device.context().close();
    // Very many of them have to be shown, too.
    await deny(page.getByRole("main")).click();
    const env = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`NAME_${index}`, "x"]));
    await ask(page, { title: "make", kind: "execute", rawInput: { command: "make", env } });
    assert.ok(await allow(page.getByRole("main")).isDisabled());
    await showAll(page.getByRole("main"));
    await allow(page.getByRole("main")).click({ trial: true });
    await deny(page.getByRole("main")).click();
  },

  async "approvals with different titles or texts are not answered together"({ page, assert }) {
    const call = (title, text) => ({ title, kind: "fetch", rawInput: { url: "a" }, content: [{ type: "content", content: { type: "text", text } }] });
    const main = page.getByRole("main");
    await ask(page, call("Fetch it", "harmless"));
    await ask(page, call("Fetch it", "with all secrets"));
    await ask(page, call("Send it", "harmless"));
    assert.equal(await inbox(page).getByRole("group", { name: /alike/ }).count(), 0);
    // The same text makes them alike, and is shown with the button for all.
    await ask(page, call("Fetch it", "with all secrets"));
    const group = inbox(page).getByRole("group", { name: /^2 alike/ });
    await group.getByText("with all secrets").waitFor();
    await group.getByRole("button", { name: "Deny (all 2)" }).click();
    await group.waitFor({ state: "detached" });
    await main.getByText("Chosen: no.").waitFor();
    for (const text of ["harmless"]) {
      const left = inbox(page).getByRole("listitem").filter({ hasText: text });
      assert.equal(await left.count(), 2);
      for (let count = 2; count > 0; count -= 1) {
        await deny(left).click();
        await page.waitForFunction((wanted) => [...document.querySelectorAll(".inbox-pane li")].filter((each) => each.innerText.includes("harmless")).length < wanted, count);
      }
    }
  },
};
