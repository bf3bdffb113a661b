// Settings that approve for the person.
import { equal, eventually, remains } from '../lib/expect.mjs';

export default {
  async 'approvals can be chosen, and only those that the host can do'({ window: { chat } }) {
    await chat.begin('Demo Agent');
    const labels = await chat.pickerLabels('autoApprove');
    equal(labels.filter(label => !label.startsWith('Learn more')), ['Ask first', 'Allow all'], 'approvals');
  },

  async 'everything is approved when that is chosen'({ window: { chat }, project }) {
    await chat.begin('Demo Agent');
    await chat.approveEverything();
    await chat.ask('run touch auto-approved.txt', 'The command ended with 0.');
    await chat.ask('edit hello.txt auto', 'The edit is done.');
    equal([project.has('auto-approved.txt'), project.read('hello.txt')], [true, 'hello\nauto\n'], 'the files');
  },

  async 'everything is approved in a running session when that is chosen'({ window: { chat }, project }) {
    await chat.begin('Shell');
    await chat.send('touch asked.txt');
    await chat.approvalText();
    await chat.answer('Allow');
    await chat.isIdle();
    await chat.approveEverything();
    await chat.send('touch not-asked.txt');
    await eventually('the second command runs', () => project.has('not-asked.txt'));
    await chat.isIdle();
  },

  async 'another session still asks'({ window: { chat }, project }) {
    await chat.begin('Demo Agent');
    await chat.approveEverything();
    await chat.ask('run touch first.txt', 'The command ended with 0.');
    await chat.begin('Demo Agent');
    await chat.pick('autoApprove', 'Ask first');
    await chat.send('run touch second.txt');
    await chat.approvalText();
    await remains('nothing is done without an answer', () => !project.has('second.txt'), 500);
    await chat.deny();
    await chat.says('The command was rejected.');
  },
};
