// The page against a real host: pairing, a session with the shell, approvals, two devices, a lost host.
//
//   node tests/host.mjs BINARY [PART-OF-A-STEP'S-NAME]
//
// Each step prints one line; the last line is `N of N steps passed`. Screenshots of failed steps go to `shots`.

import { AxeBuilder } from "@axe-core/playwright";
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

const [binary, wanted = ""] = process.argv.slice(2);
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

const folder = mkdtempSync(join(tmpdir(), "agenthost-page-"));
const project = join(folder, "project");
const data = join(folder, "data");
const env = { ...process.env, HOME: join(folder, "home"), XDG_CONFIG_HOME: join(folder, "config") };
const port = await freePort();
// The name that `agenthost pair` prints: cookies of this host reach no other port.
const address = `http://agenthost-${port}.localhost:${port}/`;
/** Hosts that run. */
const hosts = new Set();
let host;

/** Runs `agenthost` and returns its output. */
function agenthost(...words) {
  return runOn(data, ...words);
}

function runOn(data, ...words) {
  return execFileSync(binary, [...words, "--data-dir", data], { env, cwd: project, stdio: ["ignore", "pipe", "ignore"] }).toString();
}

function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

async function spawnHost(port, data) {
  const child = spawn(binary, ["serve", "--listen", `127.0.0.1:${port}`, "--data-dir", data], { env, stdio: ["ignore", "ignore", "pipe"] });
  hosts.add(child);
  child.once("exit", () => hosts.delete(child));
  await new Promise((done, fail) => {
    child.once("exit", () => fail(new Error("the host did not start")));
    child.stderr.on("data", (text) => `${text}`.includes("listens on") && done());
  });
  return child;
}

async function endHost(child, signal) {
  const ended = new Promise((done) => child.once("exit", done));
  child.kill(signal);
  await ended;
}

/** Removes the folder of the host. Programs that the host started may still write after it has ended. */
function removeFolder() {
  return rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
}

async function startHost() {
  host = await spawnHost(port, data);
}

function stopHost(signal) {
  return endHost(host, signal);
}

/** Starts another host, with a port, devices and sessions of its own. */
async function startOther(data = mkdtempSync(join(folder, "other-"))) {
  const port = await freePort();
  const child = await spawnHost(port, data);
  const origin = `http://agenthost-${port}.localhost:${port}`;
  const link = (...words) => `${origin}/#code=${codeIn(runOn(data, "pair", ...words))}`;
  return { origin, link, agenthost: (...words) => runOn(data, ...words), stop: () => endHost(child, "SIGTERM") };
}

function newCode(...words) {
  return codeIn(agenthost("pair", ...words));
}

function codeIn(output) {
  return /#code=([A-Z0-9-]+)/.exec(output)[1];
}

/** A browser of its own: its cookies are those of one device. */
async function newDevice(browser, { viewport = DESKTOP, name = "laptop", scope = "terminal" } = {}) {
  const context = await browser.newContext({ viewport, hasTouch: viewport === PHONE, isMobile: viewport === PHONE });
  const page = await context.newPage();
  page.errors = [];
  page.on("pageerror", (error) => page.errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && page.errors.push(message.text()));
  await page.goto(`${address}#code=${newCode("--name", name, "--scope", scope)}`);
  await page.getByText("Live").first().waitFor();
  return page;
}

/** Starts a session with the shell; its first message is a command. */
async function newSession(page, command) {
  await page.getByRole("button", { name: "New session" }).first().click();
  // The page offers the agent of the last session first.
  await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption({ label: "Shell" });
  await page.getByRole("textbox", { name: "Message" }).last().fill(command);
  await page.getByRole("button", { name: "Start session" }).click();
}

