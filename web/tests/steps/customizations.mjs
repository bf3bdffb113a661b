// Customizations: the tree, switches, approval of code on two devices, MCP servers, and tokens.

import { AxeBuilder } from "@axe-core/playwright";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { startTokenServer } from "../token-server.mjs";

const ADDER = resolve(import.meta.dirname, "../../../crates/cli/tests/vscode/agent/adder.mjs");

function write(project, files) {
  for (const [path, content] of Object.entries(files)) {
    const file = join(project, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content, null, 2));
  }
}

function remove(project) {
  for (const path of [".claude", ".agents", ".mcp.json", ".github", "AGENTS.md", "hook.txt"]) {
    rmSync(join(project, path), { recursive: true, force: true });
  }
}

/** A hook that runs before each turn. */
function hook(command) {
  return { hooks: { UserPromptSubmit: [{ hooks: [{ type: "command", command }] }] } };
}

function skill(name, description) {
  return `---\nname: ${name}\ndescription: ${description}\n---\nDo it.\n`;
}

async function startSession(page, newSession) {
  await newSession(page, "true");
  await page.getByRole("button", { name: "Allow once" }).first().click();
  await page.waitForFunction(() => !document.body.innerText.includes("Needs you"));
}

/** Starts a session with the agent that uses the tools of MCP servers. */
async function startDemo(page, text) {
  await page.getByRole("button", { name: "New session" }).first().click();
  await page.getByRole("combobox", { name: "Agent" }).selectOption({ label: "Demo agent" });
  await page.getByRole("textbox", { name: "Message" }).last().fill(text);
  await page.getByRole("button", { name: "Start session" }).click();
}

/** Starts a session with the agent, and waits for its answer. */
async function talk(page) {
  await startDemo(page, "say first answer");
  await page.getByText("first answer", { exact: true }).first().waitFor();
}

/** Sends a message to the agent, and waits for the answer: hooks of the turn have run before. */
async function sendAndWait(page, word) {
  await page.getByRole("textbox", { name: "Message" }).last().fill(`say ${word}`);
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByText(word, { exact: true }).first().waitFor();
}

async function openPanel(page) {
  if (await page.getByRole("button", { name: "Show panel" }).isVisible()) {
    await page.getByRole("button", { name: "Show panel" }).click();
  }
  await page.getByRole("button", { name: "Customizations", exact: true }).first().click();
  return panel(page);
}

/** Opens the panel of the newest session on a phone. */
async function openOnPhone(device) {
  await device.getByRole("button", { name: "Sessions", exact: true }).last().click();
  await device.getByRole("list", { name: "Sessions" }).locator("[data-session]").first().click();
  await device.getByRole("button", { name: "More", exact: true }).last().click();
  await device.getByRole("button", { name: "Customizations", exact: true }).click();
  return panel(device);
}

function panel(page) {
  return page.getByRole("region", { name: "Customizations" });
}

/** Opens a container of the tree; what is open stays open in other sessions of the folder. */
async function expand(tree, name) {
  const button = tree.getByRole("button", { name });
  if ((await button.getAttribute("aria-expanded")) === "false") {
    await button.click();
  }
}

function review(page) {
  return page.getByRole("dialog");
}

