// Restarts, lost connections, reloads, several pages.
import { check, equal, eventually, sleep } from '../lib/expect.mjs';
import { GRACE_SECONDS } from '../lib/world.mjs';

const RECONNECT_TIMEOUT_MS = 40_000;

export default {
  async 'the page is reloaded in the middle of a turn'({ window, project }) {
    const { chat, sessions } = window;
    await chat.begin('Demo Agent');
    await chat.send('say before-reload ;; wait go ;; say after-reload');
    await chat.says('before-reload');
    await window.reload();
    await chat.isConnected('Demo Agent');
    await sessions.open('say before-reload');
    await chat.says('before-reload');
    project.write('go', '');
    await chat.says('after-reload');
    await chat.isIdle();
    equal(await chat.requests.count(), 1, 'messages');
    equal((await chat.responseText()).split('before-reload').length - 1, 1, 'times that it was said');
  },

  async 'an approval waits over a reload'({ window, project }) {
    const { chat, sessions } = window;
    await chat.begin('Demo Agent');
    await chat.send('run touch after-reload.txt');
    await chat.approvalText();
    await window.reload();
    await chat.isConnected('Demo Agent');
    await sessions.open('run touch after-reload.txt');
    await chat.approvalText();
    await chat.answer('Allow');
    await chat.says('The command ended with 0.');
    check(project.has('after-reload.txt'), 'the command has run');
  },

  async 'two pages show the same session live'({ window, newWindow }) {
    await window.chat.begin('Demo Agent');
    await window.chat.ask('say from-page-one', 'from-page-one');
    const second = await newWindow();
    try {
      await second.chat.offers('Demo Agent');
      await second.sessions.open('say from-page-one');
      await second.chat.says('from-page-one');
      await second.chat.ask('say from-page-two', 'from-page-two');
      await window.page.bringToFront();
      await eventually('the message of the second page', async () => (await window.chat.requests.filter({ hasText: 'from-page-two' }).count()) === 1);
      await window.chat.says('from-page-two');
      await window.chat.send('run touch two-pages.txt');
      await second.page.bringToFront();
      await second.chat.approvalText();
      await second.chat.answer('Allow');
      await second.chat.says('The command ended with 0.');
      await window.page.bringToFront();
      await window.chat.isAnswered();
      await window.chat.says('The command ended with 0.');
      equal(await window.chat.requests.count(), 3, 'messages on the first page');
      await window.sessions.menu('say from-page-one', 'Rename');
      await window.quickInput('Named on page one');
      await second.page.bringToFront();
      await second.sessions.lists('Named on page one');
    } finally {
      await second.close();
      await window.page.bringToFront();
    }
  },

  async 'the host is killed in a turn: VS Code is back by itself, nothing is doubled'({ window, host, project }) {
    const { chat, sessions } = window;
    await chat.begin('Demo Agent');
    await chat.ask('say killed-earlier', 'killed-earlier');
    await chat.send('say before-kill ;; wait go ;; say never-said');
    await chat.says('before-kill');
    await sessions.lists('say killed-earlier');
    const before = await sessions.titles();
    await host.kill();
    await host.start();
    await chat.isIdle(RECONNECT_TIMEOUT_MS);
    await eventually('the list says what is', async () => !(await sessions.details('say killed-earlier')).includes('Working'), RECONNECT_TIMEOUT_MS);
    equal((await sessions.titles()).sort(), before.sort(), 'sessions in the list');
    equal(await chat.requests.count(), 2, 'messages');
    project.write('go', '');
    await chat.ask('say after-kill', 'after-kill');
    equal(await chat.requests.count(), 3, 'messages');
    equal((await chat.responseText(0)).split('killed-earlier').length - 1, 1, 'times that the first answer is shown');
  },

  async 'a session that another client made while the host was away is listed'({ window, host, project }) {
    const { chat, sessions } = window;
    await chat.begin('Demo Agent');
    await chat.ask('say away', 'away');
    await host.stop();
    const made = await host.command(['run', '--temporary', '--yes', '--agent', 'demo', '--cwd', project.folder, 'say made-while-away']);
    equal(made.code, 0, `exit code of agenthost run (${made.stderr})`);
    await host.start();
    await eventually('the list has it', async () => (await sessions.row('say made-while-away').count()) === 1, RECONNECT_TIMEOUT_MS);
    await sessions.open('say made-while-away');
    await chat.ask('say all-there', 'all-there');
  },

  async 'the connection breaks in the middle of a turn'({ window: { chat }, network, project }) {
    await chat.begin('Demo Agent');
    await chat.send('say before-cut ;; wait go ;; say after-cut');
    await chat.says('before-cut');
    network.cut();
    project.write('go', '');
    await chat.says('after-cut', RECONNECT_TIMEOUT_MS);
    await chat.isIdle();
    equal((await chat.responseText()).split('before-cut').length - 1, 1, 'times that it was said');
    await chat.ask('say once-more', 'once-more');
    equal(await chat.requests.count(), 2, 'messages');
  },

  async 'a message that is sent while the network is silent arrives once'({ window: { chat }, network }) {
    await chat.begin('Demo Agent');
    await chat.ask('say before-silence', 'before-silence');
    network.hold();
    await chat.send('say sent-in-silence');
    network.cut();
    network.release();
    await chat.says('sent-in-silence', RECONNECT_TIMEOUT_MS);
    await chat.isIdle();
    equal(await chat.requests.count(), 2, 'messages');
    equal((await chat.responseText()).split('sent-in-silence').length - 1, 1, 'times that it was answered');
  },

  async 'a page that was away for longer than the grace period misses nothing'({ window: { chat }, host, network, project }) {
    await chat.begin('Demo Agent');
    await chat.send('say before-the-break ;; wait go ;; say after-the-break');
    await chat.says('before-the-break');
    const mark = host.mark();
    network.refuse();
    project.write('go', '');
    await sleep((GRACE_SECONDS + 1) * 1000);
    network.release();
    await chat.says('after-the-break', RECONNECT_TIMEOUT_MS);
    check(host.wire().slice(mark).some(entry => entry.direction === 'in' && entry.method === 'reconnect'), 'the page reconnected');
    check(!host.wire().slice(mark).some(entry => entry.direction === 'in' && entry.method === 'initialize'), 'the page did not begin anew');
    await chat.ask('say once-more', 'once-more');
    equal(await chat.requests.count(), 2, 'messages');
  },

  async 'a page that was away so long that the host forgot it is back by itself'({ window: { chat, sessions }, host, network, project }) {
    await chat.begin('Demo Agent');
    await chat.ask('say before-the-night', 'before-the-night');
    const mark = host.mark();
    network.refuse();
    const made = await host.command(['run', '--yes', '--agent', 'demo', '--cwd', project.folder, 'say made-at-night']);
    equal(made.code, 0, `exit code of agenthost run (${made.stderr})`);
    await sleep((GRACE_SECONDS + 1) * 1000);
    network.release();
    await eventually('the list has what happened', async () => (await sessions.row('say made-at-night').count()) === 1, RECONNECT_TIMEOUT_MS);
    check(host.wire().slice(mark).some(entry => entry.method === 'initialize' && entry.message.params.clientInfo?.name.startsWith('vscode')), 'the page began anew');
    await chat.ask('say after-the-night', 'after-the-night');
    equal(await chat.requests.count(), 2, 'messages');
  },
};
