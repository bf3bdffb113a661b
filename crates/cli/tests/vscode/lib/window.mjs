// One page with VS Code in it: opening, commands, menus, editors.
import { eventually } from './expect.mjs';
import { Chat } from './chat.mjs';
import { Customizations } from './customizations.mjs';
import { SessionList } from './sessions.mjs';

const WORKBENCH_TIMEOUT_MS = 30_000;

export class Window {
  constructor(page, url) {
    this.page = page;
    this.url = url;
    this.chat = new Chat(this);
    this.sessions = new SessionList(this);
    this.customizations = new Customizations(this);
  }

  async open() {
    await this.page.goto(this.url);
    await this.waitForWorkbench();
  }

  async reload() {
    await this.page.reload();
    await this.waitForWorkbench();
  }

  async waitForWorkbench() {
    await this.chat.editor.waitFor({ timeout: WORKBENCH_TIMEOUT_MS });
    await this.maximizeChat();
  }

  close() {
    return this.page.close();
  }

  /** Runs a command of the command palette by its label. */
  async command(label) {
    await this.page.keyboard.press('F1');
    const input = this.page.locator('.quick-input-widget input.input');
    await input.waitFor();
    await input.fill(`>${label}`);
    await this.quickPick.filter({ hasText: label }).first().click();
  }

  /** The rows of an open quick pick. */
  get quickPick() {
    return this.page.locator('.quick-input-widget:visible .quick-input-list .monaco-list-row');
  }

  /** Types into an open quick input and accepts it. */
  async quickInput(text) {
    const input = this.page.locator('.quick-input-widget input.input');
    await input.waitFor();
    await input.fill(text);
    await this.page.keyboard.press('Enter');
  }

  /** Opens the context menu of an element and picks an entry. */
  async contextMenu(element, label) {
    await element.click({ button: 'right' });
    await this.pickMenuItem(label);
  }

  /** Picks an entry of the open menu. A menu ignores clicks while it opens. */
  async pickMenuItem(label) {
    await this.menuItem(label).waitFor();
    await eventually(`the menu item ${label} is taken`, async () => {
      if ((await this.page.locator('.monaco-menu').count()) === 0) return true;
      await this.menuItem(label).hover({ timeout: 500 });
      await this.menuItem(label).click({ timeout: 500 });
      return false;
    });
  }

  menuItem(label) {
    return this.page.locator('.monaco-menu .action-item:not(.disabled) .action-label').filter({ hasText: label }).first();
  }

  menuLabels() {
    return this.page.locator('.monaco-menu .action-label').allInnerTexts();
  }

  /** Confirms a modal dialog by a button. */
  async dialog(button) {
    const found = this.page.locator('.monaco-dialog-box .monaco-button').filter({ hasText: button }).first();
    await found.waitFor();
    await found.click();
  }

  /** The entries of an open drop-down of the chat input. */
  get widgetRows() {
    return this.page.locator('.action-widget .monaco-list-row.action');
  }

  /** Opens a drop-down by its button, and returns the labels of its entries. */
  openWidget(button) {
    return eventually('a drop-down opens', async () => {
      if (!(await this.widgetRows.first().isVisible())) {
        await button.click({ timeout: 1000 });
        await this.widgetRows.first().waitFor({ timeout: 1000 });
      }
      return (await this.widgetRows.allInnerTexts()).map(text => text.split('\n')[0].trim());
    });
  }

  /** Picks an entry of the open drop-down by its label. */
  async pickWidgetRow(label) {
    const row = this.widgetRows.filter({ hasText: label }).first();
    await eventually(`the entry ${label} is taken`, async () => {
      if (!(await row.isVisible())) return true;
      await row.click({ timeout: 1000 });
      return false;
    });
  }

  async escape() {
    await this.page.keyboard.press('Escape');
  }

  /** The text of all editors that are open, without virtualized lines. */
  async editorText() {
    const lines = await this.page.locator('.editor-instance .view-line:visible, .multiDiffEntry .view-line:visible').allInnerTexts();
    return lines.map(line => line.replaceAll('\u00a0', ' ')).join('\n');
  }

