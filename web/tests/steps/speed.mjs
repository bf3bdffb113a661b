// The speed of the page with large chats, fast streams, missed actions and many files.

import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { makeCorePage } from "../core-page.mjs";
import { checkCount, checkTime, slowness } from "../slowness.mjs";

const FRAME_MS = 16.7;
/** A missed frame takes two; timestamps of frames vary by less than this factor. */
const FRAME_TOLERANCE = 1.2;
const MAX_NODES = 3000;
const MAX_TASK_MS = 50;
/** The answer of each turn of the large chat. */
const ANSWER = "## Result\n\nThe *quick* brown fox jumps over `the lazy dog`.\n\n- one\n- two\n\n```js\nlet value = 1;\n```\n\nThe end of an answer.";
const TIMELINE = "main .viewport";

/** Starts a session with the agent that answers at once. */
async function newLoadSession(page, text) {
  await page.getByRole("button", { name: "New session" }).first().click();
  await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption({ label: "Load" });
  await page.getByRole("textbox", { name: "Message" }).last().fill(text);
  await page.getByRole("button", { name: "Start session" }).click();
  await page.waitForFunction((text) => document.querySelector("main")?.innerText.includes(text), text);
}

async function send(page, text) {
  await page.getByRole("textbox", { name: "Message" }).last().fill(text);
  await page.getByRole("button", { name: "Send", exact: true }).click();
}

function waitForText(page, text, timeout = 60_000) {
  return page.waitForFunction((text) => document.querySelector("main")?.innerText.includes(text), text, { timeout });
}

/** Elements and texts of the document. */
function countNodes(page) {
  return page.evaluate(() => {
    const walker = document.createTreeWalker(document.documentElement);
    let count = 0;
    while (walker.nextNode()) count += 1;
    return count;
  });
}

/** The time from a click until a condition in the page holds; it is checked before every paint. */
function timeOfClick(locator, condition, argument) {
  return locator.evaluate(
    async (element, [condition, argument]) => {
      const holds = new Function("argument", `return ${condition}`);
      const started = performance.now();
      element.click();
      while (!holds(argument)) {
        await new Promise((done) => requestAnimationFrame(done));
        if (performance.now() - started > 30_000) return -1;
      }
      return performance.now() - started;
    },
    [condition, argument],
  );
}

/** Scrolls an element in each of `count` frames. Returns the 95th percentile of the frame times, and how far it came. */
function scroll(page, selector, by, count) {
  return page.evaluate(
    async ([selector, by, count]) => {
      const element = document.querySelector(selector);
      const frame = () => new Promise((done) => requestAnimationFrame(done));
      const times = [];
      let blank = 0;
      let distance = 0;
      let before = await frame();
      for (let index = 0; index < count; index += 1) {
        const top = element.scrollTop;
        element.scrollTop += by;
        distance += Math.abs(element.scrollTop - top);
        const now = await frame();
        times.push(now - before);
        before = now;
        const { x, y, width, height } = element.getBoundingClientRect();
        const middle = document.elementFromPoint(x + width / 2, y + height / 2);
        blank += element.contains(middle) && middle !== element && middle.textContent !== "" ? 0 : 1;
      }
      times.sort((one, other) => one - other);
      return { p95: times[Math.floor(times.length * 0.95)], distance, blank, pages: distance / element.clientHeight };
    },
    [selector, by, count],
  );
}

/** The same scroll on a page with nothing but texts. */
async function scrollEmptyPage(page, by, count) {
  const other = await page.context().newPage();
  await other.setContent(`<div id="list" style="height:100vh;overflow:auto"><div style="height:1e6px">text</div></div>`);
  const empty = await scroll(other, "#list", by, count);
  await other.close();
  return empty;
}

async function checkScroll(page, what, selector, by, count, assert) {
  const before = await scrollEmptyPage(page, Math.abs(by), count);
  const found = await scroll(page, selector, by, count);
  // Other programs may have started meanwhile.
  const after = await scrollEmptyPage(page, Math.abs(by), count);
  console.log(`        ${what}: ${found.pages.toFixed(0)} pages, ${found.blank} frames without content`);
  checkTime(`${what}, p95 of frames`, found.p95, FRAME_MS * FRAME_TOLERANCE, Math.max(FRAME_MS, before.p95, after.p95) / FRAME_MS);
  assert.equal(found.blank, 0, "frames without content");
  return found;
}

