// Connecting, the agents that are offered, the first message.
import { equal, eventually } from '../lib/expect.mjs';

export default {
  async 'VS Code connects'({ host }) {
    await eventually('an `initialize` of VS Code', () => host.wire(entry => entry.method === 'initialize' && entry.direction === 'in').length > 0);
    await eventually('`listSessions` of VS Code', () => host.wire(entry => entry.method === 'listSessions').length > 0);
  },

  async 'nothing is refused at connect'({ host }) {
    const refused = host.refusals().map(entry => entry.message.params?.rejectionReason ?? entry.message.error.message);
    equal(refused, [], 'refusals');
  },

  async 'all agents are offered before they ever ran'({ window }) {
    await window.chat.offers('Shell', 'Demo Agent');
  },

  async 'the first message to the shell is sent at once'({ window }) {
    await window.chat.begin('Shell');
    await window.chat.send('printf first-to-shell');
    await window.chat.approvalText();
    await window.chat.answer('Allow');
    await window.chat.isIdle();
    await window.sessions.lists('printf first-to-shell');
  },

  async 'the first message to an ACP agent is sent at once'({ window }) {
    await window.chat.begin('Demo Agent');
    await window.chat.ask('say first-to-demo', 'first-to-demo');
    await window.sessions.lists('say first-to-demo');
  },

  async 'agents are offered after a restart of the host'({ window, host }) {
    await host.restart();
    await window.reload();
    await window.chat.isConnected('Demo Agent');
    await window.chat.begin('Demo Agent');
    await window.chat.offers('Shell', 'Demo Agent');
    await window.chat.ask('say after-restart', 'after-restart');
  },

  async 'a page that stays open uses a restarted host'({ window, host }) {
    await window.chat.begin('Demo Agent');
    await window.chat.ask('say before-restart', 'before-restart');
    await host.restart();
    await window.chat.ask('say still-here', 'still-here');
    await window.sessions.lists('say before-restart');
  },
};
