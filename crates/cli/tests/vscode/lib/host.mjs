// The host that is tested, with its command line and its wire log.
import fs from 'node:fs';
import path from 'node:path';
import { eventually } from './expect.mjs';
import { kill, run, start, stop } from './processes.mjs';

const TOKEN = 'test-token-0123456789abcdef0123456789abcdef';

export class Host {
  constructor({ binary, port, scratch, logs, config, env }) {
    Object.assign(this, { binary, port, config, env });
    this.data = path.join(scratch, 'data');
    this.readyFile = path.join(scratch, 'ready.json');
    this.log = path.join(logs, 'host.log');
    this.wireLog = path.join(logs, 'wire.jsonl');
    this.token = TOKEN;
    fs.mkdirSync(this.data, { recursive: true, mode: 0o700 });
    fs.writeFileSync(path.join(this.data, 'token'), TOKEN, { mode: 0o600 });
  }

  async start() {
    fs.rmSync(this.readyFile, { force: true });
    this.child = start(this.log, this.binary, [
      'serve', '--listen', `127.0.0.1:${this.port}`, '--data-dir', this.data, '--config', this.config,
      '--wire-log', this.wireLog, '--wire-log-contents', '--ready-file', this.readyFile, '--verbose',
    ], { env: this.env });
    await eventually(`the host listens (see ${this.log})`, () => fs.existsSync(this.readyFile) && fs.statSync(this.readyFile).size > 0);
  }

  stop() {
    return stop(this.child);
  }

  /** `kill -9`. */
  kill() {
    return kill(this.child);
  }

  async restart() {
    await this.stop();
    await this.start();
  }

  get isRunning() {
    return this.child && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Runs a command of `agenthost` against this host. */
  command(args, options = {}) {
    const [name, ...rest] = args;
    return run(this.binary, [name, '--data-dir', this.data, '--config', this.config, ...rest], { env: this.env, ...options });
  }

  /** All sessions, as `agenthost sessions --json` lists them. */
  async sessions() {
    const { stdout } = await this.command(['sessions', '--json']);
    return stdout.split('\n').filter(line => line).map(line => JSON.parse(line));
  }

  /** The session whose title contains `part`. */
  session(part) {
    return eventually(`a session titled ${part}`, async () => (await this.sessions()).find(session => session.title.includes(part)));
  }

  /** The messages of the wire log that satisfy a condition. */
  wire(condition = () => true) {
    const lines = fs.readFileSync(this.wireLog, 'utf8').split('\n');
    const entries = [];
    for (const line of lines) {
      try {
        const entry = JSON.parse(line);
        if (condition(entry)) entries.push(entry);
      } catch {
        // The last line may be incomplete.
      }
    }
    return entries;
  }

  /** Number of messages so far, to look only at later ones. */
  mark() {
    return this.wire().length;
  }

  /** Actions of a type that clients dispatched since `mark`. */
  dispatched(type, mark = 0) {
    return this.wire().slice(mark).filter(entry => entry.direction === 'in' && entry.action === type).map(entry => entry.message.params);
  }

  /** What the host refused since `mark`: errors and rejected actions. */
  refusals(mark = 0) {
    return this.wire().slice(mark).filter(entry => entry.direction === 'out' && (entry.error !== undefined || entry.message?.params?.rejectionReason));
  }
}
