// A client of the MCP server that the host gives to its agents.
import { spawn } from 'node:child_process';
import readline from 'node:readline';

/** Starts the first stdio server of `servers` and lists its tools. */
export async function toolServer(servers, cwd) {
  const described = servers.find(server => server.command);
  if (!described) throw new Error('the host gave no MCP server that is a program');
  const env = Object.fromEntries((described.env ?? []).map(({ name, value }) => [name, value]));
  const child = spawn(described.command, described.args ?? [], { cwd, env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'inherit'] });
  const pending = new Map();
  let last = 0;
  const write = message => child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
  const request = (method, params) => new Promise((resolve, reject) => {
    const id = ++last;
    pending.set(id, { resolve, reject });
    write({ id, method, params });
  });
  readline.createInterface({ input: child.stdout }).on('line', line => {
    const message = JSON.parse(line);
    const waiting = pending.get(message.id);
    if (!waiting || message.method) return;
    pending.delete(message.id);
    if (message.error) waiting.reject(new Error(message.error.message));
    else waiting.resolve(message.result);
  });
  child.on('close', code => {
    for (const { reject } of pending.values()) reject(new Error(`the MCP server ended with ${code}`));
  });
  await request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'demo', version: '1.0.0' } });
  write({ method: 'notifications/initialized' });
  const { tools } = await request('tools/list', {});
  return {
    name: described.name,
    tools,
    call: (name, args) => request('tools/call', { name, arguments: args }),
    close: () => child.kill(),
  };
}
