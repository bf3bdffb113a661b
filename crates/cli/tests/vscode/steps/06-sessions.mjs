// The list of sessions: of every client, renamed, archived, deleted, forked.
import { check, equal, eventually, remains } from '../lib/expect.mjs';

const ARCHIVED = 64;

export default {
  async 'a session of the command line is listed, opens, and is used from both sides'({ window: { chat, sessions }, host, project }) {
    const made = await host.command(['run', '--yes', '--cwd', project.folder, 'printf from-the-command-line']);
    equal([made.code, made.stdout.includes('from-the-command-line')], [0, true], `agenthost run (${made.stderr})`);
    await sessions.lists('printf from-the-command-line');
    await sessions.open('printf from-the-command-line');
    await chat.says('from-the-command-line');
    await chat.send('printf from-VS-Code > both.txt');
    await chat.approvalText();
    await chat.answer('Allow');
    await chat.isIdle();
    equal(project.read('both.txt'), 'from-VS-Code', 'the file');
    const { resource } = await host.session('printf from-the-command-line');
    const attached = await host.command(['attach', resource], { input: '' });
    check(attached.stdout.includes('from-VS-Code') || attached.stderr.includes('from-VS-Code'), `the message of VS Code in \`agenthost attach\`, found ${attached.stdout}${attached.stderr}`);
  },

  async 'a session of the command line with an ACP agent opens'({ window: { chat, sessions }, host, project }) {
    const made = await host.command(['run', '--yes', '--agent', 'demo', '--cwd', project.folder, 'say cli-with-demo']);
    equal(made.code, 0, `exit code of agenthost run (${made.stderr})`);
    await sessions.open('say cli-with-demo');
    await chat.says('cli-with-demo');
    await chat.ask('say and-on-it-goes', 'and-on-it-goes');
  },

  async 'a session of VS Code is seen and used by the command line'({ window: { chat }, host }) {
    await chat.begin('Demo Agent');
    await chat.ask('say made-in-vscode', 'made-in-vscode');
    const { resource } = await host.session('say made-in-vscode');
    const attached = await host.command(['attach', resource], { input: 'say typed-in-terminal\n' });
    check(attached.stdout.includes('made-in-vscode'), `what was said in VS Code, found ${attached.stdout}${attached.stderr}`);
    await eventually('the message of the command line in VS Code', async () => (await chat.requests.filter({ hasText: 'typed-in-terminal' }).count()) === 1);
    await chat.says('typed-in-terminal');
  },

  async 'choosing agents leaves no empty sessions'({ window: { chat, sessions }, host }) {
    const before = (await host.sessions()).length;
    for (const agent of ['Shell', 'Demo Agent', 'Shell', 'Demo Agent']) {
      await chat.begin(agent);
      await sessions.newButton.click();
      await chat.isEmpty();
    }
    await remains('no sessions but those with messages', async () => (await host.sessions()).length === before);
    equal((await sessions.titles()).filter(title => /^Session [0-9a-f]{8}/.test(title)), [], 'sessions without a title');
  },

  async 'a reload leaves no empty sessions'({ window, host }) {
    await window.chat.begin('Demo Agent');
    const before = (await host.sessions()).length;
    await window.reload();
    await window.chat.isConnected('Demo Agent');
    equal((await host.sessions()).length, before, 'sessions');
  },

  async 'a session is renamed'({ window: { chat, sessions }, window, host }) {
    await chat.begin('Demo Agent');
    await chat.ask('say to-be-renamed', 'to-be-renamed');
    await sessions.menu('say to-be-renamed', 'Rename');
    await window.quickInput('A better title');
    await sessions.lists('A better title');
    await host.session('A better title');
    await eventually('the title of the chat', async () => (await window.chatTitle()).includes('A better title'));
  },

  async 'a session is archived and brought back'({ window: { chat, sessions }, host }) {
    await chat.begin('Demo Agent');
    await chat.ask('say to-be-archived', 'to-be-archived');
    await sessions.menu('say to-be-archived', 'Mark as Done');
    await sessions.lists('say to-be-archived', 0);
    await eventually('the host has it archived', async () => ((await host.session('to-be-archived')).status & ARCHIVED) !== 0);
    await sessions.showArchived();
    await sessions.menu('say to-be-archived', /Unarchive|Unmark as Done|Mark as Not Done|Restore/);
    await sessions.lists('say to-be-archived');
    await eventually('the host has it back', async () => ((await host.session('to-be-archived')).status & ARCHIVED) === 0);
    await sessions.open('say to-be-archived');
    await chat.ask('say back-again', 'back-again');
  },

  async 'a session is deleted'({ window: { chat, sessions }, window, host }) {
    await chat.begin('Demo Agent');
    await chat.ask('say to-be-deleted', 'to-be-deleted');
    await sessions.menu('say to-be-deleted', 'Delete');
    await window.dialog('Delete');
    await sessions.lists('say to-be-deleted', 0);
    await eventually('the host has it no more', async () => !(await host.sessions()).some(session => session.title.includes('to-be-deleted')));
    await window.reload();
    await chat.isConnected('Demo Agent');
    await sessions.lists('say to-be-deleted', 0);
  },

  async 'a session is forked, and both chats go on'({ window: { chat, sessions } }) {
    await chat.begin('Demo Agent');
    for (const word of ['one', 'two', 'three']) await chat.ask(`say fork-${word}`, `fork-${word}`);
    await chat.fork('say fork-two');
    await eventually('the fork has the turns before', async () => (await chat.requests.count()) === 1 && (await chat.requestText()).includes('fork-one'));
    await chat.ask('say in-the-fork', 'in-the-fork');
    await chat.begin('Shell');
    await sessions.open('say fork-one');
    await eventually('the first chat has its turns', async () => (await chat.requests.count()) === 3);
    check(!(await chat.root.innerText()).includes('in-the-fork'), 'the first chat has nothing of the fork');
    await chat.ask('say in-the-original', 'in-the-original');
  },

  async 'an unread session is marked, and read when it is opened'({ window: { chat, sessions }, host, project }) {
    const made = await host.command(['run', '--yes', '--agent', 'demo', '--cwd', project.folder, 'say unread-words']);
    equal(made.code, 0, 'exit code of agenthost run');
    await chat.begin('Demo Agent');
    await sessions.lists('say unread-words');
    await eventually('it is marked as unread', async () => (await sessions.row('say unread-words').locator('.codicon-circle-filled').count()) === 1);
    await sessions.open('say unread-words');
    await eventually('it is marked as read', async () => (await sessions.row('say unread-words').locator('.codicon-circle-filled').count()) === 0);
    const mark = host.mark();
    await remains('nothing is marked again and again', () => host.dispatched('session/isReadChanged', mark).length < 2);
  },
};
