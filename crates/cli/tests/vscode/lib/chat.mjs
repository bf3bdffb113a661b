// The chat of a window: agent, input, messages, approvals, pickers.
import { eventually, includes } from './expect.mjs';

const TURN_TIMEOUT_MS = 15_000;
const CONNECT_TIMEOUT_MS = 20_000;

export class Chat {
  constructor(window) {
    this.window = window;
    this.page = window.page;
    this.root = this.page.locator('.interactive-session').first();
    this.inputPart = this.root.locator('.interactive-input-part').first();
    this.editor = this.inputPart.locator('.interactive-input-editor .monaco-editor').first();
    this.requests = this.root.locator('.interactive-request');
    this.responses = this.root.locator('.interactive-response');
    this.confirmation = this.inputPart.locator('.chat-tool-confirmation-carousel-container .chat-tool-invocation-part:visible');
    this.questions = this.inputPart.locator('.chat-question-carousel-widget-container');
    this.attachments = this.inputPart.locator('.chat-attached-context-attachment');
    this.targetPicker = this.inputPart.locator('.chat-session-target-picker-item a.action-label');
    this.sendButton = this.inputPart.locator('.chat-submit-button:not(.disabled)');
    this.stopButton = this.inputPart.locator('.chat-execute-toolbar .codicon-stop-circle-compact, .chat-execute-toolbar [aria-label^="Cancel"], .chat-execute-toolbar [aria-label^="Stop"]');
  }

  /** The agents that can be chosen for a new session. */
  async agents() {
    const labels = await this.window.openWidget(this.targetPicker);
    await this.window.escape();
    return labels;
  }

  /** Waits until agents can be chosen. */
  offers(...names) {
    return eventually(`the agents ${names.join(', ')}`, async () => {
      const agents = await this.agents();
      return names.every(name => agents.includes(name));
    });
  }

  /** Waits after a reload until agents can be used: in a new session, or in one that was open before. */
  isConnected(agent) {
    return eventually(`${agent} can be used`, async () => (await this.requests.count()) > 0 || ((await this.targetPicker.isVisible()) && (await this.agents()).includes(agent)), CONNECT_TIMEOUT_MS);
  }

  /** Begins a new session with an agent, named as VS Code shows it. */
  async begin(agent) {
    await this.window.maximizeChat();
    await this.window.escape();
    await this.window.sessions.scrollToTop();
    if ((await this.requests.count()) > 0 || !(await this.targetPicker.isVisible())) {
      await this.window.sessions.newButton.click();
      await this.isEmpty();
    }
    await this.choose(agent);
    await this.isEmpty();
    if (await this.inputText()) await this.fill('');
  }

  isEmpty() {
    return eventually('a new session is shown', async () => (await this.requests.count()) === 0 && (await this.targetPicker.isVisible()));
  }

  async choose(agent) {
    await eventually(`${agent} can be chosen`, async () => {
      if ((await this.targetPicker.innerText()).trim() === agent) return true;
      const labels = await this.window.openWidget(this.targetPicker);
      if (labels.includes(agent)) await this.window.pickWidgetRow(agent);
      else await this.window.escape();
      return false;
    });
    // The view changes to the session of the agent a moment later.
    await eventually(`a session of ${agent} is shown`, async () => (await this.root.innerText()).includes('Delegate to @agent-host-'));
  }

  /** Replaces the text of the input. */
  async fill(text) {
    await this.editor.click();
    await this.page.keyboard.press('Control+A');
    if (text) await this.page.keyboard.insertText(text);
    else await this.page.keyboard.press('Delete');
  }

  /** Types key by key, so that completions come up. */
  async type(text) {
    await this.editor.click();
    await this.page.keyboard.type(text, { delay: 20 });
  }

  async inputText() {
    const lines = await this.editor.locator('.view-line').allInnerTexts();
    return lines.join('\n').replaceAll('\u00a0', ' ').trim();
  }

  async submit() {
    await this.sendButton.waitFor();
    await this.page.keyboard.press('Enter');
  }

  /** Sends a message, and waits until it is shown. */
  async send(text) {
    const before = await this.requests.count();
    await this.fill(text);
    await this.submit();
    await eventually(`the message is shown: ${text}`, async () => (await this.requests.count()) > before);
  }

  async requestText(index = -1) {
    return (await this.requests.nth(index).locator('.value').innerText()).trim();
  }

