// The list of hosts, with two real hosts: switching, pairing by link, names, links of strangers, the keyboard.

import { AxeBuilder } from "@axe-core/playwright";

async function openList(page) {
  await page.getByRole("button", { name: /switch host$/ }).click();
  return page.getByRole("dialog", { name: "Hosts" });
}

/** Opens the list on a phone, where a sheet shows it. */
async function openSheet(phone) {
  await phone.getByRole("button", { name: "Sessions", exact: true }).click();
  return openList(phone);
}

async function check(page, assert, scope) {
  const { violations } = await new AxeBuilder({ page }).include(scope).analyze();
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`), []);
}

const stored = (page) => page.evaluate(() => JSON.parse(localStorage.getItem("agenthost.hosts") ?? "null"));

/** Runs a step with a device of its own and a second host. */
async function withOther({ browser, newDevice, startOther }, run, device = {}) {
  const other = await startOther();
  const page = await newDevice(browser, { name: "switcher", ...device });
  try {
    await run(page, other);
    page.errors.forEach((text) => {
      if (!/WebSocket|ERR_CONNECTION|401|Failed to load/.test(text)) throw new Error(text);
    });
  } finally {
    await page.context().close();
    await other.stop();
  }
}

export const steps = {
  async "a second host is added by a link, pairs by its code, and the way back is one click"(tools) {
    const { assert, address } = tools;
    await withOther(tools, async (page, other) => {
      const dialog = await openList(page);
      await dialog.getByRole("textbox", { name: /^Address/ }).fill(other.link("--name", "switcher"));
      await dialog.getByRole("textbox", { name: "Name" }).fill("Build server");
      await dialog.getByRole("button", { name: "Add and open" }).click();
      await page.waitForURL(`${other.origin}/`);
      await page.getByText("Live").first().waitFor();
      assert.equal(new URL(page.url()).hash, "", "the code or the hosts stay in the address");
      // The list came along, and waits for the user.
      const offer = page.getByRole("dialog", { name: "Add these hosts?" });
      await offer.getByText(new URL(address).origin, { exact: true }).waitFor();
      await check(page, assert, "dialog");
      await offer.getByRole("button", { name: "Add" }).click();
      await page.getByRole("button", { name: "Host Build server, switch host" }).waitFor();
      // Each host has its own cookie and its own device.
      assert.match(other.agenthost("devices"), /switcher/);
      const cookies = await page.context().cookies();
      assert.equal(new Set(cookies.map(({ domain }) => domain)).size, 2);
      const list = await openList(page);
      const back = new URL(address).host;
      await list.getByRole("button", { name: `Switch to ${back}, ${back}` }).click();
      await page.waitForURL(address);
      await page.getByText("Live").first().waitFor();
      assert.equal(await page.getByRole("dialog").count(), 0);
      // The code was not kept.
      assert.doesNotMatch(JSON.stringify(await stored(page)), /code/);
    });
  },

  async "a host without a pairing shows its own sign-in, and a lost one does not change the list"(tools) {
    const { assert, address } = tools;
    await withOther(tools, async (page, other) => {
      const dialog = await openList(page);
      await dialog.getByRole("textbox", { name: /^Address/ }).fill(other.origin);
      await dialog.getByRole("textbox", { name: "Name" }).fill("Other");
      await dialog.getByRole("button", { name: "Add", exact: true }).click();
      await dialog.getByRole("button", { name: /^Switch to Other/ }).click();
      await page.waitForURL(`${other.origin}/`);
      const code = new URLSearchParams(new URL(other.link()).hash.slice(1)).get("code");
      await page.getByRole("textbox", { name: "Code" }).fill(code);
      await page.getByRole("button", { name: "Connect" }).click();
      await page.getByText("Live").first().waitFor();
      await page.goBack();
      await page.waitForURL(address);
      assert.equal((await stored(page)).hosts.length, 2);
    });
  },

  async "hosts are renamed and removed, and wrong addresses are explained"(tools) {
    const { assert } = tools;
    await withOther(tools, async (page, other) => {
      const dialog = await openList(page);
      const address = dialog.getByRole("textbox", { name: /^Address/ });
      const add = dialog.getByRole("button", { name: "Add", exact: true });
      for (const wrong of ["javascript:alert(1)", "ftp://box/", "http://", "data:text/html,x", "not an address"]) {
        await address.fill(wrong);
        await add.click();
        await dialog.getByRole("alert").getByText("Enter an address such as").waitFor();
        assert.equal(await address.inputValue(), wrong);
      }
      await address.fill("http://192.0.2.7:8123");
      await dialog.getByText("Without https, others on the network can read").waitFor();
      await address.fill(`${other.origin}/some/path?x#session=y`);
      await dialog.getByRole("textbox", { name: "Name" }).fill("A\u202e\u200bB");
      await add.click();
      const { hosts } = await stored(page);
      assert.deepEqual(hosts.map(({ name, origin }) => origin === other.origin && name).filter(Boolean), ["AB"]);
      await address.fill(other.origin);
      await add.click();
      await dialog.getByRole("alert").getByText("AB is in the list already.").waitFor();
      await check(page, assert, "dialog");
      await dialog.getByRole("button", { name: "Actions for AB" }).click();
      await page.getByRole("menuitem", { name: "Rename" }).click();
      await dialog.getByRole("textbox", { name: "New name of AB" }).fill("Zoo");
      await page.keyboard.press("Enter");
      await dialog.getByRole("button", { name: /^Switch to Zoo/ }).waitFor();
      await page.reload();
      const again = await openList(page);
      await again.getByRole("button", { name: "Actions for Zoo" }).click();
      await page.getByRole("menuitem", { name: "Remove from this list" }).click();
      await again.getByRole("button", { name: /^Switch to Zoo/ }).waitFor({ state: "detached" });
      assert.equal((await stored(page)).hosts.length, 1);
    });
  },

  async "the palette and Alt with a number switch hosts, and a draft stays"(tools) {
    const { address } = tools;
    await withOther(tools, async (page, other) => {
      await page.evaluate((origin) => localStorage.setItem("agenthost.hosts", JSON.stringify({ hosts: [{ name: "Second", origin }, { name: "First", origin: location.origin }] })), other.origin);
      await page.reload();
      await page.getByText("Live").first().waitFor();
      await page.getByRole("button", { name: "New session" }).first().click();
      await page.getByRole("textbox", { name: "Message" }).fill("kept draft");
      // Sorted by name: this host is the first, the other one the second.
      await page.keyboard.press("Alt+Digit2");
      await page.waitForURL(`${other.origin}/`);
      await page.goBack();
      await page.waitForURL(address);
      await page.getByText("Live").first().waitFor();
      await page.getByRole("button", { name: "New session" }).first().click();
      await page.waitForFunction(() => document.querySelector("textarea")?.value === "kept draft");
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search commands and sessions" }).fill("Switch to Second");
      await page.getByRole("option", { name: /Switch to Second/ }).getByText("Alt+2").waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL(`${other.origin}/`);
      await page.getByRole("textbox", { name: "Code" }).waitFor();
    });
  },

  async "a link of a stranger adds no host by itself"(tools) {
    const { assert, address } = tools;
    await withOther(tools, async (page) => {
      const visit = async (text) => {
        await page.goto("about:blank");
        await page.goto(`${address}#hosts=${encodeURIComponent(text)}`);
        await page.getByText("Live").first().waitFor();
      };
      const offer = page.getByRole("dialog", { name: "Add these hosts?" });
      for (const broken of ["", "[", "null", '{"a":1}', "[1,[2,3],[null,null]]", '[["x","javascript:alert(1)"]]', '[["x","https://a.example/path"]]', "x".repeat(30_000)]) {
        await visit(broken);
        assert.equal(await offer.count(), 0, broken.slice(0, 40));
        assert.equal(new URL(page.url()).hash, "");
      }
      await visit(JSON.stringify([["<img src=x onerror=alert(1)>\u202e", "https://evil.example"]]));
      await offer.getByText("https://evil.example", { exact: true }).waitFor();
      assert.equal(await page.locator("img[src=x]").count(), 0);
      assert.equal(await stored(page), null);
      await offer.getByRole("button", { name: "Ignore" }).click();
      // An ignored host is not offered again; a long list is cut.
      await visit(JSON.stringify([["again", "https://evil.example"]]));
      assert.equal(await offer.count(), 0);
      await visit(JSON.stringify(Array.from({ length: 100 }, (_, index) => [`h${index}`, `https://h${index}.example`])));
      assert.equal(await offer.getByRole("listitem").count(), 30);
      await page.keyboard.press("Escape");
      assert.deepEqual((await stored(page)).hosts, []);
    });
  },

  async "the sheet on a phone adds and switches"(tools) {
    const { assert, PHONE } = tools;
    await withOther(tools, async (phone, other) => {
      const sheet = await openSheet(phone);
      await check(phone, assert, "dialog");
      const heights = await sheet.locator("button:visible, input:visible").evaluateAll((all) => all.map((each) => each.getBoundingClientRect().height));
      assert.ok(heights.every((height) => height >= 44), heights.join(" "));
      await sheet.getByRole("textbox", { name: /^Address/ }).fill(other.link());
      await sheet.getByRole("button", { name: "Add and open" }).tap();
      await phone.waitForURL(`${other.origin}/`);
      await phone.getByText("Live").first().waitFor();
    }, { viewport: PHONE });
  },
};
