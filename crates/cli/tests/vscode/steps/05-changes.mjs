// Changed files: of a turn, of a session; checkpoints.
import { check, equal, eventually } from '../lib/expect.mjs';

const CHANGES = 'write hello.txt changed ;; write added.txt new ;; delete doomed.txt ;; rename before.txt after.txt ;; say changed-all';
const RENAMED = ['this file will be renamed', 'its contents stay', 'the same', 'as they were'];

/** Checks a multi-file diff of the changes above. */
async function showsAllChanges(window) {
  const diffs = await eventually('four changed files with their contents', async () => {
    const diffs = await window.diffs();
    return diffs.length === 4 && diffs.every(diff => diff.modified.length + diff.original.length > 0) && diffs;
  });
  const of = name => diffs.find(diff => diff.path.endsWith(`/project/${name}`) || diff.originalPath.endsWith(`/project/${name}`)) ?? {};
  const [modified, added, deleted, renamed] = ['hello.txt', 'added.txt', 'doomed.txt', 'after.txt'].map(of);
  equal([modified.kind, modified.original, modified.modified], ['', ['hello'], ['changed']], 'the modified file');
  equal([added.kind, added.modified], ['A', ['new']], 'the added file');
  equal([deleted.kind, deleted.original], ['D', ['this file will be deleted', 'by a turn']], 'the deleted file');
  equal([renamed.kind, renamed.original, renamed.modified], ['R', RENAMED, RENAMED], 'the renamed file');
  check(renamed.originalPath.endsWith('/project/before.txt'), `the old path of the renamed file, found ${renamed.originalPath}`);
}

export default {
  async 'changes of a turn have kinds, paths and contents'({ window }) {
    await window.chat.begin('Demo Agent');
    await window.chat.ask(CHANGES, 'changed-all');
    await window.chat.showTurnChanges('4 files changed');
    await showsAllChanges(window);
    await window.showChatAlone();
  },

  async 'changes of the session have kinds, paths and contents'({ window }) {
    await window.chat.begin('Demo Agent');
    await window.chat.ask(CHANGES, 'changed-all');
    await window.chat.showSessionChanges('4 Files');
    await showsAllChanges(window);
    await window.showChatAlone();
  },

  async 'the list of sessions counts changed lines'({ window }) {
    await window.chat.begin('Demo Agent');
    await window.chat.ask('write counted.txt one-line ;; say counted', 'counted');
    await eventually('+1 in the list', async () => (await window.sessions.details('write counted.txt')).includes('+1'));
  },

  async 'files with odd names are shown'({ window }) {
    await window.chat.begin('Demo Agent');
    await window.chat.send("run printf changed > \"src/odd (name) + @'ü.txt\"");
    await window.chat.approvalText();
    await window.chat.answer('Allow');
    await window.chat.says('The command ended with 0.');
    await window.chat.isIdle();
    await window.chat.showTurnChanges('1 file changed');
    const [diff] = await eventually('the contents', async () => {
      const diffs = await window.diffs();
      return diffs[0].modified.length > 0 && diffs;
    });
    equal([diff.kind, diff.original, diff.modified], ['', ['odd'], ['changed']], 'the diff');
    check(diff.path.endsWith("/project/src/odd (name) + @'ü.txt"), `the path, found ${diff.path}`);
    await window.showChatAlone();
  },

  async 'Restore Checkpoint restores files and turns'({ window: { chat }, project }) {
    await chat.begin('Demo Agent');
    await chat.ask('say turn-one', 'turn-one');
    for (const edit of ['edit hello.txt edited', 'edit created.txt created']) {
      await chat.send(edit);
      await chat.approvalText();
      await chat.answer('Allow');
      await chat.says('The edit is done.');
      await chat.isIdle();
    }
    await chat.restoreCheckpoint('edit hello.txt');
    await eventually('the edited file is as before', () => project.read('hello.txt') === 'hello\n');
    await eventually('the created file is gone', () => !project.has('created.txt'));
    equal(await chat.requests.count(), 1, 'messages that are shown');
    await chat.ask('say turn-two', 'turn-two');
    equal(await chat.requests.count(), 2, 'messages that are shown');
    equal(project.read('hello.txt'), 'hello\n', 'the file after the next turn');
  },

  async 'Restore Checkpoint restores what a command changed'({ window: { chat }, project }) {
    await chat.begin('Demo Agent');
    await chat.ask('say turn-one', 'turn-one');
    await chat.send('run touch made.txt; echo more >> hello.txt; rm doomed.txt');
    await chat.approvalText();
    await chat.answer('Allow');
    await chat.says('The command ended with 0.');
    await chat.isIdle();
    await chat.restoreCheckpoint('run touch made');
    await eventually('all files are as before', () => project.git('status', '--porcelain') === '');
  },

  async 'a restored checkpoint can be taken back'({ window: { chat }, project }) {
    await chat.begin('Demo Agent');
    await chat.ask('say turn-one', 'turn-one');
    await chat.send('edit hello.txt edited');
    await chat.approvalText();
    await chat.answer('Allow');
    await chat.says('The edit is done.');
    await chat.isIdle();
    await chat.restoreCheckpoint('edit hello.txt');
    await eventually('the file is as before', () => project.read('hello.txt') === 'hello\n');
    await chat.root.locator('.checkpoint-restore-container:visible a.action-label').filter({ hasText: 'Redo' }).first().click();
    await eventually('the file is edited again', () => project.read('hello.txt') === 'hello\nedited\n');
    await eventually('the message is back', async () => (await chat.requests.count()) === 2);
  },

  async 'Start Over begins the session anew'({ window: { chat } }) {
    await chat.begin('Demo Agent');
    await chat.ask('say forgotten', 'forgotten');
    await chat.requests.first().hover();
    await chat.requests.first().locator('.chat-restore-checkpoint-item .action-label').first().click();
    await eventually('no messages', async () => (await chat.requests.count()) === 0);
    await chat.ask('say anew', 'anew');
    equal(await chat.requests.count(), 1, 'messages that are shown');
  },
};
