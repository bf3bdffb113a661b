// An ACP agent that answers at once, for the steps in `steps/speed.mjs`: JSON-RPC over stdio. A prompt is one of
//
//   stream RATE SECONDS   streams Markdown with RATE words a second, each word in a message of its own
//   document BYTES        says Markdown of this size
//   calls COUNT           reports COUNT tool calls
//
// Any other prompt is answered by its own text.

import readline from "node:readline";

const TICK_MS = 4;
const CHUNK_BYTES = 32 * 1024;
/** A paragraph, a list and code: 25 words. */
const SECTION = [
  "## Section N\n\nThe quick brown fox jumps over **the lazy** dog.\n\n",
  "- one `item`\n- another item of this list\n\n",
  "```js\nconst value = compute(N);\nconsole.log(value);\n```\n\n",
].join("");

let sessions = 0;

function write(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function update(sessionId, update) {
  write({ method: "session/update", params: { sessionId, update } });
}

function say(sessionId, text) {
  update(sessionId, { sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
}

/** The text of the user in a prompt, without remarks of the host. */
function wordsOfUser(blocks) {
  const texts = blocks.map(({ text = "" }) => {
    const own = text.replace(/<(agenthost-(?:instructions|context))>[\s\S]*?<\/\1>\n?/g, "");
    return (/<agenthost-said>([\s\S]*?)<\/agenthost-said>/.exec(own)?.[1] ?? own).trim();
  });
  return texts.find((text) => text) ?? "";
}

/** Words of Markdown without an end. */
function* markdownWords() {
  for (let section = 1; ; section += 1) {
    yield* SECTION.replaceAll("N", `${section}`).split(/(?<=\s)(?=\S)/);
  }
}

function stream(sessionId, rate, seconds) {
  const words = markdownWords();
  const started = performance.now();
  let sent = 0;
  return new Promise((done) => {
    const timer = setInterval(() => {
      const due = Math.min(rate * seconds, Math.floor(((performance.now() - started) / 1000) * rate));
      for (; sent < due; sent += 1) {
        say(sessionId, words.next().value);
      }
      if (sent === rate * seconds) {
        clearInterval(timer);
        say(sessionId, "\n\nThe stream has ended.");
        done();
      }
    }, TICK_MS);
  });
}

function sayDocument(sessionId, bytes) {
  let text = "";
  for (let section = 1; text.length < bytes; section += 1) {
    text += SECTION.replaceAll("N", `${section}`);
  }
  text += "The document has ended.";
  for (let at = 0; at < text.length; at += CHUNK_BYTES) {
    say(sessionId, text.slice(at, at + CHUNK_BYTES));
  }
}

function reportCalls(sessionId, count) {
  for (let index = 1; index <= count; index += 1) {
    const toolCall = { toolCallId: `call-${sessionId}-${index}`, title: `Read file-${index}.txt`, kind: "read" };
    update(sessionId, { sessionUpdate: "tool_call", ...toolCall, status: "completed" });
  }
}

async function answer(sessionId, prompt) {
  const text = wordsOfUser(prompt);
  const [verb, first, second] = text.split(" ");
  switch (verb) {
    case "stream":
      return stream(sessionId, Number(first), Number(second));
    case "document":
      return sayDocument(sessionId, Number(first));
    case "calls":
      return reportCalls(sessionId, Number(first));
    default:
      return say(sessionId, text);
  }
}

readline.createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params } = JSON.parse(line);
  switch (method) {
    case "initialize":
      write({ id, result: { protocolVersion: 1, agentInfo: { name: "load", version: "1" }, agentCapabilities: {} } });
      return;
    case "session/new":
      sessions += 1;
      write({ id, result: { sessionId: `load-${sessions}` } });
      return;
    case "session/prompt":
      await answer(params.sessionId, params.prompt);
      write({ id, result: { stopReason: "end_turn" } });
      return;
    default:
      if (id !== undefined && method !== undefined) {
        write({ id, error: { code: -32601, message: `no method ${method}` } });
      }
  }
});
