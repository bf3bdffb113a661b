// The keyboard stays where it is: whatever disappears under it, the focus is never lost to the document.

const main = (page) => page.getByRole("main");

/** The name of what has the focus; `BODY` if it is lost. */
const focused = (page) =>
  page.evaluate(() => {
    const element = document.activeElement;
    return element === null || element === document.body ? "BODY" : element.ariaLabel || element.getAttribute("data-session") || element.innerText?.trim() || element.tagName;
  });

async function isKept(page, assert, what) {
  // The browser takes the focus away with its next frame.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  assert.notEqual(await focused(page), "BODY", what);
}

/** Presses a button with the keyboard. */
async function press(button) {
  await button.focus();
  await button.press("Enter");
}

export const steps = {
  async "the focus is never lost in a chat, the queue and the inbox"({ page, newSession, assert }) {
    await newSession(page, "true focus-one");
    const allow = main(page).getByRole("button", { name: "Allow once" }).first();
    await press(allow);
    await allow.waitFor({ state: "detached" });
    await isKept(page, assert, "after an answer in the timeline");
    await newSession(page, "sleep 1000");
    const card = page.locator(".inbox-pane li").filter({ hasText: "sleep 1000" });
    await press(card.getByRole("button", { name: "Allow once" }));
    await card.waitFor({ state: "detached" });
    await isKept(page, assert, "after an answer in the inbox");
    const box = main(page).getByRole("textbox", { name: "Message" }).last();
    for (const text of ["echo queue-one", "echo queue-two"]) {
      await box.fill(text);
      await box.press("Enter");
      await isKept(page, assert, "after sending");
    }
    const queue = main(page).getByRole("region", { name: "Queue" });
    await queue.getByText("queue-two").waitFor();
    await press(queue.getByRole("button", { name: "Edit", exact: true }).first());
    await queue.getByRole("textbox").press("Enter");
    await queue.getByRole("textbox").waitFor({ state: "detached" });
    await isKept(page, assert, "after editing a queued message");
    await press(queue.getByRole("button", { name: "Edit", exact: true }).first());
    await queue.getByRole("textbox").press("Escape");
    await isKept(page, assert, "after leaving the edit");
    for (const left of [1, 0]) {
      await press(queue.getByRole("button", { name: "Remove" }).first());
      if (left > 0) await queue.getByText("queue-one").waitFor({ state: "detached" });
      else await queue.waitFor({ state: "detached" });
      await isKept(page, assert, "after removing a queued message");
    }
    const stop = main(page).getByRole("button", { name: "Stop", exact: true });
    await press(stop);
    await stop.waitFor({ state: "detached" });
    await isKept(page, assert, "after stopping");
  },

  async "the focus is never lost in the session list and its dialogs"({ page, newSession, assert }) {
    for (const name of ["true focus-two", "true focus-three"]) {
      await newSession(page, name);
      await main(page).getByRole("button", { name: "Deny" }).first().click();
      await main(page).getByText("The command was not run.").waitFor();
    }
    const row = (name) => page.getByRole("listitem").filter({ has: page.locator("[data-session]", { hasText: name }) }).last();
    const menu = (name) => row(name).getByRole("button", { name: /^Actions/ });
    await menu("focus-three").focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await isKept(page, assert, "after closing the menu");
    await row("focus-three").locator("[data-session]").focus();
    await page.keyboard.press("F2");
    await page.keyboard.type("renamed-three");
    await page.keyboard.press("Enter");
    await row("renamed-three").waitFor();
    await isKept(page, assert, "after renaming");
    // A dialog that is left gives the focus back.
    await row("renamed-three").locator("[data-session]").focus();
    const before = await focused(page);
    await page.keyboard.press("Delete");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await isKept(page, assert, "after a dialog");
    assert.equal(await focused(page), before);
    await page.keyboard.press("Delete");
    await press(page.getByRole("dialog").getByRole("button", { name: "Delete" }));
    await row("renamed-three").waitFor({ state: "detached" });
    await isKept(page, assert, "after deleting a session");
    assert.ok(await page.evaluate(() => document.activeElement.closest(".session-pane") !== null), "the focus has left the list");
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog", { name: "Commands" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Commands" }).waitFor({ state: "detached" });
    await isKept(page, assert, "after the palette");
  },

  async "the focus is never lost in the panels"({ page, newSession, assert }) {
    await newSession(page, "echo text > focus.txt");
    await main(page).getByRole("button", { name: "Allow once" }).first().click();
    await main(page).getByText("Done", { exact: true }).first().waitFor();
    const panels = page.getByRole("navigation", { name: "Panels" });
    for (const name of ["Changes", "Files", "Terminals", "Customizations", "Usage", "Settings"]) {
      await press(panels.getByRole("button", { name }));
      await page.getByRole("complementary", { name }).waitFor();
      await isKept(page, assert, name);
    }
    await press(page.getByRole("complementary", { name: "Settings" }).getByRole("button", { name: "Hide panel" }));
    await isKept(page, assert, "after closing the panel");
    assert.equal(await focused(page), "Show panel");
    await page.keyboard.press("Enter");
    await press(panels.getByRole("button", { name: "Changes" }));
    await press(page.getByRole("complementary", { name: "Changes" }).getByRole("list").getByRole("button", { name: /focus\.txt/ }).first());
    await page.getByRole("region", { name: /^Diff of/ }).waitFor();
    await page.keyboard.press("Escape");
    await isKept(page, assert, "in the diff");
    // A file with unsaved text.
    await press(panels.getByRole("button", { name: "Files" }));
    const entry = page.getByRole("treeitem", { name: /focus\.txt/ });
    await entry.focus();
    await entry.press("Enter");
    await press(page.getByRole("button", { name: "Edit", exact: true }));
    const editor = page.getByRole("textbox", { name: /focus\.txt/ });
    await editor.waitFor();
    await editor.fill("other text\n");
    await press(page.getByRole("complementary", { name: "Files" }).getByRole("button", { name: "Back" }).first());
    const dialog = page.getByRole("dialog");
    await press(dialog.getByRole("button", { name: "Keep editing" }));
    await dialog.waitFor({ state: "detached" });
    await isKept(page, assert, "after Keep editing");
    assert.equal(await page.evaluate(() => document.activeElement.tagName), "TEXTAREA");
    await press(page.getByRole("complementary", { name: "Files" }).getByRole("button", { name: "Back" }).first());
    await press(dialog.getByRole("button", { name: "Discard" }));
    await editor.waitFor({ state: "detached" });
    await isKept(page, assert, "after discarding");
  },
};
