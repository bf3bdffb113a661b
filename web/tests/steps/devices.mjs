// Devices with less than all rights, devices that were revoked, notices, and several tabs of one browser.

import { AxeBuilder } from "@axe-core/playwright";

async function check(page, assert) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`), []);
}

const buttons = async (page) => {
  const names = await page.getByRole("button").evaluateAll((all) => all.filter((each) => each.checkVisibility() && !each.disabled).map((each) => each.ariaLabel ?? each.innerText.trim()));
  return names.filter((name) => name !== "");
};

/** Names of actions that change something. */
const CHANGES = /^(New session|Start session|Send|Queue|Stop|Steer|Allow|Deny|Reject|Rename|Archive|Delete|Undo|Commit|Stage|Discard|Continue|Attach|Mark as read|Send answers|Decline|Use this folder|New terminal|New file)/;

export const steps = {
  async "a device that may only read is offered nothing that it cannot do, and says why"({ browser, page, newDevice, newSession, agenthost, assert, DESKTOP, PHONE }) {
    await newSession(page, "echo waits-for-somebody");
    await page.getByRole("heading", { level: 1, name: "echo waits-for-somebody" }).waitFor();
    await page.getByRole("main").getByRole("button", { name: "Allow once" }).first().waitFor();
    for (const viewport of [DESKTOP, PHONE]) {
      const reader = await newDevice(browser, { name: "reader", scope: "read", viewport });
      await reader.getByRole("note").filter({ hasText: "This device may only read. To do more, pair it again" }).waitFor();
      await reader.goto(page.url());
      await reader.getByRole("main").getByText("echo waits-for-somebody").first().waitFor();
      assert.deepEqual((await buttons(reader)).filter((name) => CHANGES.test(name)), [], "in the chat");
      assert.equal(await reader.getByRole("textbox", { name: "Message" }).count(), 0);
      await check(reader, assert);
      if (viewport === PHONE) {
        for (const tab of ["Inbox", "Sessions", "Changes", "More"]) {
          await reader.getByRole("navigation", { name: "Main" }).getByRole("button", { name: tab }).tap();
          assert.deepEqual((await buttons(reader)).filter((name) => CHANGES.test(name)), [], tab);
        }
      } else {
        for (const panel of ["Changes", "Files", "Terminals", "Customizations", "Usage", "Settings"]) {
          await reader.getByRole("navigation", { name: "Panels" }).getByRole("button", { name: panel }).click();
          await reader.getByRole("complementary", { name: panel }).waitFor();
          assert.deepEqual((await buttons(reader)).filter((name) => CHANGES.test(name)), [], panel);
        }
        await reader.keyboard.press("Control+k");
        const entries = await reader.getByRole("option").allInnerTexts();
        assert.deepEqual(entries.filter((name) => CHANGES.test(name.trim())), []);
        await reader.keyboard.press("Escape");
        await reader.keyboard.press("n");
        assert.equal(await reader.getByRole("heading", { name: "What should be done?" }).count(), 0);
      }
      assert.equal(await reader.getByRole("log", { name: "Notices" }).getByRole("button").count(), 0, "the page tried what it may not do");
      assert.deepEqual(reader.errors, []);
      await reader.context().close();
    }
    void agenthost;
    await page.getByRole("main").getByRole("button", { name: "Deny" }).first().click();
  },

  async "a device without terminals answers and writes, and is offered no terminal"({ browser, page, newDevice, newSession, assert }) {
    const operator = await newDevice(browser, { name: "operator", scope: "operate" });
    await newSession(operator, "echo operated");
    await operator.getByRole("main").getByRole("button", { name: "Allow once" }).first().click();
    await operator.getByRole("main").getByText("operated").nth(1).waitFor();
    await operator.getByRole("navigation", { name: "Panels" }).getByRole("button", { name: "Terminals" }).click();
    await operator.getByText("This device may not use terminals.").waitFor();
    assert.equal(await operator.getByRole("button", { name: "New terminal" }).count(), 0);
    assert.equal(await operator.getByRole("note").count(), 0, "the line is where it matters");
    await check(operator, assert);
    await operator.context().close();
    void page;
  },

  async "a device that is paired again with more rights has them"({ browser, newDevice, newSession, agenthost, address, assert }) {
    const device = await newDevice(browser, { name: "promoted", scope: "read" });
    await device.getByRole("note").waitFor();
    const code = /#code=([A-Z0-9-]+)/.exec(agenthost("pair", "--name", "promoted-2", "--scope", "operate"))[1];
    await device.goto("about:blank");
    await device.goto(`${address}#code=${code}`);
    await device.getByText("Live").first().waitFor();
    await device.getByRole("note").waitFor({ state: "detached" });
    await newSession(device, "echo promoted");
    await device.getByRole("main").getByRole("button", { name: "Deny" }).first().click();
    assert.deepEqual(device.errors.filter((text) => !/WebSocket|401/.test(text)), []);
    await device.context().close();
  },

  async "a device that is paired again with fewer rights has lost the others"({ browser, newDevice, agenthost, address, assert }) {
    const device = await newDevice(browser, { name: "demoted", scope: "terminal" });
    const [before] = await device.context().cookies();
    const code = /#code=([A-Z0-9-]+)/.exec(agenthost("pair", "--name", "demoted-2", "--scope", "read"))[1];
    await device.goto("about:blank");
    await device.goto(`${address}#code=${code}`);
    await device.getByRole("note").filter({ hasText: "This device may only read." }).waitFor();
    const names = agenthost("devices");
    assert.match(names, /demoted-2/);
    assert.doesNotMatch(names, /demoted /, "the device of the old cookie is listed");
    // Whoever has kept the old cookie has nothing.
    const thief = await browser.newContext();
    await thief.addCookies([before]);
    const page = await thief.newPage();
    await page.goto(address);
    await page.getByRole("textbox", { name: /code/i }).waitFor();
    assert.equal(await page.evaluate(async () => (await fetch("/device")).status), 401);
    await thief.close();
    await device.context().close();
  },

  async "texts that only this device has do not survive its revocation"({ browser, page, newDevice, newSession, agenthost, assert }) {
    await newSession(page, "true shared-session");
    await page.getByRole("heading", { level: 1, name: "true shared-session" }).waitFor();
    await page.getByRole("main").getByRole("button", { name: "Deny" }).first().click();
    const lost = await newDevice(browser, { name: "lost-tablet" });
    await lost.goto(page.url());
    const box = (device) => device.getByRole("main").getByRole("textbox", { name: "Message" }).last();
    await box(lost).fill("only-here-secret");
    // Another text is the shared one, so the text of the tablet stays on the tablet.
    await box(page).fill("another text");
    const held = lost.getByRole("main").getByRole("status").filter({ hasText: /^Draft of laptop/ });
    const kept = page.getByRole("main").getByRole("status").filter({ hasText: /^Draft of lost-tablet/ });
    await Promise.any([held.waitFor(), kept.waitFor()]);
    await lost.reload();
    await lost.waitForFunction(() => document.querySelector("textarea[data-composer]")?.value === "only-here-secret");
    agenthost("devices", "revoke", "lost-tablet");
    await lost.getByText("This device is no longer connected.").waitFor();
    const left = await lost.evaluate(() => [document.documentElement.outerHTML, JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage })].join());
    assert.ok(!left.includes("only-here-secret"), left);
    await lost.reload();
    await lost.getByRole("textbox", { name: /code/i }).waitFor();
    assert.ok(!(await lost.evaluate(() => JSON.stringify({ ...sessionStorage }))).includes("secret"));
    await box(page).fill("");
    await lost.context().close();
  },

  async "a revoked device keeps no private text"({ browser, newDevice, newSession, agenthost, assert }) {
    const lost = await newDevice(browser, { name: "lost-laptop" });
    await newSession(lost, "echo top-secret-text");
    await lost.getByRole("main").getByRole("button", { name: "Deny" }).first().click();
    await lost.getByRole("main").getByRole("textbox", { name: "Message" }).last().fill("a secret draft");
    await lost.getByRole("button", { name: "New session" }).first().click();
    await lost.getByRole("main").getByRole("textbox", { name: "Message" }).last().fill("another secret");
    await lost.waitForFunction(() => document.querySelector("[role=alert]")?.textContent.includes("secret"));
    agenthost("devices", "revoke", "lost-laptop");
    await lost.getByRole("textbox", { name: /code/i }).waitFor();
    await lost.getByText("This device is no longer connected.").waitFor();
    const left = await lost.evaluate(async () => {
      const databases = await indexedDB.databases();
      const values = [];
      for (const { name } of databases) {
        const database = await new Promise((done) => (indexedDB.open(name).onsuccess = (event) => done(event.target.result)));
        for (const store of database.objectStoreNames) {
          const all = database.transaction(store).objectStore(store).getAll();
          values.push(...(await new Promise((done) => (all.onsuccess = () => done(all.result)))));
        }
        database.close();
      }
      return [document.documentElement.outerHTML, document.title, location.href, JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage }), ...values].join("\n");
    });
    assert.ok(!/secret/.test(left), left.slice(Math.max(0, left.indexOf("secret") - 80), left.indexOf("secret") + 40));
    await lost.context().close();
  },

  async "notices cover no control"({ page, phone, newSession, assert }) {
    await newSession(page, "true notices");
    await page.getByRole("heading", { level: 1, name: "true notices" }).waitFor();
    await page.getByRole("main").getByRole("button", { name: "Deny" }).first().click();
    const device = await phone();
    await device.goto(page.url());
    await device.getByRole("main").getByRole("textbox", { name: "Message" }).waitFor();
    for (const view of [page, device]) {
      for (let count = 0; count < 3; count += 1) {
        await view.evaluate((count) => {
          const field = document.querySelector("textarea[data-composer]");
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(6_000_000)], `too-large-${count}.bin`));
          field.dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData: data }));
        }, count);
      }
      const notices = view.getByRole("log", { name: "Notices" });
      await notices.getByRole("button", { name: "Dismiss" }).nth(2).waitFor();
      // Whatever is at the middle of a control is the control.
      const covered = await view.evaluate(() =>
        [...document.querySelectorAll("button, input:not([hidden]), textarea, select, a")]
          .filter((each) => each.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && each.closest(".hidden-visually") === null)
          .filter((each) => {
            const { left, top, width, height } = each.getBoundingClientRect();
            const [x, y] = [left + width / 2, top + height / 2];
            if (width < 2 || x < 0 || y < 0 || x > innerWidth || y > innerHeight) return false;
            const found = document.elementFromPoint(x, y);
            return found?.closest("[role=log]") !== null && !found.closest("[role=log]").contains(each);
          })
          .map((each) => each.outerHTML.slice(0, 120)),
      );
      assert.deepEqual(covered, []);
      assert.ok(await view.evaluate(() => document.documentElement.scrollHeight <= innerHeight), "the page has grown");
      for (let count = 0; count < 3; count += 1) await notices.getByRole("button", { name: "Dismiss" }).first().click();
    }
    await device.context().close();
  },

  async "two tabs of one browser are two clients, which follow each other"({ page, newSession, assert }) {
    await newSession(page, "echo two-tabs");
    await page.getByRole("heading", { level: 1, name: "echo two-tabs" }).waitFor();
    const tab = await page.context().newPage();
    await tab.goto(page.url());
    await tab.getByText("Live").first().waitFor();
    await tab.getByRole("main").getByRole("button", { name: "Allow once" }).first().click();
    await page.getByRole("main").getByText("two-tabs").nth(1).waitFor();
    await page.getByRole("main").getByRole("textbox", { name: "Message" }).last().fill("from tab one");
    await tab.waitForFunction(() => document.querySelector("textarea[data-composer]")?.value === "from tab one");
    await page.getByText("Live").first().waitFor();
    // A reload of one tab leaves the other alone, and both go on.
    await tab.reload();
    await tab.getByText("Live").first().waitFor();
    assert.equal(await tab.getByRole("main").getByRole("textbox", { name: "Message" }).last().inputValue(), "from tab one");
    await page.getByRole("main").getByRole("textbox", { name: "Message" }).last().fill("");
    await tab.close();
  },

  async "a message that was written offline survives a reload and is sent once"({ page, newSession, stopHost, startHost, assert }) {
    await newSession(page, "true before-offline");
    await page.getByRole("main").getByRole("button", { name: "Deny" }).first().click();
    await page.getByRole("main").getByText("The command was not run.").waitFor();
    await page.getByRole("button", { name: "Send", exact: true }).waitFor();
    await stopHost("SIGKILL");
    await page.getByText(/Offline/).first().waitFor();
    await page.getByRole("main").getByRole("textbox", { name: "Message" }).last().fill("true written-offline");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    const mine = page.getByRole("main").getByRole("article", { name: "You" }).filter({ hasText: "true written-offline" });
    await mine.getByText("Sending").waitFor();
    await page.getByText("1 waiting to be sent").first().waitFor();
    // The service worker has the page, and the page its state.
    await page.reload();
    await mine.getByText("Sending").waitFor();
    await startHost();
    await page.getByText("Live").first().waitFor();
    await page.getByRole("main").getByRole("button", { name: "Deny" }).first().click();
    assert.equal(await mine.count(), 1);
  },
};
