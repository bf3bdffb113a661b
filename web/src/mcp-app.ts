// The bridge between the page and the frame of an MCP App (SEP-1865): JSON-RPC over `postMessage`.
//
// The app is not trusted. Its frame has an origin of its own (`/app-frame`), so this module is all that it reaches. Only
// messages of the frame's window count; their number and size are limited, and methods that are not listed here get an error.

import type { AppCall, AppMethod, AppReply } from "./contract/apps";
import { hostContext, MAX_HEIGHT, MIN_HEIGHT, visible } from "./mcp-app-frame";

export { declaredDomains, frameAddress, htmlOf } from "./mcp-app-frame";

const PROTOCOL_VERSION = "2026-01-26";

/** Messages that an app can send at once, and per second after that. */
const BURST = 200;
const MESSAGES_PER_SECOND = 60;
/** Maximum size of a message, as JSON. */
const MAX_MESSAGE_CHARS = 1 << 20;
const MAX_PENDING = 16;
const MAX_LINK_CHARS = 2_048;
const MAX_DRAFT_CHARS = 20_000;
const MAX_TOOL_PAGES = 20;
const TEARDOWN_MS = 500;
const FRAME_TIMEOUT_MS = 15_000;
/** After a key press in a field, an app that takes the focus does not keep it for this long. */
const TYPING_MS = 1_000;

const ERROR = { invalidRequest: -32600, unknownMethod: -32601, invalidParams: -32602, refused: -32000 };

export type AppFailure = "flood" | "left" | "frame";
export type AppQuestion = { kind: "tool" | "link" | "message"; name: string; text: string };
export type AppAnswer = "once" | "always" | "no";
export type AppOptions = {
  frame: HTMLIFrameElement;
  html: string;
  toolName: string;
  call: AppCall;
  domains: { connectDomains: string[]; resourceDomains: string[] };
  request(method: AppMethod, params: Record<string, unknown>): Promise<AppReply>;
  ask(question: AppQuestion): Promise<AppAnswer>;
  addToDraft(text: string): void;
  resize(height: number): void;
  fail(failure: AppFailure): void;
};

type Fields = Record<string, unknown>;
type MessageId = string | number;
type Outcome = { result: unknown } | { error: { code: number; message: string } };

/** What an app may do with a tool. */
type ToolAccess = { forApps: boolean; allowed: boolean };

export class AppBridge {
  private call: AppCall;
  private state: "loading" | "loaded" | "initialized" | "closed" = "loading";
  private sentInput = false;
  private sentEnd = false;
  private tokens = BURST;
  private refilled = performance.now();
  private pending = 0;
  private asking = false;
  private tools: Promise<Map<string, ToolAccess>> | undefined;
  private ended: (() => void) | undefined;
  private typed: { field: HTMLElement; at: number } | undefined;
  private readonly timer: number;
  private readonly themes = new MutationObserver(() => this.updateContext());
  private readonly scheme = matchMedia("(prefers-color-scheme: dark)");

  constructor(private readonly options: AppOptions) {
    this.call = options.call;
    window.addEventListener("message", this.receive);
    window.addEventListener("blur", this.keepFocus);
    document.addEventListener("keydown", this.noteKey, true);
    this.themes.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    this.scheme.addEventListener("change", this.updateContext);
    this.timer = window.setTimeout(() => this.state === "loading" && this.fail("frame"), FRAME_TIMEOUT_MS);
  }

  /** Passes on what is new about the tool call. */
  update(call: AppCall): void {
    this.call = call;
    this.sendCall();
  }

  private readonly updateContext = (): void => {
    if (this.state === "initialized") {
      this.notify("ui/notifications/host-context-changed", hostContext(this.options.frame));
    }
  };

  /** Lets the app finish, for a moment. The frame is removed after that. */
  async finish(): Promise<void> {
    if (this.state === "initialized") {
      const ended = new Promise<void>((done) => {
        this.ended = done;
        window.setTimeout(done, TEARDOWN_MS);
      });
      this.post({ jsonrpc: "2.0", id: "teardown", method: "ui/resource-teardown", params: { reason: "closed" } });
      await ended;
    }
    this.close();
  }

  close(): void {
    this.state = "closed";
    this.ended?.();
    window.clearTimeout(this.timer);
    window.removeEventListener("message", this.receive);
    window.removeEventListener("blur", this.keepFocus);
    document.removeEventListener("keydown", this.noteKey, true);
    this.themes.disconnect();
    this.scheme.removeEventListener("change", this.updateContext);
  }

  private fail(failure: AppFailure): void {
    this.close();
    this.options.fail(failure);
  }

