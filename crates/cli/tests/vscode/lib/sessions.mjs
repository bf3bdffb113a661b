// The list of sessions of a window.
import { eventually } from './expect.mjs';

export class SessionList {
  constructor(window) {
    this.window = window;
    this.page = window.page;
    this.viewer = this.page.locator('.agent-sessions-viewer').first();
    this.newButton = this.page.locator('.agent-sessions-new-button-container .monaco-button');
    this.rows = this.viewer.locator('.agent-session-item-row');
  }

  /** The row of the session whose title contains a text. */
  row(title) {
    return this.rows.filter({ has: this.page.locator('.agent-session-title', { hasText: title }) });
  }

  async titles() {
    return (await this.rows.locator('.agent-session-title').allInnerTexts()).map(title => title.trim());
  }

  /** The second line of a row: status, changes, time. */
  async details(title) {
    return (await this.row(title).first().locator('.agent-session-details-row').innerText()).replace(/\s+/g, ' ').trim();
  }

  /** Waits until exactly one session has a title that contains a text. */
  lists(title, count = 1) {
    return eventually(`the list has ${count} × "${title}"`, async () => (await this.row(title).count()) === count);
  }

  async open(title) {
    await this.lists(title);
    await this.row(title).first().click();
    await eventually(`the session "${title}" is open`, async () => (await this.window.chat.requests.count()) > 0);
  }

  menu(title, label) {
    return this.window.contextMenu(this.row(title).first(), label);
  }

  async menuLabels(title) {
    await this.row(title).first().click({ button: 'right' });
    await this.page.locator('.monaco-menu .action-label').first().waitFor();
    const labels = await this.window.menuLabels();
    await this.window.escape();
    return labels.filter(label => label);
  }

  /** Scrolls to the newest session: the list draws only what is in sight. */
  async scrollToTop() {
    const atTop = () => this.viewer.evaluate(viewer => {
      const [rows, first] = ['.monaco-list-rows', '.monaco-list-rows > .monaco-list-row[data-index="0"]'].map(selector => viewer.querySelector(selector));
      return !rows || rows.childElementCount === 0 || (first && first.getBoundingClientRect().top >= viewer.getBoundingClientRect().top - 1);
    });
    await eventually('the top of the list', async () => {
      if (await atTop()) return true;
      await this.viewer.hover();
      await this.page.mouse.wheel(0, -4000);
      return false;
    });
  }

  /** Unfolds the archived sessions, which are below all others. */
  async showArchived() {
    const section = this.viewer.locator('.monaco-list-row').filter({ hasText: /^Archived/ }).first();
    await this.viewer.hover();
    await eventually('the archived sessions', async () => {
      if (await section.isVisible()) return true;
      await this.page.mouse.wheel(0, 400);
      return false;
    });
    await section.click();
    await this.page.mouse.wheel(0, 400);
  }
}
