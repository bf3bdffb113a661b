// An ACP agent whose behaviour is chosen by the prompt.
//
// A prompt is a script of statements, separated by ` ;; `:
//
//   say TEXT             streams TEXT word by word
//   think TEXT           the same as a thought
//   plan                 a plan of three entries; the first is completed
//   slow COUNT           streams COUNT numbered words, 100 ms apart
//   burst COUNT          streams COUNT numbered words without a delay
//   wait FILE            waits until FILE exists in the session's folder
//   edit FILE TEXT       asks with a diff, then appends the line TEXT to FILE
//   write FILE TEXT      writes the line TEXT to FILE without asking
//   delete FILE          deletes FILE without asking
//   rename FROM TO       renames a file without asking
//   run COMMAND          asks with COMMAND, then runs it and shows its output
//   form                 asks one question of each kind, says the answers
//   tools                says which tools the host's MCP server lists
//   tool NAME JSON       calls a tool of the host's MCP server, says its result
//   prompt               says of which blocks the prompt consists
//   chosen               says the values of all session options
//   fail TEXT            ends the turn with an error
//   die                  ends the process
//
// Any other statement is answered by `You said: …`.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { toolServer } from './tools.mjs';
import { answerForm, formQuestions } from './form.mjs';

const WORD_DELAY_MS = 15;
const SLOW_DELAY_MS = 100;
const POLL_MS = 50;

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));
const sessions = new Map();
const pending = new Map();
let lastRequest = 0;
let clientTerminals = false;

function write(message) {
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
}

function request(method, params) {
  const id = ++lastRequest;
  const answer = new Promise((resolve, reject) => pending.set(id, { resolve, reject }));
  write({ id, method, params });
  return answer;
}

class Cancelled extends Error {}

/** One session, with the turn that runs in it. */
class Session {
  constructor(params) {
    this.id = `demo-${Date.now().toString(36)}-${sessions.size + 1}`;
    this.cwd = params.cwd;
    this.servers = params.mcpServers ?? [];
    this.calls = 0;
    this.cancelled = false;
    this.always = new Set();
    this.chosen = { mode: 'ask', model: 'demo-small', effort: 'low' };
  }

  update(update) {
    write({ method: 'session/update', params: { sessionId: this.id, update } });
  }

  options() {
    const select = (id, name, category, options) => ({
      id, name, category, type: 'select', currentValue: this.chosen[id],
      options: options.map(([value, label, description]) => ({ value, name: label, description })),
    });
    return [
      select('mode', 'Mode', 'mode', [['ask', 'Ask', 'Asks before everything'], ['code', 'Code', 'Applies edits at once'], ['plan', 'Plan', 'Only makes plans']]),
      select('model', 'Model', 'model', [['demo-small', 'Demo Small', 'Quick'], ['demo-large', 'Demo Large', 'Thinks longer']]),
      select('effort', 'Effort', 'thought_level', [['low', 'Low', 'Little thought'], ['high', 'High', 'Much thought']]),
    ];
  }

  check() {
    if (this.cancelled) throw new Cancelled();
  }

  async stream(text, kind, delay) {
    for (const word of text.split(/(?<=\s)/)) {
      this.check();
      this.update({ sessionUpdate: kind, content: { type: 'text', text: word } });
      await sleep(delay);
    }
  }

  say(text) {
    return this.stream(`${text}\n\n`, 'agent_message_chunk', WORD_DELAY_MS);
  }

  inFolder(name) {
    return path.resolve(this.cwd, name);
  }

  /** Announces a tool call. */
  call(title, kind, more = {}) {
    const toolCall = { toolCallId: `call-${this.id}-${++this.calls}`, title, kind, status: 'pending', ...more };
    this.update({ sessionUpdate: 'tool_call', ...toolCall });
    return toolCall;
  }

  changed(toolCall, fields) {
    this.update({ sessionUpdate: 'tool_call_update', toolCallId: toolCall.toolCallId, ...fields });
  }

  /** Asks for permission; remembers an answer that holds for the session. */
  async allowed(toolCall) {
    if (this.always.has(toolCall.kind) || (this.chosen.mode === 'code' && toolCall.kind === 'edit')) return true;
    const { outcome } = await request('session/request_permission', {
      sessionId: this.id,
      toolCall,
      options: [
        { optionId: 'once', name: 'Allow', kind: 'allow_once' },
        { optionId: 'always', name: 'Allow in this session', kind: 'allow_always' },
        { optionId: 'no', name: 'Reject', kind: 'reject_once' },
      ],
    });
    this.check();
    if (outcome?.optionId === 'always') this.always.add(toolCall.kind);
    return outcome?.optionId === 'once' || outcome?.optionId === 'always';
  }

