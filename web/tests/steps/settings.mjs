// Settings of the host: every kind of value that it has, two devices at once, refusals, a device that may only read.

import { AxeBuilder } from "@axe-core/playwright";

async function open(page) {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search commands and sessions" }).fill("Settings");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "This host" }).waitFor();
}

async function openOnPhone(phone) {
  await phone.getByRole("button", { name: "More", exact: true }).click();
  await phone.getByRole("button", { name: "Settings", exact: true }).click();
  await phone.getByRole("heading", { name: "This host" }).waitFor();
}

async function check(page, assert) {
  const { violations } = await new AxeBuilder({ page }).include(".settings").analyze();
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`), []);
}

const timeout = (page) => page.getByRole("group", { name: "Client tool timeout" });
const folders = (page) => page.getByRole("group", { name: "Readable folders" });

async function setTimeoutTo(page, text) {
  await timeout(page).getByRole("textbox").fill(text);
  await timeout(page).getByRole("button", { name: "Save" }).click();
}

/** Waits until a device shows a value that it is not editing. */
async function showsTimeout(page, value) {
  await page.waitForFunction(
    (wanted) => document.querySelector("#setting-clientToolTimeout-input")?.value === wanted,
    value,
  );
}

export const steps = {
  async "a value is changed, shown on the phone, and reset to its default"({ page, phone, assert }) {
    const device = await phone();
    await openOnPhone(device);
    await open(page);
    await setTimeoutTo(page, "60");
    await timeout(page).getByRole("button", { name: "Reset Client tool timeout: 1800" }).waitFor();
    await showsTimeout(device, "60");
    await check(page, assert);
    await check(device, assert);
    const small = await device.locator(".settings .button, .settings .reset").evaluateAll((all) =>
      all.map((each) => each.getBoundingClientRect()).filter(({ height }) => height > 0 && height < 44).length);
    assert.equal(small, 0);
    await timeout(device).getByRole("button", { name: /^Reset/ }).click();
    await showsTimeout(page, "1800");
    await timeout(page).getByRole("button", { name: /^Reset/ }).waitFor({ state: "detached" });
    await device.context().close();
  },

  async "a refused value is explained at its field, and the text stays"({ page, assert }) {
    await open(page);
    await setTimeoutTo(page, "soon");
    await timeout(page).getByRole("alert").getByText("Enter a number.").waitFor();
    await setTimeoutTo(page, "-5");
    await timeout(page).getByRole("alert").waitFor();
    await page.waitForFunction(() => /whole|seconds/i.test(document.querySelector("#setting-clientToolTimeout-error")?.textContent ?? ""));
    const field = timeout(page).getByRole("textbox");
    assert.equal(await field.inputValue(), "-5");
    assert.equal(await field.getAttribute("aria-invalid"), "true");
    assert.equal(await page.getByRole("log", { name: "Notices" }).getByText(/clientToolTimeout/).count(), 0);
    await check(page, assert);
    // Escape gives the value of the host back.
    await field.press("Escape");
    assert.equal(await field.inputValue(), "1800");
    assert.equal(await timeout(page).getByRole("alert").count(), 0);
  },

  async "two devices change a setting at once, and both see one value"({ browser, page, newDevice, assert }) {
    const other = await newDevice(browser, { name: "second" });
    await open(page);
    await open(other);
    await timeout(page).getByRole("textbox").fill("70");
    await timeout(other).getByRole("textbox").fill("80");
    await Promise.all([page, other].map((device) => timeout(device).getByRole("button", { name: "Save" }).click()));
    for (const device of [page, other]) {
      await timeout(device).getByRole("button", { name: "Save" }).waitFor({ state: "detached" });
    }
    // A third device has only what the host has decided.
    const judge = await newDevice(browser, { name: "third" });
    await open(judge);
    const decided = await timeout(judge).getByRole("textbox").inputValue();
    assert.ok(decided === "70" || decided === "80", decided);
    for (const device of [page, other]) {
      await showsTimeout(device, decided);
    }
    await judge.context().close();
    // A value that is being written is kept, with a note about the other one.
    await timeout(page).getByRole("textbox").fill("90");
    await setTimeoutTo(other, "100");
    await timeout(page).getByText("Changed on another device: 100").waitFor();
    assert.equal(await timeout(page).getByRole("textbox").inputValue(), "90");
    await timeout(page).getByRole("button", { name: "Discard" }).click();
    await showsTimeout(page, "100");
    await timeout(page).getByRole("button", { name: /^Reset/ }).click();
    await showsTimeout(other, "1800");
    await other.context().close();
  },

  async "entries of a list are added and removed on two devices without loss"({ browser, page, newDevice, project, assert }) {
    const other = await newDevice(browser, { name: "second" });
    await open(page);
    await open(other);
    const add = async (device, text) => {
      await folders(device).getByRole("textbox", { name: "New entry of Readable folders" }).fill(text);
      await folders(device).getByRole("textbox", { name: "New entry of Readable folders" }).press("Enter");
    };
    // Not a folder address: the host says so, and the text stays.
    await add(page, project);
    await folders(page).getByRole("alert").waitFor();
    assert.equal(await folders(page).getByRole("textbox").inputValue(), project);
    await add(page, "file:///srv/one");
    await folders(page).getByText("file:///srv/one").waitFor();
    assert.equal(await folders(page).getByRole("alert").count(), 0);
    await folders(other).getByText("file:///srv/one").waitFor();
    await add(other, "file:///srv/two");
    await folders(page).getByText("file:///srv/two").waitFor();
    assert.deepEqual(await folders(page).getByRole("listitem").allInnerTexts(), ["file:///srv/one", "file:///srv/two"]);
    await folders(page).getByRole("button", { name: "Remove file:///srv/one" }).click();
    await folders(other).getByText("file:///srv/one").waitFor({ state: "detached" });
    assert.deepEqual(await folders(other).getByRole("listitem").allInnerTexts(), ["file:///srv/two"]);
    await folders(other).getByRole("button", { name: "Remove file:///srv/two" }).click();
    await folders(page).getByText("file:///srv/two").waitFor({ state: "detached" });
    await other.context().close();
  },

  async "an agent is chosen, and an object is edited as JSON"({ page, assert }) {
    await open(page);
    const agent = page.getByRole("group", { name: "Default agent" });
    await agent.getByRole("combobox").selectOption({ label: "Demo agent" });
    await agent.getByRole("button", { name: /^Reset/ }).click();
    await agent.getByRole("button", { name: /^Reset/ }).waitFor({ state: "detached" });
    const object = page.getByRole("group", { name: "Enabled customizations" });
    await object.getByRole("textbox").fill("{ no json");
    await object.getByRole("button", { name: "Save" }).click();
    await object.getByRole("alert").getByText("This is not valid JSON").waitFor();
    await object.getByRole("textbox").fill("[1]");
    await object.getByRole("button", { name: "Save" }).click();
    await page.waitForFunction(() => document.querySelector("#setting-customizationEnablement-error")?.textContent?.includes("object"));
    await object.getByRole("button", { name: "Discard" }).click();
    assert.equal(await object.getByRole("alert").count(), 0);
  },

  async "a device that may only read sees the settings and cannot change them"({ browser, newDevice, assert }) {
    const reader = await newDevice(browser, { name: "reader", scope: "read" });
    await open(reader);
    await reader.getByText("so it cannot change settings").waitFor();
    await reader.getByText("Look at everything, change nothing").waitFor();
    assert.equal(await timeout(reader).getByRole("textbox").isEditable(), false);
    assert.equal(await folders(reader).getByRole("button").count(), 0);
    await check(reader, assert);
    await reader.context().close();
  },

  async "the panel works by keyboard and says how other devices are paired"({ page, assert }) {
    await open(page);
    const field = timeout(page).getByRole("textbox");
    await field.focus();
    await page.keyboard.press("Control+A");
    await page.keyboard.type("120");
    await page.keyboard.press("Enter");
    const reset = timeout(page).getByRole("button", { name: /^Reset/ });
    await reset.waitFor();
    await reset.focus();
    await page.keyboard.press("Enter");
    await showsTimeout(page, "1800");
    await page.getByRole("region", { name: "Pair another device" }).getByText("agenthost pair --name phone", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Copy agenthost devices" }).waitFor();
    const about = page.getByRole("region", { name: "About" });
    assert.match(await about.innerText(), /Page\s+\d+\.\d+\.\d+[^]*Host\s+\d+\.\d+\.\d+/);
    await page.getByRole("radio", { name: "Dark" }).last().check();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    await check(page, assert);
    await page.getByRole("radio", { name: "System" }).last().check();
  },

  async "without a connection nothing is changed"({ page, stopHost, startHost, assert }) {
    await open(page);
    await stopHost("SIGKILL");
    await page.getByText("No connection. Settings can be changed").waitFor();
    assert.equal(await timeout(page).getByRole("textbox").isEditable(), false);
    await startHost();
    await page.getByText("These settings apply to all devices").waitFor();
    assert.equal(await timeout(page).getByRole("textbox").isEditable(), true);
  },

  async "a device signs itself out and loses what it knew"({ browser, newDevice, agenthost, assert }) {
    const leaving = await newDevice(browser, { name: "leaving" });
    await leaving.evaluate(() => localStorage.setItem("agenthost.new", '{"text":"secret"}'));
    await open(leaving);
    assert.match(agenthost("devices"), /leaving/);
    await leaving.getByRole("button", { name: "Sign out" }).click();
    await leaving.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
    await leaving.getByRole("textbox", { name: "Code" }).waitFor();
    assert.doesNotMatch(agenthost("devices"), /leaving/);
    assert.equal(await leaving.evaluate(() => localStorage.getItem("agenthost.new")), null);
    await leaving.reload();
    await leaving.getByRole("textbox", { name: "Code" }).waitFor();
    await leaving.context().close();
  },
};
