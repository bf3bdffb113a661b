// Takes screenshots of the mock page: `npm run mock && npm run shots`. They go to `shots/`.

import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { serve } from "./serve.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const shots = join(root, "shots");
const SIZES = {
  desktop: { viewport: { width: 1280, height: 800 } },
  medium: { viewport: { width: 900, height: 800 } },
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
};

const server = await serve(join(root, "dist-mock"));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
await mkdir(shots, { recursive: true });
const only = process.argv[2];

for (const [size, options] of Object.entries(SIZES)) {
  for (const colorScheme of ["light", "dark"]) {
    const context = await browser.newContext({ ...options, colorScheme, timezoneId: "UTC" });
    const page = await context.newPage();
    await page.clock.setFixedTime(new Date("2026-11-18T09:45:00Z"));
    page.on("console", (message) => console.log(`${size} ${colorScheme}: ${message.text()}`));
    page.on("pageerror", (error) => console.log(`${size} ${colorScheme}: ${error.message}`));
    const shoot = async (name) => {
      if (only === undefined || `${size}-${colorScheme}-${name}`.includes(only)) {
        await page.waitForTimeout(150);
        await page.screenshot({ path: join(shots, `${size}-${colorScheme}-${name}.png`) });
      }
    };

    await page.goto(server.url);
    await page.getByRole("textbox", { name: "Code" }).waitFor();
    await shoot("sign-in");
    await page.goto("about:blank");
    await page.goto(`${server.url}#code=TEST-CODE`);
    if (size === "phone") {
      await page.getByRole("button", { name: "Inbox" }).click();
      await shoot("inbox");
      await page.getByRole("button", { name: "Sessions" }).click();
      await shoot("sessions");
    } else if (size === "medium") {
      await page.getByRole("button", { name: "Sessions" }).click();
      await shoot("drawer");
    }
    await page.locator('[data-session="ahp-session:/a1"]').click();
    await page.getByRole("textbox", { name: "Message" }).waitFor();
    await shoot("chat");
    if (size === "medium") {
      await context.close();
      continue;
    }
    await page.locator(".viewport").evaluate((element) => (element.scrollTop = 0));
    await shoot("chat-top");
    if (size === "phone") {
      await page.getByRole("button", { name: "Changes" }).click();
    }
    await shoot("changes");
    await page.getByRole("button", { name: "retry.rs" }).first().click();
    await shoot("diff");
    if (size === "desktop") {
      await page.getByRole("button", { name: "Split" }).click();
      await shoot("split");
      await page.getByRole("button", { name: "Narrow" }).click();
      await page.keyboard.press("Control+k");
      await shoot("palette");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "New session" }).first().click();
      await shoot("new");
    } else {
      await page.getByRole("button", { name: "More", exact: true }).click();
      await shoot("more");
      await page.getByRole("button", { name: "New session" }).click();
      await shoot("new");
    }
    await context.close();
  }
}

await browser.close();
await server.close();