  /** The text of a response, the last one unless said otherwise, with parts that are folded up. */
  async responseText(index = -1) {
    const value = this.responses.nth(index).locator('.value');
    const text = await value.evaluate(element => {
      const copy = element.cloneNode(true);
      for (const style of copy.querySelectorAll('style')) style.remove();
      return copy.textContent;
    });
    return text.replaceAll('\u00a0', ' ');
  }

  /** Waits until the last response contains a text. */
  async says(text, timeout = TURN_TIMEOUT_MS) {
    let last = '';
    try {
      await eventually(`the response says: ${text}`, async () => {
        last = await this.responseText();
        return last.includes(text);
      }, timeout);
    } catch {
      includes(last, text, 'the response');
    }
  }

  /** Waits until no turn runs. */
  async isIdle(timeout = TURN_TIMEOUT_MS) {
    await eventually('the turn ends', async () => (await this.root.locator('.chat-response-loading').count()) === 0 && !(await this.stopButton.first().isVisible()), timeout);
  }

  /** Sends a message, and waits until it is answered with a text. */
  async ask(text, answer) {
    await this.send(text);
    await this.says(answer);
    await this.isIdle();
  }

  stop() {
    return this.stopButton.first().click();
  }

  /** The text of the approval that is asked for. */
  async approvalText() {
    await this.confirmation.first().waitFor();
    return (await this.confirmation.first().innerText()).replaceAll('\u00a0', ' ');
  }

  /** Answers an approval by the label of a button. */
  async answer(label) {
    const button = this.confirmation.locator('.chat-buttons .monaco-button:not(.monaco-dropdown-button)').filter({ hasText: label }).first();
    await button.click();
    await this.isAnswered();
  }

  /** Answers an approval by an entry of the drop-down beside its first button. */
  async answerByMenu(label) {
    await this.confirmation.locator('.monaco-dropdown-button').first().click();
    await this.window.pickMenuItem(label);
    await this.isAnswered();
  }

  /** Denies an approval: by its own button, or, for edits, by closing it. */
  async deny() {
    const button = this.confirmation.locator('.chat-buttons .monaco-button.secondary:not(.monaco-dropdown-button)').first();
    if (await button.isVisible()) await button.click();
    else await this.inputPart.locator('.chat-tool-carousel-dismiss-button').click();
    await this.isAnswered();
  }

  /** Opens the diff of an edit that waits for approval. */
  showEdits() {
    return this.confirmation.locator('.codicon-diff-multiple').first().click();
  }

  isAnswered() {
    return eventually('the approval is answered', async () => (await this.confirmation.count()) === 0);
  }

  /** Waits until the output of a command is shown. */
  prints(text, timeout = TURN_TIMEOUT_MS) {
    return eventually(`the output ${text}`, async () => {
      const outputs = await this.responses.last().locator('.chat-terminal-output-container .xterm-rows, .chat-terminal-output-container, .interactive-result-code-block').evaluateAll(elements => elements.filter(element => element.checkVisibility()).map(element => element.textContent));
      return outputs.some(output => output.replaceAll('\u00a0', ' ').includes(text));
    }, timeout);
  }

  /** Unfolds everything of the last response. */
  async expandSteps() {
    const folded = this.responses.last().locator('summary[aria-expanded="false"]:visible, .chat-used-context-label a[aria-expanded="false"]:visible, .chat-terminal-action-bar [aria-label*="Show Output"]:visible, .chat-terminal-action-bar [aria-label*="Show Terminal Output"]:visible');
    // Parts may still be moving while a turn ends: what is gone needs no click.
    for (let count = 0; count < 10 && (await folded.count()) > 0; count++) await folded.first().click({ timeout: 1000 }).catch(() => {});
  }

  /** Opens the changes of the last turn. */
  async showTurnChanges(label) {
    await eventually(`${label} below the response`, async () => (await this.responses.last().innerText()).includes(label));
    await this.responses.last().locator('.chat-file-changes-counts').click();
  }

  /** Opens the changes of the session, by the pill above the input. */
  async showSessionChanges(label) {
    const pill = this.inputPart.locator('.chat-pills .action-item').filter({ hasText: label }).first();
    await pill.click();
  }

  /** Restores the checkpoint before a message. */
  async restoreCheckpoint(message) {
    const request = this.requests.filter({ hasText: message }).first();
    await request.hover();
    const button = request.locator('.chat-restore-checkpoint-item .action-label').first();
    await button.click();
    // With edits to discard, the button asks for a second click.
    if ((await button.isVisible()) && (await button.innerText()).includes('Discard')) await button.click();
    await eventually('the message is gone', async () => (await this.requests.filter({ hasText: message }).count()) === 0);
  }

