// Everything of a run: folders, the host, VS Code's server, the browser.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { eventually } from './expect.mjs';
import { Host } from './host.mjs';
import { Network } from './network.mjs';
import { start } from './processes.mjs';
import { writePlugin } from './plugin.mjs';
import { Project } from './project.mjs';
import { Window } from './window.mjs';

const HOST_PORT = 8123;
const BRIDGE_PORT = 8124;
const WEB_PORT = 8080;
/** How long the host remembers a page that is gone. */
export const GRACE_SECONDS = 5;
const VIEWPORT = { width: 1500, height: 950 };
const SETTINGS = {
  'security.workspace.trust.enabled': false,
  'workbench.startupEditor': 'none',
  'workbench.reduceMotion': 'on',
  'editor.autoClosingBrackets': 'never',
  'terminal.integrated.gpuAcceleration': 'off',
  'telemetry.telemetryLevel': 'off',
  'chat.disableAIFeatures': false,
  'chat.agentHost.allowSignedOutWhenUsable': true,
  'extensions.autoCheckUpdates': false,
};

export class World {
  constructor({ folder, binary }) {
    this.folder = folder;
    this.binary = binary;
    this.scratch = path.join(folder, 'scratch');
    this.logs = path.join(folder, 'logs');
    this.shots = path.join(folder, 'shots');
    fs.rmSync(this.scratch, { recursive: true, force: true });
    fs.rmSync(this.logs, { recursive: true, force: true });
    fs.rmSync(this.shots, { recursive: true, force: true });
    for (const name of [this.scratch, this.logs, this.shots, this.home]) fs.mkdirSync(name, { recursive: true });
    this.env = {
      PATH: process.env.PATH, LANG: 'C.UTF-8', SHELL: '/bin/bash', HOME: this.home,
    };
    this.project = new Project(path.join(this.scratch, 'project'));
    this.network = new Network(BRIDGE_PORT, HOST_PORT);
    this.host = new Host({ binary, port: HOST_PORT, scratch: this.scratch, logs: this.logs, config: this.writeConfig(), env: this.env });
  }

  get home() {
    return path.join(this.scratch, 'home');
  }

  writeConfig() {
    const file = path.join(this.scratch, 'config.toml');
    const agents = fileURLToPath(new URL('../agent/', import.meta.url));
    const text = value => JSON.stringify(value);
    fs.writeFileSync(file, `auto_agents = false

[limits]
grace_seconds = ${GRACE_SECONDS}
remembered_clients = 1

[[agents]]
id = "demo"
name = "Demo Agent"
command = [${text(process.execPath)}, ${text(`${agents}demo.mjs`)}]
terminals = true

[[mcp_servers]]
name = "adder"
command = ${text(process.execPath)}
args = [${text(`${agents}adder.mjs`)}]

[[plugins]]
path = ${text(writePlugin(path.join(this.scratch, 'kit')))}
`);
    return file;
  }

  async start() {
    await Promise.all([this.host.start(), this.network.start(), this.startServer(), this.startBrowser()]);
    this.window = await this.newWindow();
  }

  async startServer() {
    const data = path.join(this.scratch, 'server');
    const user = path.join(data, 'data', 'User');
    fs.mkdirSync(user, { recursive: true });
    fs.writeFileSync(path.join(user, 'settings.json'), JSON.stringify(SETTINGS, undefined, 2));
    const main = path.join(this.folder, 'cs/package/lib/vscode/out/server-main.js');
    this.server = start(path.join(this.logs, 'server.log'), process.execPath, [
      main, '--host', '127.0.0.1', '--port', String(WEB_PORT), '--without-connection-token', '--accept-server-license-terms',
      '--server-data-dir', data, '--telemetry-level', 'off',
      '--agent-host-bridge-host', '127.0.0.1', '--agent-host-bridge-port', String(BRIDGE_PORT),
      '--agent-host-bridge-connection-token', this.host.token,
    ], { env: this.env });
    await eventually(`VS Code's server listens (see ${this.logs})`, () => responds(`http://127.0.0.1:${WEB_PORT}/version`), 30_000);
  }

  async startBrowser() {
    const { chromium } = createRequire(path.join(this.folder, 'pw/'))('playwright-core');
    this.browser = await chromium.launchPersistentContext(path.join(this.scratch, 'browser'), {
      executablePath: fs.readFileSync(path.join(this.folder, 'chromium.path'), 'utf8').trim(),
      headless: true,
      viewport: VIEWPORT,
      permissions: ['clipboard-read', 'clipboard-write'],
      env: this.env,
      // The runner ends everything itself.
      handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false,
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    });
    this.browser.setDefaultTimeout(5_000);
  }

  /** Opens a window on a folder, the project unless said otherwise. */
  newWindow = async (folder = this.project.folder) => {
    const [first] = this.browser.pages();
    const page = first?.url() === 'about:blank' ? first : await this.browser.newPage();
    const window = new Window(page, `http://127.0.0.1:${WEB_PORT}/?folder=${encodeURIComponent(folder)}`);
    await window.open();
    return window;
  };

  async stop() {
    await this.browser?.close();
    this.network.stop();
  }
}

function responds(url) {
  return new Promise((resolve, reject) => {
    http.get(url, response => {
      response.resume();
      resolve(response.statusCode < 500);
    }).on('error', reject);
  });
}