  async edit(name, text) {
    const file = this.inFolder(name);
    const oldText = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : null;
    const newText = `${oldText ?? ''}${text}\n`;
    const content = [{ type: 'diff', path: file, oldText, newText }];
    const call = this.call(`Edit ${name}`, 'edit', { content, locations: [{ path: file }], rawInput: { path: file } });
    if (!(await this.allowed(call))) {
      this.changed(call, { status: 'failed' });
      return this.say('The edit was rejected.');
    }
    this.changed(call, { status: 'in_progress' });
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, newText);
    this.changed(call, { status: 'completed', content });
    return this.say('The edit is done.');
  }

  async run(command) {
    const call = this.call('Run a command', 'execute', { rawInput: { command } });
    if (!(await this.allowed(call))) {
      this.changed(call, { status: 'failed' });
      return this.say('The command was rejected.');
    }
    const code = clientTerminals ? await this.runInTerminal(call, command) : await this.runHere(call, command);
    return this.say(`The command ended with ${code}.`);
  }

  async runInTerminal(call, command) {
    const { terminalId } = await request('terminal/create', { sessionId: this.id, command, cwd: this.cwd });
    this.changed(call, { status: 'in_progress', content: [{ type: 'terminal', terminalId }] });
    this.stop = () => request('terminal/kill', { sessionId: this.id, terminalId });
    const exit = await request('terminal/wait_for_exit', { sessionId: this.id, terminalId });
    this.stop = undefined;
    this.changed(call, { status: exit.exitCode === 0 ? 'completed' : 'failed' });
    await request('terminal/release', { sessionId: this.id, terminalId });
    this.check();
    return exit.exitCode;
  }

  async runHere(call, command) {
    let output = '';
    const content = () => [{ type: 'content', content: { type: 'text', text: output } }];
    this.changed(call, { status: 'in_progress' });
    const child = spawn('sh', ['-c', command], { cwd: this.cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    this.stop = () => child.kill();
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', data => {
        output += data;
        this.changed(call, { content: content() });
      });
    }
    const code = await new Promise(resolve => child.on('close', resolve));
    this.stop = undefined;
    this.check();
    this.changed(call, { status: code === 0 ? 'completed' : 'failed', content: content() });
    return code;
  }

  async tool(name, argumentText) {
    const server = await toolServer(this.servers, this.cwd);
    try {
      const tool = server.tools.find(tool => tool.name === name || tool.name.endsWith(name));
      if (!tool) return await this.say(`There is no tool ${name}.`);
      const rawInput = JSON.parse(argumentText || '{}');
      const call = this.call(`mcp__${server.name}__${tool.name}`, 'other', { rawInput });
      this.changed(call, { status: 'in_progress' });
      const result = await server.call(tool.name, rawInput);
      const text = (result.content ?? []).map(part => part.text ?? part.type).join(' ');
      this.changed(call, {
        status: result.isError ? 'failed' : 'completed',
        content: [{ type: 'content', content: { type: 'text', text } }],
        ...(result.structuredContent && { rawOutput: { structuredContent: result.structuredContent } }),
      });
      return await this.say(`Tool result${result.isError ? ' (error)' : ''}: ${text}`);
    } finally {
      server.close();
    }
  }

  async tools() {
    const server = await toolServer(this.servers, this.cwd);
    server.close();
    return this.say(`Tools: ${server.tools.map(tool => tool.name).join(', ')}.`);
  }

  plan() {
    const entries = (first, second) => [
      { content: 'Read the code', priority: 'high', status: first },
      { content: 'Change the code', priority: 'medium', status: second },
      { content: 'Test the code', priority: 'low', status: 'pending' },
    ];
    this.update({ sessionUpdate: 'plan', entries: entries('in_progress', 'pending') });
    this.update({ sessionUpdate: 'plan', entries: entries('completed', 'in_progress') });
  }

  async form() {
    const answer = await request('elicitation/create', {
      sessionId: this.id, mode: 'form', message: 'A few questions of the demo agent', requestedSchema: formQuestions,
    });
    this.check();
    return this.say(answerForm(answer));
  }

  describePrompt(blocks) {
    const described = blocks.map(block => {
      if (block.type === 'text') return `text(${block.text.length})`;
      if (block.type === 'image') return `image(${block.mimeType}, ${Buffer.from(block.data, 'base64').length} bytes)`;
      if (block.type === 'resource_link') return `link(${block.uri})`;
      if (block.type === 'resource') return `resource(${block.resource.uri}: ${(block.resource.text ?? block.resource.blob ?? '').trim().slice(0, 60)})`;
      return block.type;
    });
    return this.say(`Blocks: ${described.join('; ')}.`);
  }

  silently(title, kind, name, change) {
    const call = this.call(`${title} ${name}`, kind, { locations: [{ path: this.inFolder(name) }] });
    change(this.inFolder(name));
    this.changed(call, { status: 'completed' });
    return this.say(`${title} ${name}: done.`);
  }

  async statement(text, blocks) {
    const [, verb, rest] = /^(\S+)\s*([\s\S]*)$/.exec(text) ?? [];
    const [first, ...others] = (rest ?? '').split(' ');
    switch (verb) {
      case 'say': return this.say(rest);
      case 'think': return this.stream(`${rest}\n`, 'agent_thought_chunk', WORD_DELAY_MS);
      case 'plan': return this.plan();
      case 'burst': return this.stream(Array.from({ length: Number(rest) }, (_, i) => `word${i + 1} `).join(''), 'agent_message_chunk', 0);
      case 'slow': return this.stream(Array.from({ length: Number(rest) }, (_, i) => `word${i + 1} `).join(''), 'agent_message_chunk', SLOW_DELAY_MS);
      case 'wait':
        while (!fs.existsSync(this.inFolder(rest))) {
          this.check();
          await sleep(POLL_MS);
        }
        return undefined;
      case 'edit': return this.edit(first, others.join(' '));
      case 'write': return this.silently('Write', 'edit', first, file => fs.writeFileSync(file, `${others.join(' ')}\n`));
      case 'delete': return this.silently('Delete', 'delete', first, file => fs.rmSync(file));
      case 'rename': return this.silently('Rename', 'move', first, file => fs.renameSync(file, this.inFolder(others[0])));
      case 'run': return this.run(rest);
      case 'form': return this.form();
      case 'tools': return this.tools();
      case 'tool': return this.tool(first, others.join(' '));
      case 'prompt': return this.describePrompt(blocks);
      case 'chosen': return this.say(`Chosen: ${Object.entries(this.chosen).map(pair => pair.join('=')).join(', ')}.`);
      case 'fail': throw new Error(rest || 'told to fail');
      case 'die': return process.exit(3);
      default: return this.say(`You said: ${text}`);
    }
  }

  async prompt(blocks) {
    this.cancelled = false;
    for (const statement of ownWords(blocks).split(' ;; ')) {
      this.check();
      await this.statement(statement.trim(), blocks);
    }
  }
}