const steps = {
  async "a code pairs a browser once"({ browser }) {
    const code = newCode();
    const first = await browser.newContext();
    const page = await first.newPage();
    await page.goto(`${address}#code=${code}`);
    await page.getByText("Live").first().waitFor();
    assert.equal(new URL(page.url()).hash, "", "the code stays in the address");
    const cookie = (await first.cookies()).find(({ name }) => name.startsWith("agenthost"));
    assert.ok(cookie.httpOnly && cookie.sameSite === "Strict", JSON.stringify(cookie));
    // Browsers send cookies to every port of a host name, so this host has a name of its own.
    assert.equal(cookie.domain, `agenthost-${port}.localhost`);
    const second = await browser.newContext();
    const other = await second.newPage();
    await other.goto(`${address}#code=${code}`);
    await other.getByRole("textbox", { name: /code/i }).waitFor();
    assert.equal(await other.getByText("Live").count(), 0);
  },

  async "a command is approved and its output shown"({ page }) {
    await newSession(page, "echo from-the-shell > made.txt; cat made.txt");
    const allow = page.getByRole("main").or(page.locator("body")).getByRole("button", { name: "Allow once" }).first();
    await allow.waitFor();
    assert.ok((await page.getByText("echo from-the-shell > made.txt; cat made.txt").count()) > 0);
    await allow.click();
    await page.getByText("from-the-shell", { exact: false }).first().waitFor();
    await page.getByRole("main").getByText("Done", { exact: true }).first().waitFor();
    assert.equal(readFileSync(join(project, "made.txt"), "utf8"), "from-the-shell\n");
  },

  async "the first message reaches an agent that takes time to start"({ page }) {
    await page.getByRole("button", { name: "New session" }).first().click();
    await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption({ label: "Demo agent" });
    await page.getByRole("textbox", { name: "Message" }).last().fill("say hello from the agent");
    await page.getByRole("button", { name: "Start session" }).click();
    await page.getByText("hello from the agent", { exact: true }).first().waitFor();
  },

  async "the phone sees the same request and answers it"({ browser, page }) {
    const phone = await newDevice(browser, { viewport: PHONE, name: "phone" });
    await newSession(page, "echo answered-by-phone");
    await phone.getByRole("button", { name: /Inbox/ }).click();
    await phone.getByText("echo answered-by-phone").first().waitFor();
    await phone.getByRole("button", { name: "Allow once" }).first().click();
    await page.waitForFunction(() => !document.body.innerText.includes("Needs you"));
    await page.getByText("answered-by-phone").nth(1).waitFor();
    assert.deepEqual(phone.errors, []);
    await phone.context().close();
  },

  async "two devices race for one approval, and one answer counts"({ browser, page }) {
    const other = await newDevice(browser, { name: "second" });
    await newSession(page, "echo raced >> raced.txt");
    const buttons = [];
    for (const device of [page, other]) {
      const button = device.getByRole("button", { name: "Allow once" }).first();
      await button.waitFor();
      buttons.push(button);
    }
    await Promise.allSettled(buttons.map((button) => button.click({ timeout: 3000 })));
    for (const device of [page, other]) {
      await device.waitForFunction(() => !document.body.innerText.includes("Needs you"));
    }
    assert.equal(readFileSync(join(project, "raced.txt"), "utf8"), "raced\n");
    await other.context().close();
  },

  async "a message waits in the queue while a turn runs"({ page }) {
    await newSession(page, "sleep 1000");
    await page.getByRole("button", { name: "Allow once" }).first().click();
    const box = page.getByRole("textbox", { name: "Message" }).last();
    await box.fill("echo queued-command");
    await page.getByRole("button", { name: "Queue", exact: true }).click();
    await page.getByText("echo queued-command").first().waitFor();
    assert.match(agenthost("sessions"), /sleep 1000/);
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText(/Cancelled|Stopped/i).first().waitFor();
  },

  async "kill -9 of the host during a command loses nothing that was shown"({ page }) {
    await newSession(page, "for i in $(seq 1 40); do echo line-$i; sleep 0.2; done; printf 'after-%s' kill");
    await page.getByRole("button", { name: "Allow once" }).first().click();
    await page.getByText("line-3").first().waitFor();
    await stopHost("SIGKILL");
    await page.getByText(/Offline|Disconnected|Reconnecting/i).first().waitFor();
    await startHost();
    await page.getByText("Live").first().waitFor();
    // The command goes on without a host, and its output is complete.
    await page.getByText(/Ran for i in/).first().click();
    await page.getByRole("button", { name: "Show all 41 lines" }).click();
    await page.getByText("after-kill").first().waitFor();
    assert.equal(await page.getByText(/the host stopped/i).count(), 0);
  },

  async "text of agents and files stays text"({ page }) {
    const attack = "printf '%s' '<img src=x onerror=\"window.pwned=1\"><script>window.pwned=1</scr''ipt>'";
    await newSession(page, attack);
    await page.getByRole("button", { name: "Allow once" }).first().click();
    await page.waitForFunction(() => !document.body.innerText.includes("Needs you"));
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    assert.equal(await page.locator("img[src=x]").count(), 0);
  },

  async "a revoked device is signed out"({ browser }) {
    const lost = await newDevice(browser, { name: "lost-phone" });
    agenthost("devices", "revoke", "lost-phone");
    await lost.getByRole("textbox", { name: /code/i }).waitFor();
    assert.equal(await lost.evaluate(async () => (await fetch("/device")).status), 401);
    await lost.context().close();
  },

  async "a page of another origin cannot connect or frame the page"({ browser }) {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.route("http://evil.test/**", (route) => route.fulfill({ contentType: "text/html", body: `<iframe src="${address}"></iframe>` }));
    await page.goto("http://evil.test/");
    const outcome = await page.evaluate((url) => new Promise((done) => {
      const socket = new WebSocket(url);
      socket.onopen = () => done("open");
      socket.onerror = () => done("refused");
    }), address.replace("http", "ws"));
    assert.equal(outcome, "refused");
    const frames = page.frames().filter((frame) => frame.url().startsWith(address));
    for (const frame of frames) {
      assert.equal(await frame.evaluate(() => document.body?.innerText ?? ""), "");
    }
    await context.close();
  },

  async "axe finds nothing on desktop and phone"({ browser, page }) {
    const phone = await newDevice(browser, { viewport: PHONE, name: "axe" });
    for (const device of [page, phone]) {
      const { violations } = await new AxeBuilder({ page: device }).analyze();
      assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`), []);
    }
    await phone.context().close();
  },
};

mkdirSync(project, { recursive: true });
mkdirSync(env.HOME, { recursive: true });
mkdirSync(join(folder, "config/agenthost"), { recursive: true });
// An ACP agent whose messages say what it does.
const demo = resolve(import.meta.dirname, "../../crates/cli/tests/vscode/agent/demo.mjs");
const agent = `[[agents]]\nid = "demo"\nname = "Demo agent"\ncommand = ["node", ${JSON.stringify(demo)}]\n`;
// An agent that answers at once.
const load = `[[agents]]\nid = "load"\nname = "Load"\ncommand = ["node", ${JSON.stringify(join(import.meta.dirname, "load-agent.mjs"))}]\n`;
// An agent that asks for permission as its prompt says.
const asking = `[[agents]]\nid = "ask"\nname = "Ask"\ncommand = ["node", ${JSON.stringify(join(import.meta.dirname, "ask-agent.mjs"))}]\n`;
// An agent that cannot start.
const broken = `[[agents]]\nid = "broken"\nname = "Broken"\ncommand = ["sh", "-c", "echo no license found >&2; exit 3"]\n`;
// An MCP server whose tools come with apps.
const apps = `[[mcp_servers]]\nname = "weather"\ncommand = "node"\nargs = [${JSON.stringify(join(import.meta.dirname, "app-server.mjs"))}]\n`;
writeFileSync(join(folder, "config/agenthost/config.toml"), `auto_agents = false\n${agent}${load}${asking}${broken}${apps}`);
execFileSync("git", ["init", "-q"], { cwd: project });
writeFileSync(join(project, "a.txt"), "one\n");

await startHost();
// The page offers the folders of the sessions that there are.
agenthost("run", "--yes", "true");
const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
let passed = 0;
// Steps by subject; each file exports `steps`.
const folderOfSteps = join(import.meta.dirname, "steps");
for (const file of readdirSync(folderOfSteps).sort()) {
  const { steps: more } = await import(join(folderOfSteps, file));
  Object.assign(steps, Object.fromEntries(Object.entries(more).map(([name, step]) => [`${file.replace(".mjs", "")}: ${name}`, step])));
}
const tools = { browser, newDevice, newSession, agenthost, project, data, address, stopHost, startHost, startOther, assert, DESKTOP, PHONE };
const phone = () => newDevice(browser, { viewport: PHONE, name: "phone" });
// PAGE_BRIEF=1 runs one step of each subject, and none that measures times: those mean little beside other work.
const subjectOf = (name) => /^([a-z]+): /.exec(name)?.[1];
const isFirst = (name, index, all) => all.findIndex((other) => subjectOf(other) === subjectOf(name)) === index;
// Steps that measure come first: the sessions that others leave would be part of what they count.
const isMeasured = (name) => ["budgets", "speed"].includes(subjectOf(name));
const isBrief = (name, index, all) => subjectOf(name) === undefined || (!isMeasured(name) && isFirst(name, index, all));
const chosen = Object.keys(steps)
  .filter((name) => name.includes(wanted))
  .sort((one, other) => Number(isMeasured(other)) - Number(isMeasured(one)));
const names = process.env.PAGE_BRIEF === "1" ? chosen.filter(isBrief) : chosen;
const page = await newDevice(browser);
page.setDefaultTimeout(15_000);
for (const name of names) {
  try {
    await steps[name]({ ...tools, page, phone });
    assert.deepEqual(page.errors.filter((text) => !/WebSocket|ERR_CONNECTION|401|Failed to load/.test(text)), []);
    passed += 1;
    console.log(`ok      ${name}`);
  } catch (error) {
    const shot = resolve(import.meta.dirname, "../shots", `${name.replaceAll(/[^a-z0-9]+/gi, "-")}.png`);
    mkdirSync(resolve(shot, ".."), { recursive: true });
    await page.screenshot({ path: shot });
    console.log(`FAILED  ${name}\n        ${`${error.message}`.split("\n").slice(0, 6).join("\n        ")}\n        ${shot}`);
  }
}
console.log(`${passed} of ${names.length} steps passed`);
await browser.close();
// A failed step may have left hosts of its own.
await Promise.all([...hosts].map((child) => endHost(child, "SIGTERM")));
await removeFolder();
process.exit(names.length > 0 && passed === names.length ? 0 : 1);
