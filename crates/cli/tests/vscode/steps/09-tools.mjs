// Terminals, customizations, tools of clients, MCP servers, forms.
import { equal, eventually } from '../lib/expect.mjs';

export default {
  async 'a terminal of the host is opened and used'({ window }) {
    await window.openTerminal('Agent Host');
    await window.page.keyboard.type('printf "%s\\n" term-$((40+2))');
    await window.page.keyboard.press('Enter');
    await eventually('the output in the terminal', async () => (await window.terminalText()).includes('term-42'));
    await window.page.keyboard.type('exit');
    await window.page.keyboard.press('Enter');
    await eventually('the terminal is closed', async () => (await window.page.locator('.terminal-wrapper.active').count()) === 0);
    await window.closePanel();
    await window.showChatAlone();
  },

  async 'customizations of the project and of the host are shown'({ window: { chat, customizations } }) {
    await chat.begin('Demo Agent');
    await chat.ask('say customized', 'customized');
    await customizations.open();
    await customizations.section('Plugins');
    await customizations.shows('kit');
    await customizations.section('Skills');
    await customizations.shows('release', 'greet');
    await customizations.section('Instructions');
    await customizations.shows('AGENTS', 'style');
    await customizations.section('Agents');
    await customizations.shows('reviewer');
    await customizations.close();
  },

  async 'commands of a plugin are skills'({ window: { chat }, host }) {
    await chat.begin('Demo Agent');
    await chat.ask('say with-skills', 'with-skills');
    // VS Code lists the files of a plugin itself, so only the wire shows it. The log has no content of
    // messages with the environment of a terminal.
    const plugins = host.wire().flatMap(({ message }) => message?.result?.snapshot?.state?.customizations ?? message?.params?.action?.customization ?? []);
    const deploy = plugins.flatMap(plugin => plugin.children ?? []).find(child => child.name === 'deploy');
    equal([deploy?.type, deploy?.disableModelInvocation], ['skill', true], 'the command of the plugin');
  },

  async 'MCP servers are shown with their states'({ window: { chat, customizations } }) {
    await chat.begin('Demo Agent');
    await chat.ask('tool add {"a":20,"b":22}', 'The sum is 42');
    await customizations.open();
    await customizations.section('MCP Servers');
    await eventually('adder runs', async () => /adder\s+Running/.test(await customizations.editor.innerText()));
    await eventually('broken has failed', async () => /broken\s+(Error|Failed)/.test(await customizations.editor.innerText()));
    await customizations.close();
  },

  async 'an MCP server is stopped and started'({ window: { chat, customizations }, window }) {
    await chat.begin('Demo Agent');
    await chat.ask('tool add {"a":1,"b":2}', 'The sum is 3');
    await customizations.open();
    await customizations.section('MCP Servers');
    await customizations.serverMenu('adder', 'Stop');
    await eventually('adder is stopped', async () => /adder\s+Stopped/.test(await customizations.editor.innerText()));
    await customizations.serverMenu('adder', 'Start');
    await eventually('adder runs', async () => /adder\s+Running/.test(await customizations.editor.innerText()));
    await customizations.close();
    await window.showChatAlone();
  },

  async 'a prompt of a plugin is sent by its command'({ window: { chat } }) {
    await chat.begin('Demo Agent');
    await chat.ask('say warm-up', 'warm-up');
    await chat.type('/depl');
    await chat.completes('/deploy');
    await chat.accept('/deploy');
    await chat.type(' everything');
    await chat.submit();
    await chat.says('everything');
  },

  async 'a custom agent is offered'({ window: { chat }, window }) {
    await chat.begin('Demo Agent');
    await chat.ask('say warm-up', 'warm-up');
    await eventually('reviewer among the agents', async () => {
      const labels = await window.openWidget(chat.inputPart.locator('.chat-mode-picker-item a.action-label'));
      await window.escape();
      return labels.includes('reviewer');
    });
  },

  async 'a tool of VS Code is called by the agent'({ window: { chat }, host }) {
    await chat.begin('Demo Agent');
    const mark = host.mark();
    await chat.ask('tool testFailure {}', 'Tool result: No test failures');
    equal(host.dispatched('chat/toolCallComplete', mark).length, 1, 'calls that VS Code carried out');
    equal((await chat.responseText()).split('Tool result').length - 1, 1, 'results');
  },

  async 'a form with every kind of question is answered'({ window: { chat } }) {
    await chat.begin('Demo Agent');
    await chat.send('form');
    await chat.answerQuestion('What is your name?', 'Ada');
    await chat.answerQuestion('How many files?', '3');
    await chat.answerQuestion('Which ratio?', '0.5');
    await chat.chooseAnswers('Are you sure?', 'True');
    await chat.chooseAnswers('Which colour?', 'Green');
    await chat.chooseAnswers('Which toppings?', 'Salt', 'Garlic');
    await chat.questions.locator('.chat-question-submit-button').click();
    await chat.says('Form: accept name="Ada", count=3, ratio=0.5, sure=true, colour="green", toppings=["salt","garlic"].');
    await chat.isIdle();
  },

  async 'a form is skipped'({ window: { chat } }) {
    await chat.begin('Demo Agent');
    await chat.send('form');
    await chat.questions.locator('.chat-question-close').click();
    await eventually('the agent hears of it', async () => /Form: (cancel|decline)/.test(await chat.responseText()));
    await chat.isIdle();
  },
};
