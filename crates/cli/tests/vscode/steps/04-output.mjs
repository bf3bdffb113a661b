// Output of commands: while they run, when they failed, after they were cut off.
import { eventually } from '../lib/expect.mjs';

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

  steps[`output of a command of ${name} stays after it is cancelled`] = async ({ window: { chat, sessions } }) => {
    await runs(chat, agent, `${prefix}printf kept-$((3+3)); sleep 600`, 'kept-6');
    await chat.stop();
    await chat.isIdle();
    await chat.expandSteps();
    await chat.prints('kept-6');
    await chat.begin(agent);
    await sessions.open('kept-$((3+3))');
    await chat.expandSteps();
    await chat.prints('kept-6');
  };

  steps[`a failed command of ${name} is marked, with its output`] = async ({ window: { chat } }) => {
    await runs(chat, agent, `${prefix}printf oops-$((4+4)); exit 3`, 'oops-8');
    await chat.isIdle();
    await eventually('the failure is marked', async () => (await chat.responses.last().locator('.terminal-command-decoration.error, .codicon-error, .codicon-error-compact').count()) > 0);
  };
}

steps['output of a command stays after the host is killed'] = async ({ window: { chat }, host }) => {
  await runs(chat, 'Shell', 'printf survived-$((5+5)); sleep 600', 'survived-10');
  await host.kill();
  await host.start();
  await chat.isIdle(30_000);
  await chat.expandSteps();
  await chat.prints('survived-10');
};

export default steps;