  /** The picker of a session setting, such as `mode`. */
  picker(property) {
    return this.inputPart.locator(`[class~="agent-host-chat-input-picker-host-${property}"]`).locator('a.action-label:visible');
  }

  async pickerLabels(property) {
    const labels = await this.window.openWidget(this.picker(property));
    await this.window.escape();
    return labels;
  }

  async pick(property, label) {
    await this.window.openWidget(this.picker(property));
    await this.window.pickWidgetRow(label);
    await eventually(`${property} is ${label}`, async () => (await this.picker(property).innerText()).trim() === label);
  }

  /** The name of the model that is chosen. */
  async model() {
    return (await this.inputPart.locator('.model-picker-name').innerText()).trim();
  }

  /** The models that can be chosen, also those that are folded up. */
  async models() {
    await this.openModels();
    const labels = (await this.window.widgetRows.allInnerTexts()).map(text => text.split('\n')[0].trim());
    await this.window.escape();
    return labels;
  }

  async chooseModel(name) {
    await this.openModels();
    await this.window.pickWidgetRow(name);
    await eventually(`the model ${name} is chosen`, async () => (await this.model()) === name);
  }

  async openModels() {
    await this.window.openWidget(this.inputPart.locator('.model-picker-name'));
    const others = this.page.locator('.action-widget .monaco-list-row').filter({ hasText: 'Other Models' });
    if (await others.count()) await others.click();
  }

  /** The rows of the completion list of the input. */
  get completions() {
    return this.page.locator('.suggest-widget.visible .monaco-list-row');
  }

  /** Waits until something is offered as a completion. */
  completes(label) {
    return eventually(`the completion ${label}`, async () => (await this.completions.filter({ hasText: label }).count()) > 0);
  }

  /** Takes a completion. */
  async accept(label) {
    await this.completions.filter({ hasText: label }).first().click();
    await eventually('the completions are closed', async () => (await this.completions.count()) === 0);
  }

  /** Attaches a file of the project, by the picker. */
  async attachFile(name) {
    await this.inputPart.locator('[aria-label^="Add Context"]').first().click();
    await this.window.quickPick.first().waitFor();
    await this.page.keyboard.type(name);
    await this.window.quickPick.filter({ hasText: name }).first().click();
  }

  /** Sends a message while a turn runs: it waits until the turn is over. */
  queue(text) {
    return this.sendLater(text, 'Alt+Enter');
  }

  /** Sends a message while a turn runs: it steers the turn. */
  steer(text) {
    return this.sendLater(text, 'Enter');
  }

  async sendLater(text, key) {
    await this.stopButton.first().waitFor();
    await this.fill(text);
    await this.page.keyboard.press(key);
    await eventually(`the message waits: ${text}`, async () => (await this.requests.filter({ hasText: text }).count()) === 1);
  }

  /** Forks the chat before a message. */
  async fork(message) {
    const request = this.requests.filter({ hasText: message }).first();
    await request.hover();
    await request.locator('[aria-label^="Fork conversation"]').click();
  }

  /** Writes the answer to the question of a form that is shown now. */
  async answerQuestion(question, text) {
    await this.isAsked(question);
    await this.questions.locator('input').fill(text);
    await this.questions.locator('.chat-question-nav-next').click();
  }

  /** Chooses answers to the question of a form that is shown now. */
  async chooseAnswers(question, ...labels) {
    await this.isAsked(question);
    for (const label of labels) await this.questions.locator('.chat-question-list-item').filter({ hasText: label }).click();
  }

  isAsked(question) {
    return eventually(`the question ${question}`, async () => (await this.questions.innerText()).includes(question));
  }

  /** Chooses that everything is approved, and confirms that to VS Code. */
  async approveEverything() {
    await this.window.openWidget(this.picker('autoApprove'));
    await this.window.pickWidgetRow('Allow all');
    const confirm = this.page.locator('.monaco-dialog-box .monaco-button').filter({ hasText: 'Enable' }).first();
    await eventually('everything is approved', async () => {
      if (await confirm.isVisible()) await confirm.click();
      return (await this.picker('autoApprove').innerText()).trim() === 'Allow all';
    });
  }
}
