// Files: browsing, viewing, editing with conflicts, hostile names, large folders and files, uploads, refusals, a lost host.

import { AxeBuilder } from "@axe-core/playwright";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A picture of one red pixel. */
const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==", "base64");

function tree(page) {
  return page.getByRole("tree", { name: "Files" });
}

function entry(page, name) {
  return tree(page).getByRole("treeitem", { name, exact: true });
}

/** Shows the folder of a new session in the panel. */
async function openFiles(page, newSession) {
  await newSession(page, "true");
  await page.getByRole("button", { name: "Allow once" }).first().click();
  await showFiles(page);
}

async function showFiles(page) {
  if (await page.getByRole("button", { name: "Show panel" }).isVisible()) {
    await page.getByRole("button", { name: "Show panel" }).click();
  }
  await page.getByRole("button", { name: "Files", exact: true }).first().click();
  const first = tree(page).getByRole("treeitem", { name: "a.txt", exact: true });
  await first.or(page.getByRole("button", { name: "File actions" })).waitFor();
  // An earlier step has failed and left its file open.
  if (!(await first.isVisible())) {
    await back(page);
    if (await page.getByRole("dialog").isVisible()) await choose(page, "Discard changes");
  }
  await first.waitFor();
}

/** Shows the files of the newest session on a phone. */
async function openOnPhone(device) {
  await device.getByRole("button", { name: "Sessions", exact: true }).last().click();
  await device.locator("[data-session]").first().click();
  await device.getByRole("button", { name: "More", exact: true }).last().click();
  await device.getByRole("button", { name: "Files", exact: true }).click();
  await tree(device).getByRole("treeitem").first().waitFor();
}

function editor(page) {
  return page.getByRole("textbox", { name: /^Text of / });
}

async function openEditor(page, name) {
  await entry(page, name).click();
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await editor(page).waitFor();
}

function saveButton(page) {
  return page.getByRole("button", { name: "Save", exact: true }).first();
}

async function waitForSaved(page) {
  await page.waitForFunction(() => [...document.querySelectorAll("button")].some((each) => each.textContent.trim() === "Save" && each.disabled));
}

function choose(page, name) {
  return page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
}

function back(page) {
  return page.getByRole("button", { name: "Back" }).first().click();
}

function content(page, name) {
  return page.getByRole("region", { name: `Content of ${name}` });
}

/** Waits for a condition on this machine. */
async function until(page, condition) {
  for (let tries = 0; tries < 600 && !condition(); tries += 1) {
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
  }
  if (!condition()) throw new Error(`never true: ${condition}`);
}

