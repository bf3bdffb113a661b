// Output of commands: while they run, when they failed, after they were cut off.
import { check, eventually } from '../lib/expect.mjs';

/** Approves a command, and waits for its first output. */
async function runs(chat, agent, message, output) {
  await chat.begin(agent);
  await chat.send(message);
  await chat.approvalText();
  await chat.answer('Allow');
  await chat.prints(output);
}

const agents = [['the shell', 'Shell', ''], ['an ACP agent', 'Demo Agent', 'run ']];

const steps = {};
for (const [name, agent, prefix] of agents) {
  steps[`output of a command of ${name} is shown while it runs`] = async ({ window: { chat }, project }) => {
    await runs(chat, agent, `${prefix}printf first-$((1+1)); while [ ! -e go ]; do sleep 0.1; done; printf second-$((2+2))`, 'first-2');
    project.write('go', '');
    await chat.isIdle();
    await chat.expandSteps();
    await chat.prints('second-4');
  };

  steps[`output of a command of ${name} stays after it is cancelled`] = async ({ window }) => {
    const { chat, sessions } = window;
    const message = `${prefix}printf kept-$((3+3)); sleep 600`;
    await runs(chat, agent, message, 'kept-6');
    await chat.stop();
    await chat.isIdle();
    await chat.expandSteps();
    await chat.prints('kept-6');
    await window.reload();
    await chat.isConnected(agent);
    await sessions.open(message);
    await chat.expandSteps();
    await chat.prints('kept-6');
  };

  steps[`a failed command of ${name} is marked, with its output`] = async ({ window: { chat } }) => {
    // VS Code does not unfold the output of commands that end at once.
    await runs(chat, agent, `${prefix}printf oops-$((4+4)); sleep 1; exit 3`, 'oops-8');
    await chat.isIdle();
    await chat.expandSteps();
    await chat.prints('oops-8');
    await eventually('the failure is marked', async () => (await chat.responses.last().locator('.terminal-command-decoration.error, .codicon-error, .codicon-error-compact').count()) > 0);
  };
}

steps['a command continues in the background'] = async ({ window: { chat }, project }) => {
  await runs(chat, 'Shell', 'printf begun-$((6+6)); while [ ! -e go ]; do sleep 0.1; done; touch background-done', 'begun-12');
  await chat.responses.last().locator('[aria-label="Continue in Background"]').click();
  await chat.isIdle();
  check(!project.has('background-done'), 'the command still runs');
  project.write('go', '');
  await eventually('the command ends by itself', () => project.has('background-done'));
};

steps['output of a command stays after the host is killed'] = async ({ window: { chat }, host }) => {
  await runs(chat, 'Shell', 'printf survived-$((5+5)); sleep 600', 'survived-10');
  await host.kill();
  await host.start();
  await chat.isIdle(30_000);
  await chat.expandSteps();
  await chat.prints('survived-10');
};

export default steps;
