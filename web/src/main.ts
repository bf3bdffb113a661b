// Entry of the page.

import { mount } from "svelte";
import "@xterm/xterm/css/xterm.css";
import "./theme.css";
import App from "./components/App.svelte";
import { keepFocus } from "./focus";
import { hosts } from "./hosts.svelte";
import { takeCodeFromAddress } from "./pairing";
import { scriptUrl } from "./trusted";
import { applyTheme, ui } from "./ui.svelte";

applyTheme(ui.theme);
keepFocus();
hosts.takeFromAddress();
mount(App, { target: document.body, props: { code: takeCodeFromAddress() } });

if ("serviceWorker" in navigator) {
  navigator.serviceWorker.register(scriptUrl("/sw.js")).catch((error: unknown) => {
    console.warn("register the service worker:", error);
  });
}