async function checkAxe(page, assert) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`), []);
}

/** Everything that the page has stored in the browser. */
function storedText(page) {
  return page.evaluate(async () => {
    const database = await new Promise((done) => {
      const opening = indexedDB.open("agenthost", 1);
      opening.onsuccess = () => done(opening.result);
    });
    const values = await new Promise((done) => {
      const request = database.transaction("state").objectStore("state").getAll();
      request.onsuccess = () => done(request.result);
    });
    database.close();
    return JSON.stringify([values, { ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML]);
  });
}

export const steps = {
  async "the tree shows kinds and origins, is filtered, and its switches work"({ page, newSession, project, assert, phone }) {
    remove(project);
    write(project, {
      "AGENTS.md": "Write British English.",
      ".agents/skills/release/SKILL.md": skill("release", "Makes a release"),
      ".agents/skills/deploy/SKILL.md": skill("deploy", "Deploys the <b>site</b>"),
      ".agents/skills/broken/SKILL.md": "---\nname: [\n---\n",
      ".mcp.json": { mcpServers: {} },
    });
    await startSession(page, newSession);
    const tree = await openPanel(page);
    await expand(tree, /^.agents.skills, Folder/);
    await tree.getByText("Makes a release").waitFor();
    await tree.getByText("Deploys the <b>site</b>").waitFor();
    await tree.getByText("has problems").first().waitFor();
    await checkAxe(page, assert);

    const skills = page.getByRole("switch", { name: "Use deploy" });
    await skills.click();
    await page.getByRole("switch", { name: "Use deploy", checked: false }).waitFor();
    // Another device sees the decision, and takes it back.
    const other = await phone();
    const small = await openOnPhone(other);
    await expand(small, /^.agents.skills, Folder/);
    await other.getByRole("switch", { name: "Use deploy", checked: false }).click();
    await page.getByRole("switch", { name: "Use deploy", checked: true }).waitFor();
    await checkAxe(other, assert);
    const box = await other.getByRole("switch", { name: "Use deploy" }).boundingBox();
    assert.ok(box.width >= 44 && box.height >= 44, JSON.stringify(box));
    assert.deepEqual(other.errors, []);
    await other.context().close();

    await page.getByRole("searchbox", { name: "Filter customizations" }).fill("rel");
    await tree.getByText("Makes a release").waitFor();
    await tree.getByText("Deploys the").waitFor({ state: "detached" });
    await page.getByRole("searchbox", { name: "Filter customizations" }).fill("nothing-like-this");
    await tree.getByText("No customization matches").waitFor();
    await page.getByRole("searchbox", { name: "Filter customizations" }).fill("");
    await page.getByRole("button", { name: /^\d+ rules?$/ }).click();
    await tree.getByText("Makes a release").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "All", exact: true }).click();
    remove(project);
  },

  async "waiting code is read as a whole and allowed on the phone, and the desktop sees it"({ page, project, assert, phone }) {
    remove(project);
    const command = `echo ran >> hook.txt # \u202e hidden ${"x".repeat(300)} <img src=x onerror=window.pwned=1> end-of-command`;
    write(project, { ".claude/settings.json": hook(command) });
    await talk(page);
    const tree = await openPanel(page);
    await tree.getByRole("button", { name: /^Review code/ }).waitFor();
    assert.ok(!existsSync(join(project, "hook.txt")), "code ran before it was approved");

    const other = await phone();
    await openOnPhone(other);
    await other.getByRole("button", { name: "Inbox" }).click();
    await other.getByText(/would run 1 hook/).first().waitFor();
    await other.getByRole("button", { name: "Review code" }).click();
    const code = await review(other).locator("pre").innerText();
    assert.ok(code.includes("end-of-command") && code.includes("<img src=x onerror=window.pwned=1>"), code);
    assert.ok(code.includes("\\u{202e}") && !code.includes("\u202e"), "the direction mark is hidden");
    await review(other).getByText(join(project, ".claude/settings.json")).waitFor();
    // All of the code is inside of the screen.
    assert.ok(await review(other).locator("pre").evaluate((pre) => pre.scrollWidth <= pre.clientWidth));
    await checkAxe(other, assert);
    await review(other).getByRole("button", { name: "Allow", exact: true }).click();
    await review(other).waitFor({ state: "detached" });
    assert.equal(await other.evaluate(() => window.pwned), undefined);
    assert.deepEqual(other.errors, []);
    await other.context().close();

    await tree.getByRole("button", { name: /^Review code/ }).waitFor({ state: "detached" });
    await sendAndWait(page, "answer-1");
    assert.equal(readFileSync(join(project, "hook.txt"), "utf8"), "ran\n");

    // The approval is withdrawn, and the code does not run any more.
    await tree.getByRole("button", { name: /^Actions for / }).first().click();
    await page.getByRole("menuitem", { name: "Withdraw approval" }).click();
    await review(page).getByRole("button", { name: "Withdraw approval" }).click();
    await tree.getByRole("button", { name: /^Review code/ }).waitFor();
    await sendAndWait(page, "answer-2");
    assert.equal(readFileSync(join(project, "hook.txt"), "utf8"), "ran\n");
    remove(project);
  },

  async "changed code is shown again while it is read, and asks again after an approval"({ page, project, assert }) {
    remove(project);
    write(project, { ".claude/settings.json": hook("echo first >> hook.txt") });
    await talk(page);
    const tree = await openPanel(page);
    await tree.getByRole("button", { name: /^Review code/ }).click();
    await review(page).getByText("echo first >> hook.txt").waitFor();
    write(project, { ".claude/settings.json": hook("echo second >> hook.txt") });
    await review(page).getByText("The code has changed since you opened it").waitFor();
    await review(page).getByText("echo second >> hook.txt").waitFor();
    assert.equal(await review(page).getByText("echo first").count(), 0);
    await review(page).getByRole("button", { name: "Allow", exact: true }).click();
    await tree.getByRole("button", { name: /^Review code/ }).waitFor({ state: "detached" });
    write(project, { ".claude/settings.json": hook("echo third >> hook.txt") });
    await tree.getByRole("button", { name: /^Review code/ }).waitFor();
    await sendAndWait(page, "answer-3");
    assert.ok(!existsSync(join(project, "hook.txt")), "changed code ran");
    remove(project);
  },

  async "denied code never runs and does not ask again"({ page, project, assert }) {
    remove(project);
    write(project, { ".claude/settings.json": hook("echo denied >> hook.txt") });
    await talk(page);
    const tree = await openPanel(page);
    await page.getByRole("button", { name: "Review code", exact: true }).first().click();
    await review(page).getByRole("button", { name: "Deny" }).click();
    await review(page).waitFor({ state: "detached" });
    await page.getByRole("region", { name: "Inbox" }).getByText(/would run/).waitFor({ state: "detached" });
    await tree.getByRole("button", { name: /^Review code/ }).waitFor({ state: "detached" });
    await sendAndWait(page, "answer-4");
    assert.ok(!existsSync(join(project, "hook.txt")), "denied code ran");
    remove(project);
  },

  async "an MCP server starts, stops, is restarted, and fails with its reason"({ page, project, assert }) {
    remove(project);
    const servers = { adder: { command: "node", args: [ADDER] }, broken: { command: "/nonexistent/<b>program</b>" } };
    write(project, { ".mcp.json": { mcpServers: servers } });
    await startDemo(page, "say ready");
    await page.getByText("ready", { exact: true }).first().waitFor();
    const tree = await openPanel(page);
    await tree.getByRole("button", { name: /^Review code/ }).click();
    await review(page).getByText(ADDER).waitFor();
    await review(page).getByRole("button", { name: "Allow", exact: true }).click();
    await expand(tree, /^MCP servers, Folder/);
    await page.getByRole("textbox", { name: "Message" }).last().fill("tool add {\"a\": 40, \"b\": 2}");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByText("The sum is 42").first().waitFor();
    await tree.getByText("running · 1 tool").waitFor();
    await tree.getByText("/nonexistent/<b>program</b>").first().waitFor();

    await tree.getByRole("button", { name: "Actions for adder" }).click();
    await page.getByRole("menuitem", { name: "Stop" }).click();
    await tree.getByText("stopped").waitFor();
    await tree.getByRole("button", { name: "Actions for adder" }).click();
    await page.getByRole("menuitem", { name: "Start", exact: true }).click();
    await tree.getByText("running · 1 tool").waitFor();
    await tree.getByRole("button", { name: "Actions for adder" }).click();
    await page.getByRole("menuitem", { name: "Turn off in this folder" }).click();
    await tree.getByText("off in this folder").waitFor();
    await page.getByRole("switch", { name: "Use adder" }).click();
    await page.getByRole("switch", { name: "Use adder", checked: true }).waitFor();
    await tree.getByRole("button", { name: "Actions for adder" }).click();
    await page.getByRole("menuitem", { name: "Turn off everywhere" }).click();
    await tree.getByText("off everywhere").waitFor();
    await tree.getByRole("button", { name: "Actions for adder" }).click();
    await page.getByRole("menuitem", { name: "Turn on everywhere" }).click();
    await page.getByRole("switch", { name: "Use adder", checked: true }).waitFor();
    await checkAxe(page, assert);
    remove(project);
  },

  async "a server that needs a token gets it from the inbox, and a call gets a better one on the phone"({ page, project, assert, phone }) {
    remove(project);
    const tokens = { read: "read-token-7f3a", call: "call-token-91bc" };
    const server = await startTokenServer(tokens);
    try {
      write(project, { ".mcp.json": { mcpServers: { vault: { type: "http", url: server.url } } } });
      await startDemo(page, "say ready");
      await page.getByText("ready", { exact: true }).first().waitFor();
      const tree = await openPanel(page);
      await tree.getByRole("button", { name: /^Review code/ }).click();
      await review(page).getByRole("button", { name: "Allow", exact: true }).click();
      await tree.getByRole("button", { name: /^Review code/ }).waitFor({ state: "detached" });
      await expand(tree, /^MCP servers, Folder/);
      await tree.getByRole("button", { name: "Actions for vault" }).click();
      await page.getByRole("menuitem", { name: "Start", exact: true }).click();
      await tree.getByText("needs a token", { exact: true }).waitFor();

      const inbox = page.getByRole("region", { name: "Inbox" });
      await inbox.getByText("Vault <b>of</b> secrets needs a token").waitFor();
      await inbox.getByText("Ask the owner of the vault").waitFor();
      await inbox.getByRole("button", { name: /^Sign in to Vault/ }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("vault:read").waitFor();
      assert.equal(await dialog.getByRole("link", { name: "https://login.example/realm" }).getAttribute("rel"), "noopener noreferrer");
      await checkAxe(page, assert);
      await dialog.getByLabel("Token or API key").fill("wrong\u0001token");
      await dialog.getByRole("button", { name: "Send token" }).click();
      await dialog.getByRole("alert").waitFor();
      assert.equal(await dialog.getByLabel("Token or API key").inputValue(), "");
      await dialog.getByLabel("Token or API key").fill(tokens.read);
      await dialog.getByRole("button", { name: "Send token" }).click();
      await dialog.waitFor({ state: "detached" });
      await tree.getByText("running · 1 tool").waitFor();
      await inbox.getByText("needs a token").first().waitFor({ state: "detached" });

      // A call needs more than the server. The host uses the token of the device that sent the message.
      const other = await phone();
      await openOnPhone(other);
      await other.getByRole("button", { name: "Chat", exact: true }).click();
      await other.getByRole("textbox", { name: "Message" }).last().fill("tool secret {}");
      await other.getByRole("button", { name: "Send", exact: true }).click();
      await other.getByRole("button", { name: "Inbox" }).click();
      await other.getByRole("button", { name: /^Sign in to Vault/ }).last().click();
      await other.getByRole("dialog").getByText("vault:call").waitFor();
      await other.getByRole("dialog").getByLabel("Token or API key").fill(tokens.call);
      await checkAxe(other, assert);
      await other.getByRole("dialog").getByRole("button", { name: "Send token" }).click();
      await page.getByText("the vault is open").first().waitFor();
      await other.getByRole("button", { name: /^Sign in to Vault/ }).first().waitFor({ state: "detached" });
      for (const device of [page, other]) {
        const stored = await storedText(device);
        assert.ok(!stored.includes(tokens.read) && !stored.includes(tokens.call), "a token is kept");
      }
      assert.deepEqual(other.errors, []);
      await other.context().close();
    } finally {
      await server.close();
      remove(project);
    }
  },

  async "a token from the phone starts a server of a session of the desktop"({ page, project, phone }) {
    remove(project);
    const tokens = { read: "phone-token", call: "phone-token" };
    const server = await startTokenServer(tokens);
    try {
      write(project, { ".mcp.json": { mcpServers: { safe: { type: "http", url: server.url } } } });
      await startDemo(page, "say ready");
      await page.getByText("ready", { exact: true }).first().waitFor();
      const tree = await openPanel(page);
      await tree.getByRole("button", { name: /^Review code/ }).click();
      await review(page).getByRole("button", { name: "Allow", exact: true }).click();
      await tree.getByRole("button", { name: /^Review code/ }).waitFor({ state: "detached" });
      await expand(tree, /^MCP servers, Folder/);
      await tree.getByRole("button", { name: "Actions for safe" }).click();
      await page.getByRole("menuitem", { name: "Start", exact: true }).click();
      await tree.getByText("needs a token", { exact: true }).waitFor();

      const other = await phone();
      const small = await openOnPhone(other);
      await expand(small, /^MCP servers, Folder/);
      await small.getByRole("button", { name: /^Sign in to Vault/ }).click();
      await other.getByRole("dialog").getByLabel("Token or API key").fill(tokens.read);
      await other.getByRole("dialog").getByRole("button", { name: "Send token" }).click();
      await tree.getByText("running · 1 tool").waitFor();
      await small.getByText("running · 1 tool").waitFor();
      await other.context().close();
    } finally {
      await server.close();
      remove(project);
    }
  },

  async "a device that may only read sees waiting code and cannot decide"({ browser, newDevice, page, project, assert }) {
    remove(project);
    write(project, { ".claude/settings.json": hook("echo reader >> hook.txt"), ".agents/skills/one/SKILL.md": skill("one", "First") });
    await talk(page);
    const reader = await newDevice(browser, { name: "reader", scope: "read" });
    await reader.getByRole("list", { name: "Sessions" }).locator("[data-session]").first().click();
    const tree = await openPanel(reader);
    await tree.getByRole("button", { name: /^Review code/ }).click();
    await review(reader).getByText("echo reader >> hook.txt").waitFor();
    await review(reader).getByText("This device may only read").waitFor();
    assert.equal(await review(reader).getByRole("button", { name: "Allow", exact: true }).count(), 0);
    await review(reader).getByRole("button", { name: "Close" }).click();
    await tree.getByRole("button", { name: /^Review code/ }).waitFor();
    assert.ok(await reader.getByRole("switch", { name: "Use .agents/skills", checked: true }).first().isDisabled());
    await sendAndWait(page, "answer-5");
    assert.ok(!existsSync(join(project, "hook.txt")));
    await reader.context().close();
    remove(project);
  },

  async "500 skills with hostile names are listed, found and harmless"({ page, newSession, project, assert }) {
    remove(project);
    const hostile = "<img src=x onerror=window.pwned=1>\u202e\u200b";
    const files = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`.agents/skills/s${index}/SKILL.md`, skill(`s${index}`, JSON.stringify(`${hostile} number ${index}`))]),
    );
    write(project, files);
    await startSession(page, newSession);
    const tree = await openPanel(page);
    await page.getByRole("button", { name: "500 skills" }).waitFor();
    await expand(tree, /^.agents.skills, Folder, 500/);
    await tree.getByRole("button", { name: "Show 400 more" }).click();
    await tree.getByRole("button", { name: "Show 300 more" }).waitFor();
    await page.getByRole("searchbox", { name: "Filter customizations" }).fill("number 499");
    await tree.getByText("number 499").waitFor();
    const text = await tree.innerText();
    assert.ok(text.includes("<img src=x onerror=window.pwned=1>") && !/[\u202e\u200b]/.test(text), text);
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    await page.getByRole("searchbox", { name: "Filter customizations" }).fill("");
    remove(project);
  },
};
