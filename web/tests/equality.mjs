// Compares the mirror of a page that lives through a random session with the state of the host.
//
//   node --experimental-websocket tests/equality.mjs BINARY [ACTIONS] [SEED]
//
// The WebAssembly core of the page sends random commands to a real host with an ACP agent, while its connection is cut
// again and again and the host is killed. A second core, and a third one in Chromium, then subscribe to the same channels:
// all have the same digest of every channel. A failure prints the seed.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { makeCorePage } from "./core-page.mjs";

const [binary, actions = "10000", seedText = `${Date.now() % 100000}`] = process.argv.slice(2);
const CorePage = makeCorePage();
const module = await WebAssembly.compile(readFileSync(process.env.PAGE_WASM ?? resolve(import.meta.dirname, "../../crates/page/dist/page.wasm")));

let seed = Number(seedText);
/** A number from 0 to `below - 1`. */
function random(below) {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return (seed >>> 8) % below;
}

const folder = mkdtempSync(join(tmpdir(), "agenthost-equality-"));
const project = join(folder, "project");
const data = join(folder, "data");
const env = { ...process.env, HOME: folder, XDG_CONFIG_HOME: join(folder, "config") };
mkdirSync(project);
mkdirSync(join(folder, "config/agenthost"), { recursive: true });
const demo = resolve(import.meta.dirname, "../../crates/cli/tests/vscode/agent/demo.mjs");
writeFileSync(
  join(folder, "config/agenthost/config.toml"),
  `auto_agents = false\n[[agents]]\nid = "demo"\nname = "Demo"\ncommand = ["node", ${JSON.stringify(demo)}]\n`,
);
execFileSync("git", ["init", "-q"], { cwd: project });

const port = await new Promise((done) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => done(port));
  });
});
let host;

async function startHost() {
  host = spawn(binary, ["serve", "--listen", `127.0.0.1:${port}`, "--data-dir", data], { env, stdio: ["ignore", "ignore", "pipe"] });
  await new Promise((done, fail) => {
    host.once("exit", () => fail(new Error("the host did not start")));
    host.stderr.on("data", (text) => `${text}`.includes("listens on") && done());
  });
}

async function killHost() {
  const ended = new Promise((done) => host.once("exit", done));
  host.kill("SIGKILL");
  await ended;
}

const SCRIPTS = [
  () => `burst ${20 + random(300)}`,
  () => "think about it ;; say done and done",
  () => "plan ;; say planned",
  () => `edit file-${random(5)}.txt line ${random(1000)}`,
  () => `write file-${random(5)}.txt line ${random(1000)}`,
  () => `run echo ${random(1000)}; seq 1 ${random(200)}`,
  () => "fail on purpose",
];

/** One random thing that a user does. */
async function act(page) {
  const inbox = Object.values(page.rows.inbox ?? {}).filter((row) => row.item === "request" && row.card.kind === "approval");
  switch (random(9)) {
    case 0:
    case 1:
    case 2:
      return page.request({ op: "send", text: SCRIPTS[random(SCRIPTS.length)]() });
    case 3:
    case 4: {
      const card = inbox.at(-1)?.card;
      const option = card?.options[random(card.options.length)];
      if (option !== undefined) {
        return page.request({ op: "answerApproval", key: card.key, optionId: option.id, approve: option.kind === "approve" });
      }
      return undefined;
    }
    case 5:
      return page.request({ op: "setDraft", text: `draft ${random(1000)} \u202e <b>` });
    case 6:
      return random(4) === 0 ? page.request({ op: "cancelTurn" }) : page.request({ op: "rename", session: page.session, title: `title ${random(100)}` });
    case 7: {
      const queued = page.slices.queue?.[0];
      return queued && page.request({ op: random(2) === 0 ? "queueRemove" : "queueEdit", key: queued.key, text: "say edited" });
    }
    default:
      if (random(3) === 0 && page.slices.link.state === "live") {
        page.cut();
        page.feed({ kind: "socketClosed", code: 1006, reason: "" });
      }
      return undefined;
  }
}

