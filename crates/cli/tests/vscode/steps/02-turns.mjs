// Display of a turn: text, reasoning, plans, tool steps, errors, cancellation.
import { check, equal, eventually, includes } from '../lib/expect.mjs';

export default {
  async 'words are streamed'({ window: { chat }, project }) {
    await chat.begin('Demo Agent');
    await chat.send('say early words ;; wait go ;; say late words');
    await chat.says('early words');
    check(!(await chat.responseText()).includes('late words'), 'the turn is not over yet');
    project.write('go', '');
    await chat.says('late words');
    await chat.isIdle();
  },

  async 'markdown is rendered'({ window: { chat } }) {
    await chat.begin('Demo Agent');
    await chat.ask('say **bold-word** and `code-word`', 'bold-word');
    equal(await chat.responses.last().locator('strong').allInnerTexts(), ['bold-word'], 'bold text');
    equal(await chat.responses.last().locator('p code').allInnerTexts(), ['code-word'], 'code');
  },

  async 'thoughts are shown'({ window: { chat } }) {
    await chat.begin('Demo Agent');
    await chat.ask('think of the harbour ;; say thought-done', 'thought-done');
    const thoughts = await chat.responses.last().locator('.chat-thinking-box').evaluateAll(boxes => boxes.map(box => box.textContent).join());
    includes(thoughts, 'of the harbour', 'thoughts');
  },

  async 'a plan is shown with all its entries'({ window: { chat } }) {
    await chat.begin('Demo Agent');
    await chat.ask('plan ;; say plan-done', 'plan-done');
    await chat.says('Read the code');
    await chat.says('Change the code');
    await chat.says('Test the code');
  },

  async 'tool steps are shown'({ window: { chat }, project }) {
    await chat.begin('Demo Agent');
    await chat.send('write tool-step.txt content ;; wait go ;; say step-done');
    await eventually('the step', async () => (await chat.responseText()).includes('Write tool-step.txt'));
    project.write('go', '');
    await chat.says('step-done');
    equal(project.read('tool-step.txt'), 'content\n', 'the file');
  },

  async 'the session has the title of its message and a status'({ window: { chat, sessions }, project }) {
    await chat.begin('Demo Agent');
    await chat.send('wait go ;; say title-step');
    await sessions.lists('wait go ;; say title-step');
    await eventually('the session works', async () => (await sessions.details('wait go ;; say title-step')).includes('Working'));
    project.write('go', '');
    await chat.says('title-step');
    await eventually('the session works no more', async () => !(await sessions.details('wait go ;; say title-step')).includes('Working'));
  },

  async 'an error of the agent is shown, and the next message is answered'({ window: { chat, sessions } }) {
    await chat.begin('Demo Agent');
    await chat.send('fail the-model-is-on-fire');
    await eventually('the error', async () => (await chat.root.innerText()).includes('the-model-is-on-fire'));
    await chat.isIdle();
    await sessions.lists('fail the-model');
    await chat.ask('say after-the-error', 'after-the-error');
  },

  async 'an agent that dies is started again'({ window: { chat } }) {
    await chat.begin('Demo Agent');
    await chat.ask('say before-death', 'before-death');
    await chat.send('die');
    await chat.isIdle();
    await chat.ask('say risen', 'risen');
  },

  async 'a turn is cancelled'({ window: { chat, sessions } }) {
    await chat.begin('Demo Agent');
    await chat.send('slow 500');
    await chat.says('word5');
    await chat.stop();
    await chat.isIdle();
    await eventually('the session is idle', async () => !(await sessions.details('slow 500')).includes('Working'));
    check(!(await chat.responseText()).includes('word400'), 'the turn ended early');
    await chat.ask('say after-cancel', 'after-cancel');
  },
};
