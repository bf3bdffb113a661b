// The timeline, the queue and the composer of a chat, on a desktop and a phone.

const main = (page) => page.getByRole("main");
const box = (page) => main(page).getByRole("textbox", { name: "Message" }).last();
const queue = (page) => main(page).getByRole("region", { name: "Queue" });

async function start(page, agent, text) {
  await page.getByRole("button", { name: "New session" }).first().click();
  await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption({ label: agent });
  await page.getByRole("textbox", { name: "Message" }).last().fill(text);
  await page.getByRole("button", { name: "Start session" }).click();
}

async function stop(page) {
  const button = main(page).getByRole("button", { name: "Stop", exact: true });
  await button.click();
  await button.waitFor({ state: "detached" });
}

const items = (page) => queue(page).getByRole("listitem").allInnerTexts().then((texts) => texts.map((text) => /item-\w+/.exec(text)?.[0]));

export const steps = {
  async "thoughts, plans, code and changes are shown as they arrive"({ page, phone, assert }) {
    await start(page, "Demo agent", "think deep-thought ;; plan ;; say ```js\nconst answer = 42;\n``` ;; edit shown.txt shown-line ;; fail the-last-error");
    await main(page).getByRole("button", { name: "Allow", exact: true }).first().click();
    await main(page).getByText("the-last-error", { exact: false }).first().waitFor();
    const device = await phone();
    await device.goto(page.url());
    for (const view of [page, device]) {
      await main(view).getByText("the-last-error", { exact: false }).first().waitFor();
      await main(view).locator("[data-row]").filter({ hasText: /Thought|Reasoning|deep-thought/ }).first().waitFor();
      assert.ok((await main(view).locator("code span[class]").count()) > 0, "the code is not highlighted");
      // The diff of an edit opens in its row.
      await main(view).getByRole("button", { name: /^Edit shown\.txt/ }).first().click();
      await main(view).getByRole("button", { name: /project\/shown\.txt/, expanded: false }).click();
      await main(view).getByRole("group", { name: /^Diff of .*shown\.txt$/ }).getByText("shown-line", { exact: true }).waitFor();
    }
    await device.context().close();
  },

  async "the timeline follows only at its end, and counts what is new"({ page, assert }) {
    await start(page, "Demo agent", `say ${"many words. ".repeat(300)} ;; slow 60`);
    await main(page).getByText("slow", { exact: false }).first().waitFor();
    await main(page).getByRole("button", { name: "Stop", exact: true }).waitFor();
    const viewport = page.locator(".viewport");
    await page.waitForFunction(() => document.querySelector(".viewport").scrollHeight > document.querySelector(".viewport").clientHeight + 300);
    await viewport.evaluate((element) => element.scrollTo(0, 0));
    await page.waitForFunction(() => document.querySelector(".viewport").scrollTop < 5);
    await page.getByRole("button", { name: /new|end/i }).first().waitFor();
    assert.ok((await viewport.evaluate((element) => element.scrollTop)) < 50, "it scrolls while the user reads");
    await main(page).getByRole("button", { name: /new$|new |Scroll|end/i }).last().click();
    await page.waitForFunction(() => {
      const { scrollTop, scrollHeight, clientHeight } = document.querySelector(".viewport");
      return scrollHeight - clientHeight - scrollTop < 60;
    });
    if ((await main(page).getByRole("button", { name: "Stop", exact: true }).count()) > 0) await stop(page);
  },

  async "messages in the queue are edited, dragged, sent to the turn and removed"({ page, phone, assert }) {
    await start(page, "Demo agent", "slow 600");
    await main(page).getByRole("button", { name: "Stop", exact: true }).waitFor();
    for (const name of ["item-a", "item-b", "item-c"]) {
      await box(page).fill(`say ${name}`);
      await page.getByRole("button", { name: "Queue", exact: true }).click();
      await queue(page).getByText(name).waitFor();
    }
    assert.deepEqual(await items(page), ["item-a", "item-b", "item-c"]);
    const row = (name) => queue(page).getByRole("listitem").filter({ hasText: name });
    await row("item-c").dragTo(row("item-a"));
    await page.waitForFunction(() => /item-c/.test(document.querySelector("section[aria-label=Queue] li")?.innerText ?? ""));
    assert.deepEqual(await items(page), ["item-c", "item-a", "item-b"]);
    await row("item-c").getByRole("button", { name: "Move down" }).or(row("item-c").getByRole("button", { name: /down/i })).first().click();
    await page.waitForFunction(() => /item-a/.test(document.querySelector("section[aria-label=Queue] li")?.innerText ?? ""));
    await row("item-a").getByRole("button", { name: "Edit", exact: true }).click();
    await queue(page).getByRole("textbox").fill("say item-edited");
    await queue(page).getByRole("textbox").press("Enter");
    await queue(page).getByText("item-edited").waitFor();
    // The phone has the same actions in a menu.
    const device = await phone();
    await device.goto(page.url());
    await queue(device).getByText("item-edited").waitFor();
    assert.deepEqual(await items(device), ["item-edited", "item-c", "item-b"]);
    await queue(device).getByRole("listitem").filter({ hasText: "item-b" }).getByRole("button", { name: /^Actions/ }).tap();
    await device.getByRole("menuitem", { name: /Remove/ }).tap();
    await queue(page).getByText("item-b").waitFor({ state: "detached" });
    await row("item-c").getByRole("button", { name: /steer|turn/i }).first().click();
    await main(page).getByText("item-c").first().waitFor();
    await page.waitForFunction(() => ![...document.querySelectorAll("section[aria-label=Queue] li")].some((each) => each.innerText.includes("item-c") && each.querySelector("[draggable=true]")));
    await device.context().close();
    await row("item-edited").getByRole("button", { name: "Remove" }).first().click();
    await stop(page);
  },

  async "files and commands are completed"({ page, phone, assert }) {
    await start(page, "Demo agent", "say ready");
    await main(page).getByText("ready", { exact: true }).first().waitFor();
    const device = await phone();
    await device.goto(page.url());
    for (const view of [page, device]) {
      // With completions, the box is a combobox.
      const field = main(view).locator("textarea[data-composer]");
      await field.click();
      await field.pressSequentially("read @a.t");
      await view.getByRole("option", { name: /a\.txt/ }).first().waitFor();
      await field.press("Tab");
      assert.match(await field.inputValue(), /a\.txt/);
      await field.fill("");
      await view.waitForFunction(() => document.querySelector("textarea[data-composer]").value === "");
    }
    await device.context().close();
  },

  async "a diff is shown in one column and in two"({ page, newSession }) {
    await newSession(page, "printf 'left\\nright\\n' > columns.txt");
    await main(page).getByRole("button", { name: "Allow once" }).first().click();
    await main(page).getByText("Done", { exact: true }).first().waitFor();
    const panel = page.getByRole("complementary", { name: "Changes" });
    await page.getByRole("navigation", { name: "Panels" }).getByRole("button", { name: "Changes" }).click();
    await panel.getByRole("list").getByRole("button", { name: "columns.txt" }).first().click();
    const diff = panel.getByRole("region", { name: /^Diff of/ });
    await diff.getByText("left", { exact: true }).waitFor();
    await panel.getByRole("button", { name: "Split" }).click();
    await panel.locator(".pair").first().waitFor();
    await panel.getByRole("button", { name: "Unified" }).click();
    await panel.locator(".pair").first().waitFor({ state: "detached" });
  },

  async "a side chat runs beside the chat"({ page, phone, assert }) {
    await start(page, "Demo agent", "say main-chat-text");
    await main(page).getByText("main-chat-text", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: "Chat actions" }).click();
    await page.getByRole("menuitem", { name: "Side chat" }).click();
    const tabs = page.getByRole("tablist", { name: "Chats" });
    await tabs.getByRole("tab").nth(1).waitFor();
    await page.waitForFunction(() => document.querySelectorAll("[role=tab]")[1]?.getAttribute("aria-selected") === "true");
    await box(page).fill("say side-chat-text");
    await box(page).press("Enter");
    await main(page).getByText("side-chat-text", { exact: true }).first().waitFor();
    const device = await phone();
    await device.goto(page.url());
    await main(device).getByRole("tab").nth(1).tap();
    await main(device).getByText("side-chat-text", { exact: true }).first().waitFor();
    await device.context().close();
    await tabs.getByRole("tab").first().click();
    await main(page).getByText("main-chat-text", { exact: true }).first().waitFor();
    assert.equal(await main(page).getByText("side-chat-text", { exact: true }).count(), 0);
  },
};
