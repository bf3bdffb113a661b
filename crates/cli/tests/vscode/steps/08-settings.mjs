// Models, modes, settings of sessions and of the host.
import { check, equal, eventually } from '../lib/expect.mjs';

export default {
  async 'models of the agent are offered, once'({ window: { chat } }) {
    await chat.begin('Demo Agent');
    await chat.ask('say models', 'models');
    await chat.begin('Shell');
    await chat.begin('Demo Agent');
    const models = await chat.models();
    equal(models.filter(name => name.includes('Demo Small')).length, 1, `Demo Small in ${models}`);
    equal(models.filter(name => name.includes('Demo Large')).length, 1, `Demo Large in ${models}`);
    equal(await chat.picker('model').count(), 0, 'a second picker for models');
  },

  async 'a model is chosen, and used'({ window: { chat } }) {
    await chat.begin('Demo Agent');
    await chat.chooseModel('Demo Large');
    await chat.ask('chosen', 'model=demo-large');
    await chat.chooseModel('Demo Small');
    await chat.ask('chosen', 'model=demo-small');
  },

  async 'a mode is chosen before the first message, and used'({ window: { chat } }) {
    await chat.begin('Demo Agent');
    await chat.pick('mode', 'Plan');
    await chat.ask('chosen', 'mode=plan');
  },

  async 'modes have the names of the agent, and are changed while a session goes on'({ window: { chat } }) {
    await chat.begin('Demo Agent');
    await chat.ask('chosen', 'mode=ask');
    await eventually('the mode is shown', async () => (await chat.picker('mode').innerText()).trim() === 'Ask');
    equal(await chat.pickerLabels('mode'), ['Ask', 'Code', 'Plan'], 'modes');
    await chat.pick('mode', 'Code');
    await chat.ask('chosen', 'mode=code');
  },

  async 'options of the agent are offered and used'({ window: { chat } }) {
    await chat.begin('Demo Agent');
    await chat.pick('effort', 'High');
    await chat.ask('chosen', 'effort=high');
  },

  async 'the shell offers no modes'({ window: { chat } }) {
    await chat.begin('Shell');
    equal(await chat.picker('mode').count(), 0, 'pickers of modes');
  },

  async 'session settings are shown and changed'({ window }) {
    const { chat, sessions } = window;
    await chat.begin('Demo Agent');
    await chat.ask('say session-settings', 'session-settings');
    await sessions.menu('say session-settings', 'Open Session Settings');
    await window.rewriteEditor(text => {
      check(/"mode":\s*"ask"/.test(text) && /"effort":\s*"low"/.test(text), `mode and effort in ${text}`);
      return text.replace(/"effort":\s*"low"/, '"effort": "high"');
    });
    await eventually('the setting is taken over', async () => (await chat.picker('effort').innerText()).trim() === 'High');
    await window.showChatAlone();
    await chat.ask('chosen', 'effort=high');
  },

  async 'host settings are shown and changed'({ window, host }) {
    const { chat, sessions } = window;
    await chat.begin('Demo Agent');
    await chat.ask('say host-settings', 'host-settings');
    const mark = host.mark();
    await sessions.menu('say host-settings', 'Open Host Settings');
    await window.rewriteEditor(text => {
      check(text.includes('clientToolTimeout'), `clientToolTimeout in ${text}`);
      return '{ "clientToolTimeout": 600 }';
    });
    await eventually('the host has it', () => host.wire().slice(mark).some(entry => entry.direction === 'out' && entry.action === 'root/configChanged' && entry.message.params.action.config.clientToolTimeout === 600 && !entry.message.params.rejectionReason));
    await window.showChatAlone();
    await sessions.menu('say host-settings', 'Open Host Settings');
    await eventually('the setting is shown again', async () => /"clientToolTimeout":\s*600/.test(await window.editorText()));
    await window.showChatAlone();
  },

  async 'a session works in a worktree'({ window: { chat }, host, project }) {
    await chat.begin('Demo Agent');
    const made = await host.command(['run', '--yes', '--worktree', '--agent', 'demo', '--cwd', project.folder, 'write in-worktree.txt x']);
    equal(made.code, 0, `exit code of agenthost run (${made.stderr})`);
    check(!project.has('in-worktree.txt'), 'the project is as it was');
    await chat.window.sessions.lists('write in-worktree.txt');
    await chat.window.sessions.open('write in-worktree.txt');
    await chat.says('Write in-worktree.txt: done.');
  },
};