async function checkAxe(page, assert) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`), []);
}

async function pickFiles(page, open, files) {
  const chooser = page.waitForEvent("filechooser");
  await open();
  await (await chooser).setFiles(files);
}

async function runFolderAction(page, name) {
  await page.getByRole("button", { name: "Folder actions" }).click();
  await page.getByRole("menu").getByText(name, { exact: true }).click();
}

export const steps = {
  async "folders open, and changes on the host appear by themselves"({ page, newSession, project, assert }) {
    mkdirSync(join(project, "src/deep"), { recursive: true });
    writeFileSync(join(project, "src/main.rs"), "fn main() {}\n");
    writeFileSync(join(project, ".hidden"), "x");
    await openFiles(page, newSession);
    const src = entry(page, "src");
    assert.equal(await src.getAttribute("aria-expanded"), "false");
    assert.equal(await entry(page, ".hidden").count(), 0);
    const names = await tree(page).getByRole("treeitem").evaluateAll((rows) => rows.map((row) => row.getAttribute("aria-label")));
    assert.ok(names.indexOf("src") < names.indexOf("a.txt"), `${names}`);
    await src.click();
    await entry(page, "main.rs").waitFor();
    assert.equal(await entry(page, "main.rs").getAttribute("aria-level"), "2");
    await entry(page, "deep").click();
    await tree(page).getByRole("treeitem", { name: "Empty folder" }).waitFor();
    await checkAxe(page, assert);
    writeFileSync(join(project, "src/made-meanwhile.rs"), "");
    await entry(page, "made-meanwhile.rs").waitFor();
    rmSync(join(project, "src/made-meanwhile.rs"));
    await entry(page, "made-meanwhile.rs").waitFor({ state: "detached" });
    await runFolderAction(page, "Show hidden files");
    await entry(page, ".hidden").waitFor();
    await runFolderAction(page, "Show hidden files");
    await entry(page, ".hidden").waitFor({ state: "detached" });
    // The same by keyboard.
    await src.press("ArrowLeft");
    await entry(page, "main.rs").waitFor({ state: "detached" });
    await src.press("ArrowRight");
    await entry(page, "main.rs").waitFor();
    await src.press("ArrowDown");
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "deep");
    rmSync(join(project, ".hidden"));
  },

  async "a file is shown with highlighted code, and follows the agent"({ page, newSession, project, assert }) {
    writeFileSync(join(project, "code.rs"), "fn first() {}\n// <script>window.pwned=1</script>\n");
    await openFiles(page, newSession);
    await entry(page, "code.rs").click();
    await content(page, "code.rs").locator(".h-keyword", { hasText: "fn" }).waitFor();
    await content(page, "code.rs").getByText("<script>window.pwned=1</script>").waitFor();
    assert.equal(await content(page, "code.rs").locator(".number").first().innerText(), "1");
    await checkAxe(page, assert);
    await page.getByRole("textbox", { name: "Message" }).last().fill("echo 'fn by_agent() {}' >> code.rs");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByRole("button", { name: "Allow once" }).first().click();
    await content(page, "code.rs").getByText("by_agent").waitFor();
    rmSync(join(project, "code.rs"));
    await page.getByText("This file does not exist any more.").waitFor();
    await back(page);
    await tree(page).waitFor();
  },

  async "a text is edited and saved with its own line ends"({ page, newSession, project, assert }) {
    writeFileSync(join(project, "dos.txt"), "one\r\ntwo\r\n");
    await openFiles(page, newSession);
    await openEditor(page, "dos.txt");
    assert.ok(await saveButton(page).isDisabled());
    await editor(page).press("Control+End");
    await page.keyboard.press("Tab");
    await page.keyboard.type("three");
    await checkAxe(page, assert);
    await page.keyboard.press("Control+s");
    await waitForSaved(page);
    assert.equal(readFileSync(join(project, "dos.txt"), "utf8"), "one\r\ntwo\r\n\tthree");
    // Saving again is no conflict with oneself.
    await page.keyboard.type("!");
    await saveButton(page).click();
    await waitForSaved(page);
    assert.equal(readFileSync(join(project, "dos.txt"), "utf8"), "one\r\ntwo\r\n\tthree!");
    assert.equal(await page.getByRole("dialog").count(), 0);
    await back(page);
    await tree(page).waitFor();
  },

  async "two devices edit one file, and the second one decides"({ page, newSession, phone, project, assert }) {
    writeFileSync(join(project, "both.txt"), "start\n");
    await openFiles(page, newSession);
    const other = await phone();
    await openOnPhone(other);
    for (const device of [page, other]) await openEditor(device, "both.txt");
    await editor(page).fill("from the desk\n");
    await editor(other).fill("from the phone\n");
    await saveButton(other).click();
    await waitForSaved(other);
    await page.getByText("This file has changed on the host.").waitFor();
    await saveButton(page).click();
    await page.getByRole("dialog").getByText("was changed on the host").waitFor();
    await checkAxe(page, assert);
    await choose(page, "Keep editing");
    assert.equal(await editor(page).inputValue(), "from the desk\n");
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "Text of both.txt. Escape, then Tab leaves it.");
    assert.equal(readFileSync(join(project, "both.txt"), "utf8"), "from the phone\n");
    await saveButton(page).click();
    await choose(page, "Overwrite");
    await waitForSaved(page);
    assert.equal(readFileSync(join(project, "both.txt"), "utf8"), "from the desk\n");
    // The phone has nothing unsaved, so it follows.
    await other.waitForFunction(() => document.querySelector("textarea[aria-label^='Text of']")?.value === "from the desk\n");
    await editor(page).fill("desk again\n");
    await editor(other).fill("phone again\n");
    await saveButton(page).click();
    await waitForSaved(page);
    await saveButton(other).click();
    await choose(other, "Reload");
    await content(other, "both.txt").getByText("desk again").waitFor();
    assert.deepEqual(other.errors, []);
    await other.context().close();
    await back(page);
  },

  async "a file that is deleted while it is edited can be saved again"({ page, newSession, project, assert }) {
    writeFileSync(join(project, "lost.txt"), "old\n");
    await openFiles(page, newSession);
    await openEditor(page, "lost.txt");
    await editor(page).fill("kept\n");
    rmSync(join(project, "lost.txt"));
    await page.getByText("This file was deleted on the host.").waitFor();
    await saveButton(page).click();
    await choose(page, "Create it again");
    await waitForSaved(page);
    assert.equal(readFileSync(join(project, "lost.txt"), "utf8"), "kept\n");
    await back(page);
  },

  async "unsaved text survives other panels, and leaving it asks"({ page, newSession, project, assert }) {
    writeFileSync(join(project, "draft.txt"), "old\n");
    await openFiles(page, newSession);
    await openEditor(page, "draft.txt");
    await editor(page).fill("unsaved\n");
    await page.getByRole("button", { name: "Usage", exact: true }).first().click();
    await page.getByRole("button", { name: "Files", exact: true }).first().click();
    assert.equal(await editor(page).inputValue(), "unsaved\n");
    await back(page);
    await page.getByRole("dialog").getByText("has changes that are not saved").waitFor();
    await page.keyboard.press("Escape");
    assert.equal(await editor(page).inputValue(), "unsaved\n");
    const [dialog] = await Promise.all([page.waitForEvent("dialog"), page.evaluate(() => void setTimeout(() => location.reload()))]);
    assert.equal(dialog.type(), "beforeunload");
    await dialog.dismiss();
    assert.equal(await editor(page).inputValue(), "unsaved\n");
    await back(page);
    await choose(page, "Discard changes");
    await tree(page).waitFor();
    assert.equal(readFileSync(join(project, "draft.txt"), "utf8"), "old\n");
    await openEditor(page, "draft.txt");
    await editor(page).fill("saved\n");
    await back(page);
    await choose(page, "Save");
    await tree(page).waitFor();
    assert.equal(readFileSync(join(project, "draft.txt"), "utf8"), "saved\n");
  },

  async "files are created, renamed and deleted"({ page, newSession, project, assert }) {
    rmSync(join(project, "work"), { recursive: true, force: true });
    await openFiles(page, newSession);
    await runFolderAction(page, "New folder");
    await page.getByRole("textbox", { name: /^Name of the new folder/ }).fill("work");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await entry(page, "work").hover();
    await entry(page, "work").getByRole("button", { name: "Actions for work" }).click();
    await page.getByRole("menuitem", { name: "New file" }).click();
    await page.getByRole("textbox", { name: "Name of the new file in work" }).fill("new.txt");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Edit", exact: true }).waitFor();
    assert.equal(readFileSync(join(project, "work/new.txt"), "utf8"), "");
    await back(page);
    // A name that exists, and one that leads elsewhere.
    await page.getByRole("button", { name: "New file", exact: true }).click();
    const field = page.getByRole("textbox", { name: /^Name of the new file/ });
    await field.fill("a.txt");
    await page.keyboard.press("Enter");
    await page.getByText("“a.txt” exists already.").waitFor();
    await field.fill("../escape.txt");
    await page.keyboard.press("Enter");
    await page.getByText("is not the name of a file").waitFor();
    assert.ok(!existsSync(join(project, "../escape.txt")));
    await checkAxe(page, assert);
    await page.keyboard.press("Escape");
    await entry(page, "work").click();
    await entry(page, "new.txt").focus();
    await page.keyboard.press("F2");
    await page.getByRole("textbox", { name: "New name of new.txt" }).fill("renamed.txt");
    await page.getByRole("button", { name: "Rename", exact: true }).click();
    await entry(page, "renamed.txt").waitFor();
    assert.ok(existsSync(join(project, "work/renamed.txt")) && !existsSync(join(project, "work/new.txt")));
    await entry(page, "work").focus();
    await page.keyboard.press("Delete");
    await page.getByRole("dialog").getByText("with everything in it").waitFor();
    await choose(page, "Delete");
    await entry(page, "work").waitFor({ state: "detached" });
    assert.ok(!existsSync(join(project, "work")));
    for (let left = await page.getByRole("button", { name: "Dismiss" }).count(); left > 0; left -= 1) {
      await page.getByRole("button", { name: "Dismiss" }).first().click();
    }
  },

  async "hostile names stay text"({ page, newSession, project, assert }) {
    const names = ['<img src=x onerror="window.pwned=1">', "cod\u202etxt.exe", "two\nlines", "100%25 #?"];
    for (const name of names) writeFileSync(join(project, name), `content of ${JSON.stringify(name)}`);
    await openFiles(page, newSession);
    for (const [label, name] of [[names[0], names[0]], ["cod\\u{202e}txt.exe", names[1]], ["two lines", names[2]], [names[3], names[3]]]) {
      await entry(page, label).click();
      await content(page, label).getByText("content of").waitFor();
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name: "File actions" }).click();
      await page.getByRole("menuitem", { name: "Download" }).click();
      assert.equal(readFileSync(await (await download).path(), "utf8"), `content of ${JSON.stringify(name)}`);
      await back(page);
    }
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    assert.equal(await page.locator("img[src=x]").count(), 0);
    for (const name of names) rmSync(join(project, name));
  },

  async "a folder of 5,000 files has few rows in the page"({ page, newSession, project, assert }) {
    mkdirSync(join(project, "many"), { recursive: true });
    for (let number = 0; number < 5000; number += 1) writeFileSync(join(project, "many", `f${String(number).padStart(4, "0")}.txt`), "");
    await openFiles(page, newSession);
    await entry(page, "many").click();
    await entry(page, "f0000.txt").waitFor();
    assert.ok((await tree(page).getByRole("treeitem").count()) < 150);
    await entry(page, "f0000.txt").focus();
    for (let step = 0; step < 3; step += 1) await page.keyboard.press("PageDown");
    await page.keyboard.press("End");
    await page.waitForFunction(() => document.activeElement?.getAttribute("role") === "treeitem" && !document.activeElement.getAttribute("aria-label").startsWith("f0"));
    assert.ok((await tree(page).getByRole("treeitem").count()) < 150);
    await page.keyboard.press("Home");
    await entry(page, "many").click();
    rmSync(join(project, "many"), { recursive: true });
    await entry(page, "many").waitFor({ state: "detached" });
  },

  async "a file of 2 MB is shown but not edited, and one of 5 MB is offered for download"({ page, newSession, project, assert }) {
    const lines = Array.from({ length: 40_000 }, (_, number) => `${String(number + 1).padStart(6, "0")} ${"x".repeat(44)}`);
    writeFileSync(join(project, "large.log"), lines.join("\n"));
    writeFileSync(join(project, "huge.log"), "y".repeat(5 << 20));
    await openFiles(page, newSession);
    await entry(page, "large.log").click();
    await content(page, "large.log").getByText("000001 xxx").waitFor();
    await page.getByText("40,000 lines").waitFor();
    await page.getByText("Too large to edit here").waitFor();
    assert.equal(await page.getByRole("button", { name: "Edit", exact: true }).count(), 0);
    await content(page, "large.log").evaluate((region) => (region.scrollTop = region.scrollHeight));
    await content(page, "large.log").getByText("040000 xxx").waitFor();
    assert.ok((await content(page, "large.log").locator(".row").count()) < 150);
    await back(page);
    await entry(page, "huge.log").click();
    await page.getByText("This file is too large to show.").waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    assert.equal(readFileSync(await (await download).path()).length, 5 << 20);
    await back(page);
    for (const name of ["large.log", "huge.log"]) rmSync(join(project, name));
  },

  async "images are shown, and other bytes are not"({ page, newSession, project, assert }) {
    writeFileSync(join(project, "dot.png"), PIXEL);
    writeFileSync(join(project, "broken.png"), "<svg onload='window.pwned=1'>");
    writeFileSync(join(project, "program.bin"), Buffer.from([0, 255, 1, 2]));
    await openFiles(page, newSession);
    await entry(page, "dot.png").click();
    const image = page.getByRole("img", { name: "Image dot.png" });
    await image.waitFor();
    await page.waitForFunction(() => document.querySelector("img[alt='Image dot.png']")?.naturalWidth === 1);
    assert.match(await image.getAttribute("src"), /^blob:/);
    await checkAxe(page, assert);
    await back(page);
    await entry(page, "broken.png").click();
    await page.getByText("Cannot be read: This file is not text.").waitFor();
    await back(page);
    await entry(page, "program.bin").click();
    await page.getByText("This file is not text.").waitFor();
    await page.getByText("4 B").waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    assert.deepEqual([...readFileSync(await (await download).path())], [0, 255, 1, 2]);
    await back(page);
  },

  async "three files are uploaded at once, and none is replaced without a question"({ page, newSession, project, assert }) {
    for (const name of ["u1.txt", "u2.bin", "u3.txt", "dropped.txt"]) rmSync(join(project, name), { force: true });
    await openFiles(page, newSession);
    const file = (name, text) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
    const files = [file("u1.txt", "one"), { ...file("u2.bin", ""), buffer: Buffer.from([0, 200, 10]) }, file("u3.txt", "x".repeat(3 << 20))];
    await pickFiles(page, () => runFolderAction(page, "Upload files"), files);
    await page.getByText("3 uploaded").waitFor();
    await entry(page, "u3.txt").waitFor();
    assert.deepEqual([...readFileSync(join(project, "u2.bin"))], [0, 200, 10]);
    assert.equal(readFileSync(join(project, "u3.txt")).length, 3 << 20);
    await pickFiles(page, () => runFolderAction(page, "Upload files"), [file("u1.txt", "other"), file("too-large.txt", "x".repeat((8 << 20) + 1))]);
    await page.getByText("exists already").waitFor();
    await page.getByText("larger than 8 MiB").waitFor();
    await checkAxe(page, assert);
    assert.equal(readFileSync(join(project, "u1.txt"), "utf8"), "one");
    await page.getByRole("button", { name: "Replace u1.txt" }).click();
    await until(page, () => readFileSync(join(project, "u1.txt"), "utf8") === "other");
    assert.ok(!existsSync(join(project, "too-large.txt")));
    await page.getByRole("region", { name: "Uploads" }).getByRole("button", { name: "Close" }).click();
    // The same by drag and drop.
    const transfer = await page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File(["dropped"], "dropped.txt"));
      return data;
    });
    await tree(page).dispatchEvent("dragover", { dataTransfer: transfer });
    await page.getByText(/^Drop files to upload/).waitFor();
    await tree(page).dispatchEvent("drop", { dataTransfer: transfer });
    await entry(page, "dropped.txt").waitFor();
    assert.equal(readFileSync(join(project, "dropped.txt"), "utf8"), "dropped");
    await page.getByRole("region", { name: "Uploads" }).getByRole("button", { name: "Close" }).click();
    rmSync(join(project, "u3.txt"));
  },

  async "what is outside of the granted folders is refused with a reason"({ page, newSession, project }) {
    rmSync(join(project, "outside"), { force: true });
    symlinkSync("/etc/hostname", join(project, "outside"));
    await openFiles(page, newSession);
    await entry(page, "outside").click();
    await page.getByText(/Cannot be read: .*outside of the granted/).waitFor();
    await back(page);
    rmSync(join(project, "outside"));
  },

  async "a device that may only read sees files and cannot change them"({ browser, page, newSession, newDevice, project, assert }) {
    writeFileSync(join(project, "guarded.txt"), "guarded\n");
    await openFiles(page, newSession);
    const reader = await newDevice(browser, { name: "file-reader", scope: "read" });
    await reader.locator("[data-session]").first().click();
    await showFiles(reader);
    await entry(reader, "guarded.txt").focus();
    await reader.keyboard.press("Delete");
    assert.equal(await reader.getByRole("dialog").count(), 0);
    await reader.getByRole("button", { name: "Folder actions" }).click();
    assert.deepEqual(await reader.getByRole("menu").locator("[role^=menuitem]").allInnerTexts(), ["Show hidden files"]);
    await reader.keyboard.press("Escape");
    assert.equal(await reader.getByRole("button", { name: "New file" }).count(), 0);
    await entry(reader, "guarded.txt").click();
    await reader.getByRole("region", { name: /guarded.txt/ }).getByText("guarded").waitFor();
    assert.equal(await reader.getByRole("button", { name: "Edit", exact: true }).count(), 0);
    await reader.context().close();
  },

  async "a host that is lost during a save loses no text"({ page, newSession, stopHost, startHost, project, assert }) {
    writeFileSync(join(project, "cut.txt"), "before\n");
    await openFiles(page, newSession);
    await openEditor(page, "cut.txt");
    await editor(page).fill("written while the host was gone\n");
    await stopHost("SIGKILL");
    await page.getByText("No connection. Your text is kept").waitFor();
    await saveButton(page).click();
    await page.getByText(/^Not saved: /).waitFor();
    assert.equal(await editor(page).inputValue(), "written while the host was gone\n");
    // The agent, or anybody on the host, changes the file meanwhile.
    writeFileSync(join(project, "cut.txt"), "by another\n");
    await startHost();
    await page.getByText("This file has changed on the host.").waitFor();
    await saveButton(page).click();
    await choose(page, "Overwrite");
    await waitForSaved(page);
    assert.equal(readFileSync(join(project, "cut.txt"), "utf8"), "written while the host was gone\n");
    await back(page);
    writeFileSync(join(project, "after-restart.txt"), "");
    await entry(page, "after-restart.txt").waitFor();
  },

  async "a phone browses by folders, and edits"({ page, newSession, phone, project, assert }) {
    mkdirSync(join(project, "src/deep"), { recursive: true });
    writeFileSync(join(project, "src/deep/note.md"), "# Title\n");
    await openFiles(page, newSession);
    const device = await phone();
    await openOnPhone(device);
    await entry(device, "src").click();
    await entry(device, "deep").click();
    await entry(device, "note.md").waitFor();
    const path = device.getByRole("navigation", { name: "Path" });
    await path.getByRole("button", { name: "src" }).click();
    await entry(device, "note.md").waitFor({ state: "detached" });
    await entry(device, "deep").click();
    await entry(device, "note.md").waitFor();
    await checkAxe(device, assert);
    const small = await device.evaluate(() =>
      [...document.querySelectorAll(".right button, .right [role=treeitem]")]
        .filter((target) => target.checkVisibility())
        .map((target) => ({ box: target.getBoundingClientRect(), name: target.getAttribute("aria-label") ?? target.textContent }))
        .filter(({ box }) => Math.max(box.width, box.height) < 40 || Math.min(box.width, box.height) < 40)
        .map(({ name }) => name),
    );
    assert.deepEqual(small, []);
    await openEditor(device, "note.md");
    await editor(device).fill("# Title\n\nfrom the phone\n");
    await checkAxe(device, assert);
    await saveButton(device).click();
    await waitForSaved(device);
    assert.equal(readFileSync(join(project, "src/deep/note.md"), "utf8"), "# Title\n\nfrom the phone\n");
    await back(device);
    await entry(device, "note.md").waitFor();
    await back(device);
    await entry(device, "deep").waitFor();
    await device.getByRole("button", { name: "New file", exact: true }).click();
    await device.getByRole("textbox", { name: "Name of the new file in src" }).fill("phone.txt");
    await device.getByRole("button", { name: "Create", exact: true }).click();
    await content(device, "phone.txt").waitFor();
    assert.ok(existsSync(join(project, "src/phone.txt")));
    assert.deepEqual(device.errors, []);
    await device.context().close();
  },

  async "a changed file opens from its diff"({ page, newSession, assert }) {
    await newSession(page, "echo changed-by-agent > from-diff.txt");
    await page.getByRole("button", { name: "Allow once" }).first().click();
    if (await page.getByRole("button", { name: "Show panel" }).isVisible()) {
      await page.getByRole("button", { name: "Show panel" }).click();
    }
    await page.getByRole("button", { name: "Changes", exact: true }).first().click();
    await page.getByRole("list", { name: /files?$/ }).getByRole("button", { name: /from-diff\.txt/ }).click();
    await page.getByRole("button", { name: "Open file" }).click();
    await content(page, "from-diff.txt").getByText("changed-by-agent").waitFor();
    await checkAxe(page, assert);
    await back(page);
    await tree(page).waitFor();
  },
};
