// Runs the steps of `./test vscode`.
//
//   run.mjs FOLDER BINARY [FILTER]
//
// FOLDER has the installation; logs, screenshots and everything else of a run
// are put there, too. FILTER is a part of the name of a step or of its file.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { firstLine } from './lib/expect.mjs';
import { stopAll } from './lib/processes.mjs';
import { World } from './lib/world.mjs';

const STEP_TIMEOUT_MS = 90_000;
const [folder, binary, filter = ''] = process.argv.slice(2);
const here = path.dirname(fileURLToPath(import.meta.url));

/** All steps in order of their files: {name, run}. */
async function findSteps() {
  const steps = [];
  for (const file of fs.readdirSync(path.join(here, 'steps')).sort()) {
    const { default: found } = await import(`./steps/${file}`);
    const subject = path.basename(file, '.mjs').replace(/^\d+-/, '');
    for (const [name, run] of Object.entries(found)) steps.push({ name: `${subject}: ${name}`, run });
  }
  return steps.filter(step => step.name.includes(filter));
}

function withTimeout(promise, ms) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the step took more than ${ms / 1000} s`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Brings the window and the host back to where the next step can begin. */
async function recover(world) {
  if (!world.host.isRunning) await world.host.start();
  world.network.release();
  for (const page of world.browser.pages()) if (page !== world.window.page) await page.close();
  await world.window.open();
  await world.window.showChatAlone();
}

async function runStep(world, step) {
  world.project.reset();
  const begin = Date.now();
  const took = () => `${((Date.now() - begin) / 1000).toFixed(1)} s`;
  try {
    await withTimeout(step.run(world), STEP_TIMEOUT_MS);
    console.log(`ok      ${step.name} (${took()})`);
    return true;
  } catch (error) {
    const shot = path.join(world.shots, `${step.name.replace(/[^a-z0-9]+/gi, '-')}.png`);
    const pages = world.browser.pages();
    for (const [index, page] of pages.entries()) {
      const file = index === 0 ? shot : shot.replace(/\.png$/, `-${index + 1}.png`);
      await page.screenshot({ path: file }).catch(() => {});
    }
    console.log(`FAILED  ${step.name} (${took()}): ${firstLine(error)}`);
    console.log(`        ${shot}`);
    if (process.env.VERBOSE) console.log(error.stack);
    return false;
  }
}

async function main() {
  const steps = await findSteps();
  const world = new World({ folder: path.resolve(folder), binary: path.resolve(binary) });
  const end = async code => {
    await world.stop().catch(() => {});
    await stopAll();
    process.exit(code);
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(name, () => end(130));
  let passed = 0;
  try {
    await world.start();
    for (const step of steps) {
      const ok = await runStep(world, step);
      if (ok) passed += 1;
      else await recover(world);
    }
  } catch (error) {
    console.log(`FAILED  ${error.stack}`);
    console.log(`        see ${world.logs}`);
    await end(1);
  }
  console.log(`\n${passed} of ${steps.length} steps passed`);
  console.log(`${passed} passed, ${steps.length - passed} failed`);
  await end(passed === steps.length && steps.length > 0 ? 0 : 1);
}

await main();
