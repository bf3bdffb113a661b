// Takes the pictures of the documentation: the page of a real host, on a desktop and on a phone.
//
//   node tests/pictures.mjs BINARY FOLDER

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [binary, pictures] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "agenthost-pictures-"));
const project = join(folder, "parser");
const env = { ...process.env, HOME: folder, XDG_CONFIG_HOME: join(folder, "config") };
const data = join(folder, "data");
const demo = new URL("../../crates/cli/tests/vscode/agent/demo.mjs", import.meta.url).pathname;

mkdirSync(project, { recursive: true });
mkdirSync(join(folder, "config/agenthost"), { recursive: true });
const agent = `auto_agents = false\n[[agents]]\nid = "demo"\nname = "Demo agent"\ncommand = ["node", ${JSON.stringify(demo)}]\n`;
writeFileSync(join(folder, "config/agenthost/config.toml"), agent);
writeFileSync(join(project, "parser.py"), "def parse(text):\n    return int(text)\n");
const git = (...words) => execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...words], { cwd: project });
git("init", "-q");
git("add", ".");
git("commit", "-qm", "first");

const host = spawn(binary, ["serve", "--listen", "127.0.0.1:0", "--data-dir", data], { env, stdio: ["ignore", "ignore", "pipe"] });
const address = await new Promise((done) => {
  host.stderr.on("data", (text) => {
    const found = /ws:\/\/(127\.0\.0\.1:\d+)/.exec(`${text}`);
    if (found) done(`http://${found[1]}/`);
  });
});
const agenthost = (...words) => execFileSync(binary, [...words, "--data-dir", data], { env, cwd: project, stdio: ["ignore", "pipe", "ignore"] }).toString();
const code = () => /#code=([A-Z0-9-]+)/.exec(agenthost("pair"))[1];
agenthost("run", "--yes", "git log --oneline");

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const open = async (viewport, scheme) => {
  const isPhone = viewport.width < 640;
  const context = await browser.newContext({ viewport, deviceScaleFactor: isPhone ? 2 : 1.5, colorScheme: scheme, isMobile: isPhone, hasTouch: isPhone });
  const page = await context.newPage();
  await page.goto(`${address}#code=${code()}`);
  await page.getByText("Live").first().waitFor();
  return page;
};
const desk = await open({ width: 1280, height: 760 }, "dark");
await desk.getByRole("button", { name: "New session" }).first().click();
await desk.getByRole("textbox", { name: "Message" }).last().fill(
  "printf 'def parse(text):\\n    text = text.strip()\\n    sign = -1 if text.startswith(\"-\") else 1\\n    return sign * int(text.lstrip(\"+-\"))\\n' > parser.py && git diff --stat",
);
await desk.getByRole("button", { name: "Start session" }).click();
await desk.getByRole("button", { name: "Allow once" }).first().waitFor();
const phone = await open({ width: 390, height: 760 }, "light");
await phone.getByRole("button", { name: /Inbox/ }).click();
await phone.getByRole("button", { name: "Allow once" }).first().waitFor();
await phone.screenshot({ path: join(pictures, "page-phone.png") });
await phone.getByRole("button", { name: "Allow once" }).first().click();
await desk.waitForFunction(() => !document.body.innerText.includes("Needs you"));
const box = desk.getByRole("textbox", { name: "Message" }).last();
await box.fill("python3 -c 'from parser import parse; print(parse(\"-7\"))'");
await desk.keyboard.press("Enter");
await desk.getByRole("button", { name: "Allow once" }).first().waitFor();
await desk.getByText("parser.py", { exact: true }).first().waitFor();
await desk.screenshot({ path: join(pictures, "page-desktop.png") });
await browser.close();
host.kill();
await new Promise((done) => host.once("exit", done));
rmSync(folder, { recursive: true, force: true });
