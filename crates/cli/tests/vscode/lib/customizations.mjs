// The editor of customizations: plugins, MCP servers, skills, instructions.
import { eventually } from './expect.mjs';

export class Customizations {
  constructor(window) {
    this.window = window;
    this.page = window.page;
    this.editor = this.page.locator('.ai-customization-management-editor').first();
  }

  async open() {
    await this.page.locator('.auxiliarybar [aria-label="Open Customizations"]').first().click();
    await this.page.locator('.section-list-item').first().waitFor();
  }

  /** Opens a section, such as `Skills`. */
  async section(name) {
    await this.page.locator('.section-list-item').filter({ hasText: name }).first().click();
  }

  /** Waits until the open section shows all of some texts. */
  shows(...texts) {
    return eventually(`the customizations show ${texts.join(', ')}`, async () => {
      const shown = await this.editor.innerText();
      return texts.every(text => shown.includes(text));
    });
  }

  /** Picks an entry of the menu of an MCP server. */
  async serverMenu(name, label) {
    const row = this.editor.locator('.mcp-server-item, .customization-inventory-item, .monaco-list-row').filter({ hasText: name }).first();
    await row.locator('.codicon-ellipsis, [aria-label^="More"]').first().click();
    await this.window.pickMenuItem(label);
  }

  async close() {
    await this.window.escape();
    await eventually('the customizations are closed', async () => {
      if ((await this.page.locator('.section-list-item').count()) === 0) return true;
      await this.window.escape();
      return false;
    });
  }
}
