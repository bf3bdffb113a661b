// Runs the flows of the page against the mock worker in Chromium: `npm run mock && node tests/mock-page.mjs`.

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import AxeBuilder from "@axe-core/playwright";
import { chromium } from "playwright-core";
import { serve } from "./serve.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const DESKTOP = { viewport: { width: 1280, height: 800 } };
const THEMES = ["light", "dark", "contrast"];

const server = await serve(join(root, "dist-mock"));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
let failed = 0;

async function test(name, options, run) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (/Content Security Policy|Trusted/i.test(message.text())) problems.push(message.text());
  });
  try {
    await run(page);
    assert.deepEqual(problems, []);
    console.log(`ok    ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n${error.message}`);
  }
  await context.close();
}

async function enter(page) {
  await page.goto(`${server.url}#code=TEST-CODE`);
  await page.locator(".shell").waitFor();
}

async function openChat(page, session = "ahp-session:/a1") {
  await enter(page);
  await page.evaluate((name) => (location.hash = `session=${encodeURIComponent(name)}`), session);
  await page.getByRole("textbox", { name: "Message" }).waitFor();
}

async function checkAxe(page, name) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ target, failureSummary }) => `${target} ${failureSummary}`).join(" | ")}`);
  assert.deepEqual(found, [], name);
}

await test("a wrong code says so, and a right one enters", DESKTOP, async (page) => {
  await page.goto(server.url);
  await page.getByRole("textbox", { name: "Code" }).pressSequentially("wrongone");
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByText("This code is not valid").waitFor();
  await page.getByRole("textbox", { name: "Code" }).fill("locklock");
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByText("Too many wrong codes").waitFor();
  await page.getByRole("textbox", { name: "Code" }).fill("testcode");
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByRole("region", { name: "Inbox" }).waitFor();
});

await test("a code in the address is taken out of it", DESKTOP, async (page) => {
  await enter(page);
  assert.equal(new URL(page.url()).hash, "");
  await page.getByRole("list", { name: "Sessions", exact: true }).waitFor();
});

await test("one tap answers an approval", PHONE, async (page) => {
  await enter(page);
  await page.getByRole("button", { name: "Inbox" }).click();
  await page.getByRole("region", { name: "Inbox" }).getByRole("button", { name: "Allow once" }).click();
  await page.getByRole("region", { name: "Inbox" }).getByRole("button", { name: "Allow once" }).waitFor({ state: "detached" });
});

await test("a rejected answer gives its reason", DESKTOP, async (page) => {
  await openChat(page);
  await page.getByRole("main").getByRole("button", { name: "Deny" }).click();
  await page.getByRole("main").getByText("Not accepted: answered by phone already").waitFor();
});

await test("a rejected message is back in the box", DESKTOP, async (page) => {
  await openChat(page);
  const box = page.getByRole("textbox", { name: "Message" });
  await box.fill("reject");
  await box.press("Enter");
  await page.getByText("Not sent: the agent is not signed in").waitFor();
  assert.equal(await box.inputValue(), "reject");
});

await test("the queue is edited, moved and removed", DESKTOP, async (page) => {
  await openChat(page);
  const queue = page.getByRole("region", { name: "Queue" });
  await queue.getByRole("button", { name: "Move down" }).first().click();
  await queue.getByRole("listitem").first().getByText("And open a pull request").waitFor();
  await queue.getByRole("button", { name: "Edit" }).first().click();
  await page.getByRole("textbox", { name: "Queued message" }).fill("Push it");
  await page.keyboard.press("Enter");
  await queue.getByText("Push it").waitFor();
  await queue.getByRole("button", { name: "Remove" }).first().click();
  await queue.getByText("Push it").waitFor({ state: "detached" });
});

await test("a completion is chosen with the keyboard", DESKTOP, async (page) => {
  await openChat(page);
  const box = page.locator("[data-composer]");
  await box.pressSequentially("look at @re");
  await page.getByRole("option", { name: "src/retry.rs" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await box.inputValue(), "look at @src/lib.rs ");
});

await test("the palette opens a session", DESKTOP, async (page) => {
  await enter(page);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("lease");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Explain the lease protocol" }).waitFor();
});

await test("an operation asks before it runs", DESKTOP, async (page) => {
  await openChat(page);
  await page.getByRole("button", { name: "Undo all" }).click();
  await page.getByRole("dialog").getByText("Undo the changes of 7 files?").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

await test("new rows do not move the text that is read", DESKTOP, async (page) => {
  await openChat(page, "ahp-session:/long");
  const viewport = page.getByRole("region", { name: "Timeline" });
  await viewport.hover();
  await page.mouse.wheel(0, -3000);
  await page.waitForTimeout(200);
  const visible = () =>
    viewport.evaluate((element) => {
      const edge = element.getBoundingClientRect().top;
      const row = [...element.querySelectorAll("[data-row]")].find((each) => each.getBoundingClientRect().bottom > edge + 40);
      return `${row.textContent.trim().slice(0, 20)} ${Math.round(row.getBoundingClientRect().top)}`;
    });
  const before = await visible();
  await page.getByRole("textbox", { name: "Message" }).fill("one");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "1 new, Jump to the end" }).waitFor();
  assert.equal(await visible(), before);
  await page.getByRole("button", { name: "1 new, Jump to the end" }).click();
  await viewport.getByText("one", { exact: true }).waitFor();
});

await test("10,000 turns are shown with few nodes", DESKTOP, async (page) => {
  await enter(page);
  const opened = await page.evaluate(async () => {
    const start = performance.now();
    location.hash = "session=ahp-session%3A%2Flong";
    while (!document.querySelector("[data-row]")) await new Promise((resolve) => requestAnimationFrame(resolve));
    return performance.now() - start;
  });
  const frames = await page.evaluate(async () => {
    const view = document.querySelector(".viewport");
    const times = [];
    let last = performance.now();
    for (let step = 0; step < 120; step += 1) {
      view.scrollTop = Math.max(0, view.scrollTop - 700);
      await new Promise((resolve) => requestAnimationFrame(resolve));
      times.push(performance.now() - last);
      last = performance.now();
    }
    times.sort((a, b) => a - b);
    return { p95: times[Math.floor(times.length * 0.95)], nodes: document.querySelectorAll("*").length };
  });
  console.log(`      opened in ${Math.round(opened)} ms, p95 frame ${frames.p95.toFixed(1)} ms, ${frames.nodes} nodes`);
  assert.ok(frames.nodes < 3000);
});

await test("a patch of a fast stream takes under 12 ms of the main thread, at the end of the timeline", DESKTOP, async (page) => {
  await openChat(page, "ahp-session:/long");
  const metrics = await page.context().newCDPSession(page);
  // Time of the thread itself: other processes of the machine do not count.
  await metrics.send("Performance.enable", { timeDomain: "threadTicks" });
  const busyTime = async () => {
    const { metrics: list } = await metrics.send("Performance.getMetrics");
    return list.find(({ name }) => name === "TaskDuration").value * 1000;
  };
  await page.evaluate(() => {
    globalThis.longTasks = [];
    new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" });
  });
  const box = page.getByRole("textbox", { name: "Message" });
  await box.fill("stream");
  const start = await busyTime();
  await box.press("Enter");
  await page.waitForTimeout(3000);
  const perPatch = ((await busyTime()) - start) / (3000 / 16);
  await box.fill("stop");
  await box.press("Enter");
  const long = await page.evaluate(() => globalThis.longTasks);
  console.log(`      ${perPatch.toFixed(1)} ms of the main thread per patch; tasks over 50 ms of wall time: ${long.map(Math.round).join(", ") || "none"}`);
  const atEnd = await page.locator(".viewport").evaluate((each) => each.scrollHeight - each.scrollTop - each.clientHeight);
  assert.ok(atEnd < 2, `follows the end, ${atEnd} px away`);
  assert.ok(perPatch < 12, `${perPatch} ms`);
});

await test("an idle page requests no animation frames and sets no timers", DESKTOP, async (page) => {
  await page.addInitScript(() => {
    globalThis.calls = 0;
    for (const name of ["requestAnimationFrame", "setTimeout", "setInterval"]) {
      const real = globalThis[name];
      globalThis[name] = (...words) => {
        globalThis.calls += 1;
        return real.apply(globalThis, words);
      };
    }
  });
  await openChat(page, "ahp-session:/a3");
  await page.waitForTimeout(1000);
  const before = await page.evaluate(() => globalThis.calls);
  await page.waitForTimeout(2500);
  assert.equal(await page.evaluate(() => globalThis.calls), before);
});

for (const theme of THEMES) {
  for (const [size, options] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
    await test(`axe finds nothing: ${size}, ${theme}`, options, async (page) => {
      await page.addInitScript((name) => {
        // An empty page between two others has no storage.
        if (location.protocol === "http:") localStorage.setItem("agenthost.theme", name);
      }, theme);
      await page.goto(server.url);
      await page.getByRole("textbox", { name: "Code" }).waitFor();
      await checkAxe(page, "sign-in");
      await page.goto("about:blank");
      await openChat(page);
      await checkAxe(page, "chat");
      await page.locator(".viewport").evaluate((element) => (element.scrollTop = 0));
      await page.waitForTimeout(100);
      await checkAxe(page, "top of the chat");
      if (size === "phone") {
        for (const tab of ["Inbox", "Sessions", "More", "Changes"]) {
          await page.getByRole("navigation").getByRole("button", { name: tab }).click();
          await checkAxe(page, tab);
        }
      }
      await page.getByRole("button", { name: "retry.rs" }).first().click();
      await page.getByRole("region", { name: "Diff of" }).waitFor();
      await checkAxe(page, "diff");
      await page.keyboard.press("Control+k");
      await checkAxe(page, "palette");
      await page.keyboard.press("Escape");
      await page.getByRole("combobox", { name: "Search commands" }).waitFor({ state: "detached" });
      await page.keyboard.press("n");
      await page.getByRole("heading", { name: "What should be done?" }).waitFor();
      await checkAxe(page, "new session");
    });
  }
}

await browser.close();
await server.close();
process.exitCode = failed === 0 ? 0 : 1;
