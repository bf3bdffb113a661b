// The draft that all devices share, where two of them write at once.

const box = (page) => page.getByRole("main").getByRole("textbox", { name: "Message" }).last();
const offer = (page) => page.getByRole("main").getByRole("status").filter({ hasText: /^(Draft of|Your text)/ });

/** Types like a person: each letter is an event. */
async function write(page, text) {
  await box(page).focus();
  await page.keyboard.type(text);
}

async function waitForDraft(page, text) {
  await page.waitForFunction((wanted) => document.querySelector("textarea[data-composer]")?.value === wanted, text);
}

async function openBoth({ browser, page, newSession, newDevice }) {
  await newSession(page, "true draft-session");
  await page.getByRole("heading", { level: 1, name: "true draft-session" }).waitFor();
  const button = page.getByRole("main").getByRole("button", { name: "Allow once" }).first();
  await button.click();
  await button.waitFor({ state: "detached" });
  const other = await newDevice(browser, { name: "tablet" });
  await other.goto(page.url());
  await box(other).waitFor();
  return other;
}

export const steps = {
  async "a draft is there on the other device, and grows with it"(tools) {
    const { page, assert } = tools;
    const other = await openBoth(tools);
    await write(page, "from the desk");
    await waitForDraft(other, "from the desk");
    await write(page, ", and more");
    await waitForDraft(other, "from the desk, and more");
    // The other device continues the text: nothing is lost, so the first one follows.
    await other.keyboard.press("End");
    await box(other).focus();
    await other.keyboard.press("Control+End");
    await other.keyboard.type(" of it");
    await waitForDraft(page, "from the desk, and more of it");
    assert.equal(await offer(page).count(), 0);
    await box(other).fill("");
    await other.context().close();
  },

  async "two devices that write at once lose no text"(tools) {
    const { page, assert } = tools;
    const other = await openBoth(tools);
    await Promise.all([write(page, "text of the desk"), write(other, "words of the tablet")]);
    // One of both texts is the shared one; the device with the other one is told.
    await Promise.any([offer(page).waitFor(), offer(other).waitFor()]);
    assert.equal(await box(page).inputValue(), "text of the desk");
    assert.equal(await box(other).inputValue(), "words of the tablet");
    const [told, calm] = (await offer(page).count()) > 0 ? [page, other] : [other, page];
    const [own, theirs] = [await box(told).inputValue(), await box(calm).inputValue()];
    await offer(told).getByText(theirs, { exact: true }).waitFor();
    await offer(told).getByText(/^Draft of (laptop|tablet):$/).waitFor();
    // More text on either side changes nothing about that.
    await write(calm, "!");
    await offer(told).getByText(`${theirs}!`, { exact: true }).waitFor();
    assert.equal(await box(told).inputValue(), own);
    // Not even a reload of the page loses the text that is not shared.
    await told.reload();
    await waitForDraft(told, own);
    await offer(told).getByText(`${theirs}!`, { exact: true }).waitFor();
    await offer(told).getByRole("button", { name: "Use it" }).click();
    assert.equal(await box(told).inputValue(), `${theirs}!`);
    await offer(told).getByText(own, { exact: true }).waitFor();
    await offer(told).getByRole("button", { name: "Use it" }).click();
    // Now its own text is shared, so the other device is told.
    await offer(calm).getByText(own, { exact: true }).waitFor();
    assert.equal(await box(calm).inputValue(), `${theirs}!`);
    await offer(calm).getByRole("button", { name: "Discard this text" }).click();
    await offer(told).getByText(`${theirs}!`, { exact: true }).waitFor();
    await offer(told).getByRole("button", { name: "Discard this text" }).click();
    await box(other).fill("");
    await box(page).fill("");
    await other.context().close();
  },

  async "a message that is sent leaves the draft of the other device"(tools) {
    const { page, assert } = tools;
    const other = await openBoth(tools);
    await write(page, "true kept-text");
    await waitForDraft(other, "true kept-text");
    await box(other).fill("true other-text");
    await offer(page).getByText("true other-text", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByRole("main").getByRole("article", { name: "You" }).filter({ hasText: "true kept-text" }).waitFor();
    await waitForDraft(page, "true other-text");
    assert.equal(await box(other).inputValue(), "true other-text");
    // A message that was sent there leaves this box empty, without an offer.
    await page.getByRole("main").getByRole("button", { name: "Deny" }).first().click();
    await other.getByRole("button", { name: "Send", exact: true }).click();
    await waitForDraft(page, "");
    assert.equal(await offer(page).count(), 0);
    await page.getByRole("main").getByRole("button", { name: "Deny" }).first().click();
    await other.context().close();
  },

  async "a text that another device cleared is offered back"(tools) {
    const { page, assert } = tools;
    const other = await openBoth(tools);
    await write(page, "cleared elsewhere");
    await waitForDraft(other, "cleared elsewhere");
    await box(other).fill("");
    await waitForDraft(page, "");
    await offer(page).getByText("cleared elsewhere", { exact: true }).waitFor();
    await offer(page).getByRole("button", { name: "Use it" }).click();
    await waitForDraft(other, "cleared elsewhere");
    assert.equal(await offer(page).count(), 0);
    await box(page).fill("");
    await waitForDraft(other, "");
    await other.context().close();
  },
};