/** The first text of the user in a prompt, without remarks of the host. */
function ownWords(blocks) {
  const texts = blocks.filter(block => block.type === 'text').map(block => {
    const text = block.text.replace(/<(agenthost-(?:instructions|context))>[\s\S]*?<\/\1>\n?/g, '');
    return (/<agenthost-said>([\s\S]*?)<\/agenthost-said>/.exec(text)?.[1] ?? text).trim();
  });
  return texts.find(text => text) ?? '';
}

function begin(id, params) {
  const session = new Session(params);
  sessions.set(session.id, session);
  write({ id, result: { sessionId: session.id, configOptions: session.options() } });
  session.update({
    sessionUpdate: 'available_commands_update',
    availableCommands: [
      { name: 'review', description: 'Reviews the changes', input: { hint: 'what to look at' } },
      { name: 'summary', description: 'Summarizes the session' },
    ],
  });
}

async function turn(id, params) {
  const session = sessions.get(params.sessionId);
  try {
    await session.prompt(params.prompt);
    write({ id, result: { stopReason: 'end_turn' } });
  } catch (error) {
    if (error instanceof Cancelled) write({ id, result: { stopReason: 'cancelled' } });
    else write({ id, error: { code: -32603, message: error.message } });
  }
}

const handlers = {
  initialize(id, params) {
    clientTerminals = params.clientCapabilities?.terminal === true;
    write({
      id,
      result: {
        protocolVersion: 1,
        agentInfo: { name: 'demo', title: 'Demo Agent', version: '1.0.0' },
        agentCapabilities: { promptCapabilities: { image: true, embeddedContext: true } },
      },
    });
  },
  'session/new': begin,
  'session/prompt': turn,
  'session/cancel'(_, params) {
    const session = sessions.get(params.sessionId);
    session.cancelled = true;
    session.stop?.();
  },
  'session/set_config_option'(id, params) {
    const session = sessions.get(params.sessionId);
    session.chosen[params.configId] = params.value;
    write({ id, result: { configOptions: session.options() } });
  },
};

readline.createInterface({ input: process.stdin }).on('line', line => {
  const message = JSON.parse(line);
  const handler = handlers[message.method];
  if (handler) handler(message.id, message.params ?? {});
  else if (message.method && message.id !== undefined) write({ id: message.id, error: { code: -32601, message: `no method ${message.method}` } });
  else if (pending.has(message.id)) {
    const { resolve, reject } = pending.get(message.id);
    pending.delete(message.id);
    if (message.error) reject(new Error(message.error.message));
    else resolve(message.result);
  }
}).on('close', () => process.exit(0));
