// Approvals: commands, edits, their answers.
import { check, equal, eventually, includes } from '../lib/expect.mjs';

// `printf`, because VS Code's own settings approve `echo`.
const LONG = 'printf "this command has far more than eighty characters, and all of them have to be in sight" > approved.txt; printf the-very-end';

/** Text without white space: editors break lines anywhere. */
const dense = text => text.replace(/\s+/g, '');

async function seesWholeCommand(chat) {
  await eventually('the whole command in the approval', async () => dense(await chat.approvalText()).includes(dense(LONG)));
}

export default {
  async 'the whole command of an agent is in sight, and approved'({ window: { chat, sessions }, project }) {
    await chat.begin('Demo Agent');
    await chat.send(`run ${LONG}`);
    await seesWholeCommand(chat);
    check(!project.has('approved.txt'), 'nothing has run yet');
    await eventually('the list says that input is needed', async () => (await sessions.details('run printf "this command')).includes('Input needed'));
    await chat.answer('Allow');
    await chat.says('The command ended with 0.');
    check(project.has('approved.txt'), 'the command has run');
  },

  async 'a command of an agent is denied'({ window: { chat }, project }) {
    await chat.begin('Demo Agent');
    await chat.send('run printf denied > denied.txt');
    await chat.approvalText();
    await chat.deny();
    await chat.says('The command was rejected.');
    check(!project.has('denied.txt'), 'the command has not run');
  },

  async 'a kind of command is allowed for the session'({ window: { chat }, project }) {
    await chat.begin('Demo Agent');
    await chat.send('run printf one >> allowed.txt');
    await chat.approvalText();
    await chat.answerByMenu('Allow in this session');
    await chat.says('The command ended with 0.');
    await chat.isIdle();
    await chat.ask('run printf two >> allowed.txt', 'The command ended with 0.');
    equal(project.read('allowed.txt'), 'onetwo', 'the file');
  },

  async 'the whole command of the shell is in sight, and approved'({ window: { chat }, project }) {
    await chat.begin('Shell');
    await chat.send(LONG);
    await seesWholeCommand(chat);
    check(!project.has('approved.txt'), 'nothing has run yet');
    await chat.answer('Allow');
    await chat.isIdle();
    check(project.has('approved.txt'), 'the command has run');
  },

  async 'a command of the shell is denied'({ window: { chat }, project }) {
    await chat.begin('Shell');
    await chat.send('printf denied > denied.txt');
    await chat.approvalText();
    await chat.deny();
    await chat.isIdle();
    check(!project.has('denied.txt'), 'the command has not run');
  },

  async 'everything is allowed in a session of the shell'({ window: { chat }, project }) {
    await chat.begin('Shell');
    await chat.send('printf one >> allowed.txt');
    await chat.approvalText();
    await chat.answerByMenu('session');
    await chat.isIdle();
    await chat.send('printf two >> allowed.txt');
    await eventually('the second command runs without a question', () => project.read('allowed.txt') === 'onetwo');
    await chat.isIdle();
  },

  async 'the diff of an edit is in sight before the answer'({ window, project }) {
    const { chat } = window;
    await chat.begin('Demo Agent');
    await chat.send('edit hello.txt one-more-line');
    includes(await chat.approvalText(), 'hello.txt', 'the approval');
    await chat.showEdits();
    const [diff] = await eventually('the diff with its contents', async () => {
      const diffs = await window.diffs();
      return diffs.length === 1 && diffs[0].modified.length === 2 && diffs;
    });
    equal(diff.original, ['hello'], 'the left side');
    equal(diff.modified, ['hello', 'one-more-line'], 'the right side');
    equal(diff.kind, '', 'the kind of change: modified');
    check(diff.path.endsWith('/project/hello.txt'), `the path of the file in ${diff.path}`);
    equal(project.read('hello.txt'), 'hello\n', 'the file before the answer');
    await window.showChatAlone();
    await chat.answer('Allow');
    await chat.says('The edit is done.');
    equal(project.read('hello.txt'), 'hello\none-more-line\n', 'the file after the answer');
  },

  async 'an edit is denied'({ window: { chat }, project }) {
    await chat.begin('Demo Agent');
    await chat.send('edit hello.txt unwanted');
    await chat.approvalText();
    await chat.deny();
    await chat.says('The edit was rejected.');
    equal(project.read('hello.txt'), 'hello\n', 'the file');
  },

  async 'a new file is shown before it is created'({ window, project }) {
    const { chat } = window;
    await chat.begin('Demo Agent');
    await chat.send('edit created.txt brand-new');
    includes(await chat.approvalText(), 'created.txt', 'the approval');
    await chat.showEdits();
    const [diff] = await eventually('the new file with its contents', async () => {
      const diffs = await window.diffs();
      return diffs[0].modified.length === 1 && diffs;
    });
    equal([diff.kind, diff.modified], ['A', ['brand-new']], 'the diff');
    await window.showChatAlone();
    await chat.answer('Allow');
    await chat.says('The edit is done.');
    equal(project.read('created.txt'), 'brand-new\n', 'the file');
  },

  async 'a turn is cancelled while it asks'({ window: { chat }, project }) {
    await chat.begin('Demo Agent');
    await chat.send('run printf never > never.txt');
    await chat.approvalText();
    await chat.stop();
    await chat.isIdle();
    await chat.isAnswered();
    check(!project.has('never.txt'), 'the command has not run');
    await chat.ask('say after-question', 'after-question');
  },
};
