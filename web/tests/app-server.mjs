// An MCP server with apps, for the steps in `steps/apps.mjs`: JSON-RPC over stdio.

import readline from "node:readline";

const APP = "text/html;profile=mcp-app";
/** Ends the call of `waits`. */
let release = () => {};

/** The client side of the protocol. `ask` and `tell` are global, so that a step can act as the app. */
const CLIENT = `
  let last = 0;
  const waiting = new Map();
  const handlers = {};
  const received = [];
  const tell = (method, params) => parent.postMessage({ jsonrpc: "2.0", method, params }, "*");
  const ask = (method, params) => new Promise((done) => {
    waiting.set(++last, done);
    parent.postMessage({ jsonrpc: "2.0", id: last, method, params }, "*");
  });
  addEventListener("message", ({ source, data }) => {
    if (source !== parent) return;
    if (data.method === undefined) {
      waiting.get(data.id)?.(data.result ?? { error: data.error });
      waiting.delete(data.id);
    } else {
      received.push(data.method);
      handlers[data.method]?.(data.params);
      if (data.id !== undefined) parent.postMessage({ jsonrpc: "2.0", id: data.id, result: {} }, "*");
    }
  });
  const applyContext = ({ theme, styles }) => {
    document.documentElement.style.colorScheme = theme;
    for (const [name, value] of Object.entries(styles.variables)) document.documentElement.style.setProperty(name, value);
  };
  handlers["ui/notifications/host-context-changed"] = applyContext;
  async function start() {
    const host = await ask("ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: "test", version: "1" }, appCapabilities: {} });
    applyContext(host.hostContext);
    window.host = host;
    tell("ui/notifications/initialized", {});
    new ResizeObserver(() => tell("ui/notifications/size-changed", { width: 0, height: document.documentElement.offsetHeight })).observe(document.documentElement);
  }
`;

const WEATHER = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Weather</title><style>
  body { margin: 0; padding: 14px 16px; background: var(--color-background-primary); color: var(--color-text-primary); font: 13px var(--font-sans); }
  h1 { margin: 0; font-size: 15px; } #degrees { font-size: 34px; font-weight: 600; margin: 4px 0 10px; }
  button { min-height: 44px; padding: 0 14px; border: 1px solid var(--color-border-secondary); border-radius: 6px; background: var(--color-background-secondary); color: inherit; font: inherit; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
</style></head><body>
  <h1 id="city">…</h1><p id="degrees">…</p>
  <button onclick="refresh()">Refresh</button>
  <button onclick="ask('ui/open-link', { url: 'https://forecast.example/rome?a=1' }).then(show)">Forecast</button>
  <button onclick="ask('ui/message', { role: 'user', content: { type: 'text', text: 'What should I wear?' } }).then(show)">Ask the agent</button>
  <pre id="answer"></pre>
<script>${CLIENT}
  const set = (id, text) => (document.getElementById(id).textContent = text);
  const show = (answer) => set("answer", JSON.stringify(answer));
  const refresh = () => ask("tools/call", { name: "refresh", arguments: { city: "Rome" } }).then((result) => {
    show(result);
    if (result.structuredContent) set("degrees", result.structuredContent.degrees + " °C");
  });
  handlers["ui/notifications/tool-input"] = ({ arguments: { city } }) => set("city", city);
  handlers["ui/notifications/tool-result"] = ({ structuredContent, content }) => set("degrees", (structuredContent?.degrees ?? content[0].text) + " °C");
  start();
</script></body></html>`;

const resources = {
  "ui://weather/view": { mimeType: APP, text: WEATHER },
  "ui://blob/view": { mimeType: APP, blob: Buffer.from(`<!doctype html><title>x</title><p>From bytes: ü</p><script>${CLIENT} start();</script>`).toString("base64") },
  "ui://domains/view": {
    mimeType: APP,
    text: WEATHER,
    _meta: {
      ui: {
        csp: {
          connectDomains: ["https://api.weather.example", "https://a.example; script-src *", "https://*"],
          resourceDomains: ["https://*.cdn.example", "'self'"],
          frameDomains: ["https://frames.example"],
        },
      },
    },
  },
  "ui://plain/view": { mimeType: "text/html", text: "<p>not an app</p>" },
  "ui://large/view": { mimeType: APP, text: "x".repeat(4 * 1024 * 1024 + 1) },
};

const schema = { type: "object", properties: { city: { type: "string" } } };
const tool = (name, ui) => ({ name, description: name, inputSchema: schema, ...(ui && { _meta: { ui } }) });
const tools = [
  tool("weather", { resourceUri: "ui://weather/view" }),
  tool("blob", { resourceUri: "ui://blob/view" }),
  tool("domains", { resourceUri: "ui://domains/view" }),
  tool("plain", { resourceUri: "ui://plain/view" }),
  tool("large", { resourceUri: "ui://large/view" }),
  tool("missing", { resourceUri: "ui://missing/view" }),
  tool("refresh", { visibility: ["app"] }),
  tool("private", { visibility: ["model"] }),
  tool("waits", { resourceUri: "ui://weather/view" }),
  tool("release", { visibility: ["app"] }),
];

async function call({ name, arguments: input }) {
  if (name === "waits") {
    await new Promise((done) => (release = done));
  }
  if (name === "release") {
    release();
  }
  const degrees = name === "refresh" ? 31 : 20;
  const structuredContent = { city: input?.city, degrees };
  return { content: [{ type: "text", text: `${degrees} degrees` }], structuredContent };
}

const handlers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {}, resources: {} }, serverInfo: { name: "weather", version: "1.0.0" } }),
  ping: () => ({}),
  "tools/list": () => ({ tools }),
  "tools/call": call,
  "resources/list": () => ({ resources: [] }),
  "resources/read": ({ uri }) => (resources[uri] ? { contents: [{ uri, ...resources[uri] }] } : undefined),
};

readline.createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result = await handlers[method]?.(params ?? {});
  const outcome = result === undefined ? { error: { code: -32002, message: `there is no ${method} ${params?.uri ?? ""}` } } : { result };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...outcome })}\n`);
});
