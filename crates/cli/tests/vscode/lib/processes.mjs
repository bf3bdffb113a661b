// Child processes of a run. All of them are ended with it.
import { spawn } from 'node:child_process';
import fs from 'node:fs';

const STOP_TIMEOUT_MS = 5000;
const running = new Set();

/** Starts a program in a process group of its own, its output in a log file. */
export function start(log, command, args, { env, cwd } = {}) {
  const output = fs.openSync(log, 'a');
  const child = spawn(command, args, { env, cwd, stdio: ['ignore', output, output], detached: true });
  fs.closeSync(output);
  child.ended = new Promise(resolve => child.once('close', (code, signal) => {
    running.delete(child);
    resolve({ code, signal });
  }));
  child.once('error', error => fs.appendFileSync(log, `${error}\n`));
  running.add(child);
  return child;
}

/** Ends a process group: SIGTERM first, SIGKILL after a timeout. */
export async function stop(child) {
  if (!running.has(child)) return;
  signalGroup(child, 'SIGTERM');
  const timer = setTimeout(() => signalGroup(child, 'SIGKILL'), STOP_TIMEOUT_MS);
  await child.ended;
  clearTimeout(timer);
  signalGroup(child, 'SIGKILL');
}

/** Kills the process with SIGKILL; programs that it started live on. */
export async function kill(child) {
  if (running.has(child)) process.kill(child.pid, 'SIGKILL');
  await child.ended;
}

export async function stopAll() {
  await Promise.all([...running].reverse().map(stop));
}

/** Runs a program to its end. `input` is typed line by line, then closed. */
export function run(command, args, { env, cwd, input, timeout = 30_000 } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, cwd, stdio: ['pipe', 'pipe', 'pipe'] });
    const timer = setTimeout(() => child.kill('SIGKILL'), timeout);
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', data => { stdout += data; });
    child.stderr.on('data', data => { stderr += data; });
    child.on('error', reject);
    child.on('close', code => {
      clearTimeout(timer);
      resolve({ code, stdout, stderr });
    });
    child.stdin.end(input ?? '');
  });
}

function signalGroup(child, name) {
  try {
    process.kill(-child.pid, name);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}
