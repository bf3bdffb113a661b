// The chat of a window: agent, input, messages, approvals, pickers.
import { eventually, includes } from './expect.mjs';

const TURN_TIMEOUT_MS = 15_000;

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
    await this.targetPicker.click();
    const labels = await this.window.widgetLabels();
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

  /** Begins a new session with an agent, named as VS Code shows it. */
  async begin(agent) {
    await this.page.locator('.agent-sessions-new-button-container .monaco-button').click();
    await this.choose(agent);
    await eventually('a new session is empty', async () => (await this.requests.count()) === 0);
  }

  async choose(agent) {
    await this.targetPicker.waitFor();
    await eventually(`${agent} can be chosen`, async () => {
      if ((await this.targetPicker.innerText()).trim() === agent) return true;
      await this.targetPicker.click();
      const row = this.window.widgetRows.filter({ hasText: agent }).first();
      if (await row.isVisible()) await row.click();
      else await this.window.escape();
      return false;
    });
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
    await eventually(`the message is shown: ${text}`, async () => (await this.requests.count()) > before || (await this.requestText()).includes(text.slice(0, 20)));
  }

  async requestText(index = -1) {
    return (await this.requests.nth(index).locator('.value').innerText()).trim();
  }

  /** The text of a response, the last one unless said otherwise, with parts that are folded up. */
  async responseText(index = -1) {
    const value = this.responses.nth(index).locator('.value');
    return (await value.evaluate(element => element.textContent)).replaceAll('\u00a0', ' ');
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
    await this.window.menuItem(label).click();
    await this.isAnswered();
  }

  /** Closes an approval: everything that is asked for is skipped. */
  async skip() {
    await this.inputPart.locator('.chat-tool-carousel-dismiss-button').click();
    await this.isAnswered();
  }

  isAnswered() {
    return eventually('the approval is answered', async () => (await this.confirmation.count()) === 0);
  }

  /** The picker of a session setting, such as `mode`. */
  picker(property) {
    return this.inputPart.locator(`[class~="agent-host-chat-input-picker-host-${property}"]`).locator('a.action-label:visible');
  }

  async pickerLabels(property) {
    await this.picker(property).click();
    const labels = await this.window.widgetLabels();
    await this.window.escape();
    return labels;
  }

  async pick(property, label) {
    await this.picker(property).click();
    await this.window.widgetRows.filter({ hasText: label }).first().click();
    await eventually(`${property} is ${label}`, async () => (await this.picker(property).innerText()).trim() === label);
  }

  /** The name of the model that is chosen. */
  async model() {
    return (await this.inputPart.locator('.model-picker-name').innerText()).trim();
  }

  /** The models that can be chosen, also those that are folded up. */
  async models() {
    await this.inputPart.locator('.model-picker-name').click();
    const others = this.window.page.locator('.action-widget .monaco-list-row').filter({ hasText: 'Other Models' });
    if (await others.count()) await others.click();
    const labels = await this.window.widgetLabels();
    await this.window.escape();
    return labels;
  }

  /** The rows of the completion list of the input. */
  get completions() {
    return this.page.locator('.suggest-widget.visible .monaco-list-row');
  }

  async completionLabels() {
    await this.completions.first().waitFor();
    return (await this.completions.allInnerTexts()).map(text => text.split('\n')[0].trim());
  }
}