  /** Replaces the text of the active editor, and saves it. */
  async rewriteEditor(change) {
    const text = await eventually('an editor with text', async () => (await this.editorText()).trim());
    await this.page.locator('.editor-instance .monaco-editor').first().click();
    await this.page.keyboard.press('Control+A');
    await this.page.keyboard.press('Delete');
    await this.page.keyboard.insertText(change(text));
    await this.page.keyboard.press('Control+S');
  }

  /** The files of the open multi-file diff editor. */
  async diffs() {
    const entries = this.page.locator('.multiDiffEntry');
    await entries.first().waitFor();
    return entries.evaluateAll(elements => elements.map(element => {
      const path = side => element.querySelector(`.header .title.${side} .monaco-icon-label`)?.getAttribute('aria-label') ?? '';
      const lines = side => [...element.querySelectorAll(`.editor.${side} .view-lines:not(.line-delete) .view-line`)].map(line => line.textContent.replaceAll('\u00a0', ' ')).filter(line => line);
      return {
        kind: element.querySelector('.header .status')?.textContent.trim() ?? '',
        path: path('modified'), originalPath: path('original'),
        original: lines('original'), modified: lines('modified'),
      };
    }));
  }

  /** Closes all editors, and makes the chat fill the window again. */
  async showChatAlone() {
    await this.page.keyboard.press('Escape');
    if (await this.page.locator('.tabs-container .tab').count()) await this.command('View: Close All Editors');
    await this.maximizeChat();
  }

  /** Makes the chat so wide that the list of sessions is beside it. */
  maximizeChat() {
    const maximize = this.page.locator('.auxiliarybar [aria-label^="Maximize"]').first();
    return eventually('the chat fills the window', async () => {
      if (await this.sessions.newButton.isVisible()) return true;
      if (await maximize.isVisible()) await maximize.click();
      return false;
    }, WORKBENCH_TIMEOUT_MS);
  }

  /** Opens a terminal of a profile in the panel. */
  async openTerminal(profile) {
    const restore = this.page.locator('.auxiliarybar [aria-label^="Restore"]').first();
    if (await restore.isVisible()) await restore.click();
    // The list of profiles may be incomplete while extensions are starting.
    await eventually(`the terminal profile ${profile}`, async () => {
      await this.command('Create New Terminal (With Profile)');
      const found = this.quickPick.filter({ hasText: profile }).first().click({ timeout: 2000 });
      return found.then(() => true, () => this.escape());
    }, WORKBENCH_TIMEOUT_MS);
    const terminal = this.page.locator('.panel .terminal-wrapper.active .xterm');
    await eventually('the terminal is shown', async () => {
      if (await terminal.isVisible()) return true;
      await this.page.keyboard.press('Control+Backquote');
      await terminal.waitFor({ timeout: 2000 });
      return true;
    });
    await terminal.click();
  }

  async terminalText() {
    const text = await this.page.locator('.panel .terminal-wrapper.active .xterm-rows').innerText();
    return text.replaceAll('\u00a0', ' ');
  }

  async closePanel() {
    const close = this.page.locator('.part.panel [aria-label^="Hide Panel"]').first();
    if (await close.isVisible()) await close.click();
  }

  /** The title above the chat. */
  async chatTitle() {
    return (await this.page.locator('.chat-view-title-container').first().innerText()).trim();
  }

  /** Pastes a PNG, given in base64, into the focused input. */
  async pasteImage(data) {
    await this.page.evaluate(async data => {
      const bytes = Uint8Array.from(atob(data), character => character.charCodeAt(0));
      await navigator.clipboard.write([new ClipboardItem({ 'image/png': new Blob([bytes], { type: 'image/png' }) })]);
    }, data);
    await this.page.keyboard.press('Control+V');
  }

  notifications() {
    return this.page.locator('.notification-toast .notification-list-item-message').allInnerTexts();
  }

  screenshot(file) {
    return this.page.screenshot({ path: file });
  }
}
