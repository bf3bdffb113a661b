// An ACP agent that asks for permission as its prompt says, for the steps in `steps/approvals.mjs`: JSON-RPC over stdio.
// A prompt is `ask ` and JSON with `toolCall` and optionally `options`. `lines COUNT` or `paragraphs COUNT` in a text of the JSON
// becomes that many. The agent says what was chosen. Any other prompt is answered by its own text.

import readline from "node:readline";

const OPTIONS = [
  { optionId: "yes", name: "Allow once", kind: "allow_once" },
  { optionId: "no", name: "Deny", kind: "reject_once" },
];

let sessions = 0;
let calls = 0;
let requests = 0;
const pending = new Map();

function write(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function say(sessionId, text) {
  write({ method: "session/update", params: { sessionId, update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } } } });
}

function request(method, params) {
  requests += 1;
  const id = requests;
  write({ id, method, params });
  return new Promise((resolve) => pending.set(id, resolve));
}

/** The text of the user in a prompt, without remarks of the host. */
function wordsOfUser(blocks) {
  const texts = blocks.map(({ text = "" }) => {
    const own = text.replace(/<(agenthost-(?:instructions|context))>[\s\S]*?<\/\1>\n?/g, "");
    return (/<agenthost-said>([\s\S]*?)<\/agenthost-said>/.exec(own)?.[1] ?? own).trim();
  });
  return texts.find((text) => text) ?? "";
}

function withLines(text) {
  const repeat = (count, end) => Array.from({ length: Number(count) }, (_, index) => `line ${index}`).join(end);
  return text.replace(/(lines|paragraphs) (\d+)/, (_, kind, count) => repeat(count, kind === "lines" ? "\n" : "\n\n"));
}

async function ask(sessionId, text) {
  const { toolCall, options = OPTIONS } = JSON.parse(text, (_, value) => (typeof value === "string" ? withLines(value) : value));
  calls += 1;
  const { outcome } = await request("session/request_permission", {
    sessionId,
    toolCall: { toolCallId: `ask-${calls}`, ...toolCall },
    options,
  });
  const status = outcome.optionId === "yes" ? "completed" : "failed";
  write({ method: "session/update", params: { sessionId, update: { sessionUpdate: "tool_call_update", toolCallId: `ask-${calls}`, status } } });
  say(sessionId, `Chosen: ${outcome.optionId ?? outcome.outcome}.`);
}

readline.createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params, result } = JSON.parse(line);
  switch (method) {
    case undefined:
      pending.get(id)?.(result);
      pending.delete(id);
      return;
    case "initialize":
      write({ id, result: { protocolVersion: 1, agentInfo: { name: "ask", version: "1" }, agentCapabilities: {} } });
      return;
    case "session/new":
      sessions += 1;
      write({ id, result: { sessionId: `ask-${sessions}` } });
      return;
    case "session/prompt": {
      const text = wordsOfUser(params.prompt);
      if (text.startsWith("ask ")) await ask(params.sessionId, text.slice("ask ".length));
      else say(params.sessionId, text);
      write({ id, result: { stopReason: "end_turn" } });
      return;
    }
    default:
      if (id !== undefined && method !== undefined) {
        write({ id, error: { code: -32601, message: `no method ${method}` } });
      }
  }
});