/** Digests of the session and its chat, with all turns loaded. */
async function digests(page) {
  while (page.slices.timeline?.older) {
    await page.request({ op: "olderTurns" });
    await new Promise((done) => setTimeout(done, 0));
  }
  const { value } = await page.request({ op: "digests" });
  const wanted = Object.entries(value).filter(([channel]) => channel === page.session || channel.startsWith("ahp-chat:"));
  return Object.fromEntries(wanted);
}

async function openAndRead(Page, module, url, clientId, session, digests) {
  const page = await Page.open(module, url, clientId);
  page.session = session;
  await page.request({ op: "selectSession", session });
  await page.until(() => page.slices.timeline?.loading === false && page.slices.chat?.session === session);
  const found = await digests(page);
  page.feed({ kind: "hidden" });
  globalThis.otherSaved = page.saved;
  page.close();
  return found;
}

await startHost();
const token = readFileSync(join(data, "token"), "utf8").trim();
const url = `ws://127.0.0.1:${port}/?tkn=${token}`;
let reconnects = 0;
let kills = 0;
try {
  const page = await CorePage.open(module, url, "equality-1");
  const created = await page.request({ op: "session.create", provider: "demo", folder: project, config: {}, text: "say hello", attachments: [] });
  page.session = created.value.session;
  const connect = page.connect.bind(page);
  page.connect = (address) => {
    reconnects += 1;
    connect(address);
  };
  while (page.received < Number(actions)) {
    // Commands are not waited for: their confirmations may be lost with the connection.
    if (page.slices.link.pending < 50) {
      void act(page);
    }
    await new Promise((next) => setTimeout(next, 5));
    if (process.env.VERBOSE && random(100) === 0) {
      console.log(`${page.received} messages, ${JSON.stringify(page.slices.link)}`);
    }
    if (random(400) === 0) {
      kills += 1;
      await killHost();
      await startHost();
    }
  }
  // Everything that is open comes to its end.
  await page.until(() => page.slices.link.state === "live");
  while (page.slices.composer?.running || page.slices.queue?.length > 0 || page.slices.link.pending > 0) {
    for (const queued of page.slices.queue ?? []) {
      await page.request({ op: "queueRemove", key: queued.key });
    }
    if (page.slices.composer.running) {
      await page.request({ op: "cancelTurn" });
    }
    await new Promise((next) => setTimeout(next, 20));
  }
  // A title or a checkpoint may still follow the turn: the states are read until two readings agree.
  let mine;
  let other;
  for (let attempt = 0; attempt < 20; attempt += 1) {
    mine = await digests(page);
    other = await openAndRead(CorePage, module, url, `equality-other-${attempt}`, page.session, digests);
    if (JSON.stringify(mine) === JSON.stringify(other)) {
      break;
    }
    await new Promise((next) => setTimeout(next, 200));
  }
  if (JSON.stringify(mine) !== JSON.stringify(other)) {
    page.feed({ kind: "hidden" });
    const kept = mkdtempSync(join(tmpdir(), "agenthost-unequal-"));
    writeFileSync(join(kept, "mine.json"), page.saved);
    writeFileSync(join(kept, "other.json"), globalThis.otherSaved);
    console.log(`the states are in ${kept}`);
  }
  assert.deepEqual(mine, other, `seed ${seedText}: the mirror differs from the host`);
  assert.ok(Object.keys(mine).length >= 2, "a session and a chat were compared");

  const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
  if (executablePath === undefined) {
    console.log("equality: Chromium is skipped, there is none");
  } else {
    const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    const tab = await browser.newPage();
    await tab.goto(`http://127.0.0.1:${port}/`);
    const code = `(async (url, session) => {
      const CorePage = (${makeCorePage})();
      const module = await WebAssembly.compileStreaming(fetch("/page.wasm"));
      ${openAndRead}
      ${digests}
      return openAndRead(CorePage, module, url, "equality-chromium", session, digests);
    })(${JSON.stringify(url)}, ${JSON.stringify(page.session)})`;
    const inBrowser = await tab.evaluate(code);
    await browser.close();
    assert.deepEqual(inBrowser, mine, `seed ${seedText}: the mirror in Chromium differs`);
  }
  page.close();
  console.log(`equality: ${page.received} messages, ${reconnects} reconnects, ${kills} kills, ${Object.keys(mine).length} channels are equal (seed ${seedText})`);
} finally {
  host.kill("SIGTERM");
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