  private readonly receive = ({ source, origin, data }: MessageEvent<unknown>): void => {
    // The window of the frame stays the same when its document changes; its origin would not.
    if (source === null || source !== this.options.frame.contentWindow || origin !== "null") return;
    if (!this.takeToken()) {
      this.fail("flood");
      return;
    }
    const message = plainMessage(data);
    if (message === undefined) return;
    const { id, method } = message;
    if (method === undefined) {
      if (id === "teardown") this.ended?.();
    } else if (typeof method !== "string") {
      this.reply(id, { error: { code: ERROR.invalidRequest, message: "the method is not a string" } });
    } else if (id === undefined) {
      this.handleNotification(method, fieldsOf(message["params"]));
    } else if (isId(id)) {
      void this.answer(id, method, fieldsOf(message["params"]));
    }
  };

  private readonly noteKey = ({ key, target }: KeyboardEvent): void => {
    const isField = target instanceof HTMLElement && target.matches("input, textarea, .xterm *");
    this.typed = isField && key !== "Tab" ? { field: target, at: performance.now() } : undefined;
  };

  /** Gives the focus back that the app took while the user was typing: the next keys are not meant for it. */
  private readonly keepFocus = (): void => {
    const { typed } = this;
    if (document.activeElement === this.options.frame && typed !== undefined && performance.now() - typed.at < TYPING_MS) {
      // Within this event the browser has not finished the change.
      window.setTimeout(() => typed.field.focus());
    }
  };

  private takeToken(): boolean {
    const now = performance.now();
    this.tokens = Math.min(BURST, this.tokens + ((now - this.refilled) / 1_000) * MESSAGES_PER_SECOND);
    this.refilled = now;
    this.tokens -= 1;
    return this.tokens >= 0;
  }

  private handleNotification(method: string, params: Fields): void {
    switch (method) {
      case "ui/notifications/sandbox-proxy-ready":
        // A document that is ready for an app a second time has replaced the app.
        if (this.state !== "loading") return this.fail("left");
        this.state = "loaded";
        this.notify("ui/notifications/sandbox-resource-ready", { html: this.options.html });
        return;
      case "ui/notifications/initialized":
        if (this.state === "loaded") {
          this.state = "initialized";
          this.sendCall();
        }
        return;
      case "ui/notifications/size-changed":
        if (typeof params["height"] === "number" && Number.isFinite(params["height"])) {
          this.options.resize(Math.min(MAX_HEIGHT, Math.max(MIN_HEIGHT, Math.ceil(params["height"]))));
        }
        return;
      default:
        // Log messages and notifications that this page does not know.
        return;
    }
  }

  private async answer(id: MessageId, method: string, params: Fields): Promise<void> {
    if (this.pending >= MAX_PENDING) {
      this.reply(id, refused("too many requests are open"));
      return;
    }
    this.pending += 1;
    try {
      this.reply(id, await this.execute(method, params));
    } catch (error) {
      this.reply(id, refused(error instanceof Error ? error.message : String(error)));
    } finally {
      this.pending -= 1;
    }
  }

  private execute(method: string, params: Fields): Promise<Outcome> | Outcome {
    switch (method) {
      case "ui/initialize":
        return { result: this.describeHost() };
      case "ping":
        return { result: {} };
      case "ui/request-display-mode":
        return { result: { mode: "inline" } };
      case "tools/call":
        return this.callTool(params);
      case "resources/read":
        if (typeof params["uri"] !== "string") return invalid("`uri` is not a string");
        return this.options.request("resources/read", { uri: params["uri"] });
      case "ui/open-link":
        return this.openLink(params["url"]);
      case "ui/message":
        return this.suggestMessage(params);
      default:
        return { error: { code: ERROR.unknownMethod, message: `this host does not support ${method.slice(0, 100)}` } };
    }
  }

  private describeHost(): unknown {
    const { frame, domains, toolName } = this.options;
    return {
      protocolVersion: PROTOCOL_VERSION,
      hostInfo: { name: "agenthost", version: "1" },
      hostCapabilities: {
        openLinks: {},
        serverResources: {},
        ...(this.call.servesTools && { serverTools: {} }),
        logging: {},
        message: { text: {} },
        sandbox: { permissions: {}, csp: domains },
      },
      hostContext: { toolInfo: { tool: { name: toolName, inputSchema: { type: "object" } } }, ...hostContext(frame) },
    };
  }

  private async callTool(params: Fields): Promise<Outcome> {
    const { name } = params;
    if (typeof name !== "string") return invalid("`name` is not a string");
    const given = params["arguments"] ?? {};
    if (!isFields(given)) return invalid("`arguments` is not an object");
    if (!this.call.servesTools) {
      return { error: { code: ERROR.unknownMethod, message: "the server has no tools for apps" } };
    }
    this.tools ??= this.listTools();
    const listed = await this.tools.catch((error: unknown) => {
      this.tools = undefined;
      throw error;
    });
    const tool = listed.get(name);
    if (tool === undefined || !tool.forApps) return invalid("the server has no such tool for apps");
    if (!tool.allowed) {
      const answer = await this.askOnce({ kind: "tool", name: visible(name), text: visible(JSON.stringify(given, null, 2)) });
      if (answer === "no") return refused("the user did not allow the call");
      tool.allowed = answer === "always";
    }
    return this.options.request("tools/call", { name, arguments: given });
  }

