// The input: completions, attachments, drafts, queue, steering.
import fs from 'node:fs';
import { equal, eventually, includes } from '../lib/expect.mjs';

/** A PNG of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export default {
  async 'files are completed after @, and attached'({ window: { chat } }) {
    await chat.begin('Demo Agent');
    await chat.type('prompt ;; say with @hell');
    await chat.completes('hello.txt');
    await chat.accept('hello.txt');
    await chat.submit();
    await chat.says('hello.txt');
  },

  async 'commands of the agent are completed after /, and run'({ window: { chat } }) {
    await chat.begin('Demo Agent');
    await chat.ask('say warm-up', 'warm-up');
    await chat.type('/rev');
    await chat.completes('/review');
    await chat.accept('/review');
    await chat.type(' all of it');
    await chat.submit();
    await chat.says('You said: /review all of it');
  },

  async 'skills of the project are completed after /'({ window: { chat } }) {
    await chat.begin('Demo Agent');
    await chat.ask('say warm-up', 'warm-up');
    await chat.type('/rel');
    await chat.completes('/release');
    await chat.fill('');
  },

  async 'a file is attached by Add Context'({ window: { chat } }) {
    await chat.begin('Demo Agent');
    await chat.attachFile('hello.txt');
    await eventually('the attachment above the input', async () => (await chat.attachments.filter({ hasText: 'hello.txt' }).count()) === 1);
    await chat.send('prompt');
    await eventually('a link to the file, or its content', async () => /(link|resource)\(\S*\/project\/hello\.txt/.test(await chat.responseText()));
  },

  async 'a pasted image reaches the agent'({ window: { chat }, window }) {
    await chat.begin('Demo Agent');
    await chat.ask('say warm-up', 'warm-up');
    await chat.editor.click();
    await window.pasteImage(PIXEL);
    await eventually('the image above the input', async () => (await chat.attachments.count()) === 1);
    await chat.send('prompt');
    await chat.says('image(image/');
  },

  async 'a draft is kept over a reload'({ window, host, project }) {
    const { chat, sessions } = window;
    // VS Code tells of drafts in sessions that it has opened from the list.
    const made = await host.command(['run', '--yes', '--agent', 'demo', '--cwd', project.folder, 'say has-a-draft']);
    equal(made.code, 0, 'exit code of agenthost run');
    await sessions.open('say has-a-draft');
    const mark = host.mark();
    await chat.fill('this is not sent yet');
    await eventually('the draft is told to the host', () => host.dispatched('chat/draftChanged', mark).some(({ action }) => action.draft?.text === 'this is not sent yet'));
    await window.reload();
    await chat.isConnected('Demo Agent');
    await sessions.open('say has-a-draft');
    await eventually('the draft is back', async () => (await chat.inputText()) === 'this is not sent yet');
    await chat.fill('');
  },

  async 'a message is queued, and sent when the turn is over'({ window: { chat }, project }) {
    await chat.begin('Demo Agent');
    await chat.send('wait go ;; say first-answer');
    await chat.queue('say second-answer');
    await eventually('the message waits', async () => (await chat.root.innerText()).toLowerCase().includes('queued'));
    project.write('go', '');
    await eventually('both are answered', async () => (await chat.responses.count()) === 2 && (await chat.responseText()).includes('second-answer'));
    includes(await chat.responseText(0), 'first-answer', 'the first answer');
    equal(await chat.requests.count(), 2, 'messages');
  },

  async 'a queued message is taken back'({ window: { chat }, project }) {
    await chat.begin('Demo Agent');
    await chat.send('wait go ;; say only-answer');
    await chat.queue('say unwanted-answer');
    const waiting = chat.requests.filter({ hasText: 'unwanted-answer' });
    await waiting.hover();
    await waiting.locator('[aria-label^="Remove from Queue"]').click();
    await eventually('it waits no more', async () => (await waiting.count()) === 0);
    project.write('go', '');
    await chat.says('only-answer');
    await chat.isIdle();
    equal(await chat.requests.count(), 1, 'messages');
  },

  async 'a steering message reaches the running turn or the next one, once'({ window: { chat }, host, project }) {
    await chat.begin('Demo Agent');
    await chat.send('wait go ;; say steered-turn');
    const mark = host.mark();
    await chat.steer('say steering-answer');
    await eventually('the host has the message', () => host.dispatched('chat/pendingMessageSet', mark).some(({ action }) => action.kind === 'steering'));
    project.write('go', '');
    await eventually('it is answered', async () => (await chat.responseText()).includes('steering-answer'));
    await chat.isIdle();
    equal(await chat.requests.filter({ hasText: 'say steering-answer' }).count(), 1, 'steering messages');
  },

  async 'a command with ! runs in a session of any agent'({ window: { chat }, project }) {
    await chat.begin('Demo Agent');
    await chat.ask('say warm-up', 'warm-up');
    await chat.send('!printf by-prefix > prefix.txt');
    await eventually('the command ran', () => fs.existsSync(project.path('prefix.txt')) && project.read('prefix.txt') === 'by-prefix');
    await chat.isIdle();
  },
};