/** Records long tasks of the page, and how far its timeline was from the end. */
function watchStream(page) {
  return page.evaluate((selector) => {
    const watched = { tasks: [], frames: 0, behind: 0, samples: 0, sampleTime: 0, stopped: false };
    window.watched = watched;
    const SAMPLE_FRAMES = 20;
    const SAMPLE_LOOPS = 1e6;
    watched.observer = new PerformanceObserver((list) => watched.tasks.push(...list.getEntries().map(({ duration }) => duration)));
    watched.observer.observe({ entryTypes: ["longtask"] });
    // Intersections are computed after everything else in a frame: they are what is painted.
    const painted = new IntersectionObserver(
      ([{ boundingClientRect, rootBounds }]) => (watched.behind = Math.max(watched.behind, boundingClientRect.bottom - rootBounds.bottom)),
      { root: document.querySelector(selector) },
    );
    const look = () => {
      watched.frames += 1;
      painted.disconnect();
      if (watched.stopped) return;
      // Other programs slow this machine down while the stream runs: a fixed computation shows by how much.
      if (watched.frames % SAMPLE_FRAMES === 0) {
        const started = performance.now();
        let sum = 0;
        for (let index = 0; index < SAMPLE_LOOPS; index += 1) {
          sum = (sum + index * 31) % 1000003;
        }
        watched.samples += sum < 0 ? 2 : 1;
        watched.sampleTime += performance.now() - started;
      }
      painted.observe(document.querySelector(selector).lastElementChild);
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, TIMELINE);
}

function endWatch(page) {
  return page.evaluate(() => {
    const { watched } = window;
    watched.stopped = true;
    watched.tasks.push(...watched.observer.takeRecords().map(({ duration }) => duration));
    watched.observer.disconnect();
    const SAMPLE_MS = 3;
    const factor = Math.max(1, watched.sampleTime / watched.samples / SAMPLE_MS || 1);
    return { longest: Math.max(0, ...watched.tasks), frames: watched.frames, behind: watched.behind, factor };
  });
}

/** Adds turns to the only chat of a stopped host that has a message with this text, and returns the count of all. */
function addTurns(data, text, count) {
  const parts = `json_array(json_object('kind', 'markdown', 'id', 'part', 'content', ${quote(ANSWER)}))`;
  const message = `json_object('text', ${quote(text)}, 'origin', json_object('kind', 'user'))`;
  const turn = `json_object('id', 'turn-' || value, 'startedAt', '2026-01-01T00:00:00.000Z', 'duration', 5,
    'message', ${message}, 'responseParts', ${parts}, 'state', 'complete')`;
  const sql = `
    CREATE TEMP TABLE chat AS
      SELECT DISTINCT channel FROM log WHERE channel LIKE 'ahp-chat:%' AND envelope LIKE ${quote(`%${text}%`)};
    CREATE TEMP TABLE first AS
      SELECT coalesce(max(position) + 1, 0) AS position FROM turns JOIN chat USING (channel);
    WITH RECURSIVE numbers(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM numbers WHERE value < ${count - 1})
    INSERT INTO turns (channel, position, turn, content)
      SELECT channel, position + value, 'turn-' || value, ${turn} FROM chat, first, numbers;
    SELECT count(*) FROM turns JOIN chat USING (channel);`;
  return Number(execFileSync("sqlite3", [join(data, "agenthost.db")], { input: sql }));
}

function quote(text) {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Opens a core without a page in a tab, as `window.core`, with the session of this title. */
function openCore(tab, title) {
  return tab.evaluate(`(async () => {
    const CorePage = (${makeCorePage})();
    const module = await WebAssembly.compileStreaming(fetch("/page.wasm"));
    const core = await CorePage.open(module, "ws://" + location.host + "/", "speed-core");
    window.core = core;
    const find = () => Object.entries(core.rows.sessions ?? {}).find(([, row]) => row.title === ${JSON.stringify(title)});
    await core.until(find);
    core.found = find();
    await core.request({ op: "selectSession", session: core.found[0] });
    await core.until(() => core.slices.timeline?.loading === false && core.slices.composer?.running === false);
  })()`);
}

/** The chat in a stored state of a page. No action carries the totals of its changes, so they are left out. */
function chatIn(stored) {
  const value = typeof stored === "string" && /^[{[]/.test(stored) ? JSON.parse(stored) : stored;
  if (value === null || typeof value !== "object") return undefined;
  if (Array.isArray(value.turns)) return { ...value, changes: undefined };
  return Object.values(value).map(chatIn).find((chat) => chat !== undefined);
}

/** Everything that a page has stored. */
function storedIn(page) {
  return page.evaluate(
    () =>
      new Promise((done) => {
        indexedDB.open("agenthost").onsuccess = ({ target: { result: database } }) => {
          const [name] = database.objectStoreNames;
          database.transaction(name).objectStore(name).getAll().onsuccess = ({ target }) => {
            database.close();
            done(target.result);
          };
        };
      }),
  );
}

/** Adds functions to the worker of a page: its socket is cut and no other opens until the page is online again. */
function interceptWorker(worker) {
  return worker.evaluate(() => {
    const Native = WebSocket;
    const { send } = Native.prototype;
    let socket;
    Native.prototype.send = function (text) {
      socket = this;
      return send.call(this, text);
    };
    class WaitingSocket {
      close() {}
    }
    self.blockSockets = () => {
      // The page pings the host, which tells its socket.
      receive({ data: { type: "online" } });
      self.WebSocket = WaitingSocket;
      socket.close();
    };
    const receive = self.onmessage;
    self.onmessage = (event) => {
      if (event.data.type === "online") {
        self.WebSocket = Native;
      }
      receive(event);
    };
  });
}

export const steps = {
  async "a chat of 10,000 turns opens and scrolls quickly"({ page, newSession, stopHost, startHost, data, assert }) {
    const TURNS = 10_000;
    await newLoadSession(page, "the large chat");
    await page.waitForFunction(() => !document.body.innerText.includes("Running"));
    await newSession(page, "echo other-session");
    await page.getByRole("button", { name: "Allow once" }).first().click();
    await page.waitForFunction(() => !document.body.innerText.includes("Needs you"));
    await stopHost("SIGTERM");
    try {
      assert.ok(addTurns(data, "the large chat", TURNS) >= TURNS);
    } finally {
      await startHost();
    }
    await page.getByText("Live").first().waitFor();
    const factor = await slowness(page);
    const row = page.getByRole("list", { name: "Sessions" }).getByRole("button").filter({ hasText: "the large chat" }).first();
    const shown = `document.querySelector("${TIMELINE}")?.innerText.includes(argument)`;
    checkTime("chat of 10,000 turns", await timeOfClick(row, shown, "The end of an answer."), 300, factor);
    checkCount("nodes", await countNodes(page), MAX_NODES);
    const { pages } = await checkScroll(page, "scroll of a chat", TIMELINE, -120, 600, assert);
    assert.ok(pages > 50, `only ${pages} pages were scrolled`);
    checkCount("nodes", await countNodes(page), MAX_NODES);
  },

  async "2,000 words a second stream without long tasks"({ page }) {
    await newLoadSession(page, "hello load");
    await watchStream(page);
    await send(page, "stream 2000 10");
    await waitForText(page, "The stream has ended.");
    const { longest, frames, behind, factor } = await endWatch(page);
    console.log(`        stream: ${frames} frames`);
    checkTime("longest task of a stream", longest, MAX_TASK_MS, factor);
    checkCount("distance from the end of a stream", behind, 48);
    checkCount("nodes", await countNodes(page), MAX_NODES);
  },

  async "a text of 1 MB is drawn in parts"({ page, assert }) {
    await newLoadSession(page, "hello document");
    await watchStream(page);
    await send(page, "document 1000000");
    await waitForText(page, "The document has ended.");
    const { longest, factor } = await endWatch(page);
    checkTime("longest task of a text of 1 MB", longest, MAX_TASK_MS, factor);
    checkCount("nodes", await countNodes(page), MAX_NODES);
    await checkScroll(page, "scroll of a text of 1 MB", TIMELINE, -120, 300, assert);
    checkCount("nodes", await countNodes(page), MAX_NODES);
  },

  async "a turn of 2,000 tool calls is drawn in parts"({ page, assert }) {
    await newLoadSession(page, "hello calls");
    await watchStream(page);
    await send(page, "calls 2000");
    await waitForText(page, "Read file-2000.txt");
    const { longest, factor } = await endWatch(page);
    checkTime("longest task of 2,000 tool calls", longest, MAX_TASK_MS, factor);
    checkCount("nodes", await countNodes(page), MAX_NODES);
    await checkScroll(page, "scroll of 2,000 tool calls", TIMELINE, -120, 300, assert);
  },

  async "1,000 missed actions arrive quickly after a reconnect"({ browser, newDevice, assert }) {
    const ACTIONS = 1000;
    const other = await newDevice(browser, { name: "other" });
    await newLoadSession(other, "hello missed");
    await openCore(other, "hello missed");
    const page = await newDevice(browser, { name: "missing" });
    const factor = await slowness(page);
    await page.getByRole("list", { name: "Sessions" }).getByRole("button").filter({ hasText: "hello missed" }).first().click();
    await waitForText(page, "hello missed");
    const worker = page.workers()[0];
    await interceptWorker(worker);
    await worker.evaluate(() => self.blockSockets());
    await page.getByText(/Offline/).first().waitFor();
    const missed = await other.evaluate(async (count) => {
      const { core } = window;
      const before = core.received;
      const [session, { title }] = core.found;
      const BATCH = 50;
      for (let sent = 0; sent < count; sent += BATCH) {
        const titles = Array.from({ length: BATCH }, (_, index) => `title ${sent + index}`);
        await Promise.all([...titles.slice(1), title].map((title) => core.request({ op: "rename", session, title })));
      }
      await core.request({ op: "send", text: "say it", attachments: [], steer: false });
      await core.until(() => JSON.stringify(core.rows.timeline).includes("say it") && core.slices.composer.running === false);
      return core.received - before;
    }, ACTIONS);
    assert.ok(missed >= ACTIONS, `only ${missed} actions were missed`);
    const measured = await page.evaluate(async () => {
      const started = performance.now();
      window.dispatchEvent(new Event("online"));
      const isLive = () => {
        const { innerText } = document.body;
        return innerText.includes("Live") && innerText.includes("say it");
      };
      while (!isLive()) {
        await new Promise((done) => requestAnimationFrame(done));
        if (performance.now() - started > 30_000) return -1;
      }
      return performance.now() - started;
    });
    checkTime(`reconnect after ${missed} actions`, measured, 300, factor);
    // A page stores its state when it is hidden, and a checkpoint may still follow the turn.
    let ofPage;
    let ofOther;
    const deadline = performance.now() + 15_000;
    do {
      await worker.evaluate(() => self.onmessage({ data: { type: "hidden" } }));
      ofPage = chatIn(await storedIn(page));
      ofOther = chatIn(await other.evaluate(() => {
        window.core.feed({ kind: "hidden" });
        return window.core.saved;
      }));
    } while (!isDeepStrictEqual(ofPage, ofOther) && performance.now() < deadline);
    assert.ok(ofOther.turns.length === 2, "a chat of two turns is compared");
    assert.deepEqual(ofPage, ofOther, "the mirrors of two pages differ");
    await Promise.all([page, other].map((device) => device.context().close()));
  },

  async "the list of 2,500 changed files opens and scrolls quickly"({ page, newSession, project, assert }) {
    const factor = await slowness(page);
    await newSession(page, "mkdir -p listed; for i in $(seq 1 2500); do echo $i > listed/file-$i.txt; done");
    await page.getByRole("button", { name: "Allow once" }).first().click();
    await page.waitForFunction(() => !document.body.innerText.includes("Needs you"));
    const open = page.getByRole("button", { name: "Changes", exact: true }).first();
    const listed = `document.querySelectorAll("[data-file]").length > 5 && document.querySelector("[data-file]").closest("ul").scrollHeight > 2500 * 25`;
    // The host has computed the changes when they are shown for the first time.
    await open.click();
    await page.getByText(/2,50\d files/).first().waitFor({ timeout: 60_000 });
    await page.getByRole("button", { name: "Files", exact: true }).first().click();
    await page.locator("[data-file]").first().waitFor({ state: "detached" });
    checkTime("list of 2,500 files", await timeOfClick(open, listed), 300, factor);
    await page.evaluate(() => document.querySelector("[data-file]").closest(".scroll").setAttribute("data-scrolled", ""));
    const { pages } = await checkScroll(page, "scroll of 2,500 files", "[data-scrolled]", 120, 300, assert);
    const nodes = await countNodes(page);
    rmSync(join(project, "listed"), { recursive: true });
    assert.ok(pages > 20, `only ${pages} pages were scrolled`);
    checkCount("nodes", nodes, MAX_NODES);
  },
};