  /** The tools of the server, and which of them are for apps: all that do not say otherwise. */
  private async listTools(): Promise<Map<string, ToolAccess>> {
    const found = new Map<string, ToolAccess>();
    let cursor: unknown;
    for (let page = 0; page < MAX_TOOL_PAGES; page += 1) {
      const reply = await this.options.request("tools/list", typeof cursor === "string" ? { cursor } : {});
      if ("error" in reply) throw new Error(reply.error.message);
      const result = fieldsOf(reply.result);
      const tools = Array.isArray(result["tools"]) ? (result["tools"] as unknown[]) : [];
      for (const tool of tools.map(fieldsOf)) {
        const visibility = fieldsOf(fieldsOf(tool["_meta"])["ui"])["visibility"];
        const forApps = !Array.isArray(visibility) || visibility.includes("app");
        if (typeof tool["name"] === "string") found.set(tool["name"], { forApps, allowed: false });
      }
      cursor = result["nextCursor"];
      if (typeof cursor !== "string" || cursor === "") break;
    }
    return found;
  }

  private async openLink(url: unknown): Promise<Outcome> {
    const parsed = typeof url === "string" && url.length <= MAX_LINK_CHARS && URL.canParse(url) ? new URL(url) : undefined;
    const isWeb = parsed?.protocol === "https:" || parsed?.protocol === "http:";
    // `https://bank.example@evil.example/` looks like another address.
    if (parsed === undefined || !isWeb || parsed.username !== "" || parsed.password !== "") return invalid("invalid URL");
    const answer = await this.askOnce({ kind: "link", name: parsed.host, text: parsed.href });
    if (answer === "no") return refused("the user did not open the link");
    window.open(parsed.href, "_blank", "noopener,noreferrer");
    return { result: {} };
  }

  /** Offers a text for the message box. The app sends nothing itself. */
  private async suggestMessage(params: Fields): Promise<Outcome> {
    const { role, content } = params;
    const blocks = (Array.isArray(content) ? (content as unknown[]) : [content]).map(fieldsOf);
    const texts = blocks.map((block) => (block["type"] === "text" ? block["text"] : undefined));
    if (role !== "user" || !texts.every((text) => typeof text === "string")) return invalid("expected text of the user");
    const text = texts.join("\n\n").trim();
    if (text === "" || text.length > MAX_DRAFT_CHARS) return invalid("the text is empty or too long");
    const answer = await this.askOnce({ kind: "message", name: "", text: visible(text) });
    if (answer === "no") return refused("the user dismissed the message");
    this.options.addToDraft(text);
    return { result: {} };
  }

  /** Asks the user, unless a question of the app is open already. */
  private async askOnce(question: AppQuestion): Promise<AppAnswer> {
    if (this.asking || this.state === "closed") return "no";
    this.asking = true;
    try {
      return await this.options.ask(question);
    } finally {
      this.asking = false;
    }
  }

  private sendCall(): void {
    if (this.state !== "initialized") return;
    const { input, result, cancelled } = this.call;
    if (input !== undefined && !this.sentInput) {
      this.sentInput = true;
      this.notify("ui/notifications/tool-input", { arguments: input });
    }
    if (this.sentEnd || !this.sentInput) return;
    if (result !== undefined) {
      this.sentEnd = true;
      this.notify("ui/notifications/tool-result", result);
    } else if (cancelled) {
      this.sentEnd = true;
      this.notify("ui/notifications/tool-cancelled", { reason: "the call was denied or skipped" });
    }
  }

  private reply(id: unknown, outcome: Outcome): void {
    if (this.state !== "closed" && isId(id)) {
      this.post({ jsonrpc: "2.0", id, ...outcome });
    }
  }

  private notify(method: string, params: unknown): void {
    this.post({ jsonrpc: "2.0", method, params });
  }

  private post(message: unknown): void {
    // An opaque origin has no name. The policy of the page keeps documents of other origins out of the frame.
    this.options.frame.contentWindow?.postMessage(message, "*");
  }
}

function refused(message: string): Outcome {
  return { error: { code: ERROR.refused, message } };
}

function invalid(message: string): Outcome {
  return { error: { code: ERROR.invalidParams, message } };
}

/** A JSON-RPC message as plain JSON; `undefined` for anything else and for messages that are too large. */
function plainMessage(data: unknown): Fields | undefined {
  if (!isFields(data) || data["jsonrpc"] !== "2.0") return undefined;
  try {
    const text = JSON.stringify(data);
    return text.length <= MAX_MESSAGE_CHARS ? (JSON.parse(text) as Fields) : undefined;
  } catch {
    // A cyclic value, or one that JSON does not have.
    return undefined;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

function isId(id: unknown): id is MessageId {
  return typeof id === "string" || typeof id === "number";
}
