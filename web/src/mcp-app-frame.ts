// The frame of an MCP App: its HTML, its address, and what the app is told about the page.

import type { AppDocument } from "./contract/apps";

export const MIN_HEIGHT = 40;
export const MAX_HEIGHT = 720;

/** The HTML of an app; `undefined` if it is not valid base64 or UTF-8. */
export function htmlOf({ text, base64 }: AppDocument): string | undefined {
  if (base64 === undefined) return text;
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The domains that the frame allows, as the app declares them. */
export function declaredDomains({ connect, socket, resource }: AppDocument): { connectDomains: string[]; resourceDomains: string[] } {
  const withScheme = (scheme: string, domains: string[]) => domains.map((domain) => `${scheme}://${domain}`);
  return { connectDomains: [...withScheme("https", connect), ...withScheme("wss", socket)], resourceDomains: withScheme("https", resource) };
}

/** The address of the frame. The core lets only plain host names pass, so nothing is encoded. */
export function frameAddress({ connect, socket, resource }: AppDocument): string {
  const fields = (name: string, domains: string[]) => domains.map((domain) => `${name}=${domain}`);
  return `/app-frame?${[...fields("connect", connect), ...fields("socket", socket), ...fields("resource", resource)].join("&")}`;
}

/** Theme, size and language, as far as apps need them. */
export function hostContext(frame: HTMLIFrameElement): Record<string, unknown> {
  const styles = getComputedStyle(document.documentElement);
  const color = (name: string) => styles.getPropertyValue(name).trim();
  return {
    theme: styles.colorScheme === "dark" ? "dark" : "light",
    styles: {
      variables: {
        "--color-background-primary": color("--bg"),
        "--color-background-secondary": color("--side"),
        "--color-background-tertiary": color("--sunken"),
        "--color-background-danger": color("--bad-soft"),
        "--color-background-warning": color("--wait-soft"),
        "--color-background-info": color("--accent-soft"),
        "--color-text-primary": color("--text"),
        "--color-text-secondary": color("--soft"),
        "--color-text-tertiary": color("--muted"),
        "--color-text-danger": color("--bad-text"),
        "--color-text-warning": color("--wait-text"),
        "--color-text-success": color("--good"),
        "--color-text-info": color("--accent-text"),
        "--color-border-primary": color("--line"),
        "--color-border-secondary": color("--line-strong"),
        "--color-ring-primary": color("--accent"),
        "--font-sans": color("--font"),
        "--font-mono": color("--mono"),
        "--font-text-md-size": color("--text-m"),
        "--border-radius-md": color("--radius"),
      },
    },
    displayMode: "inline",
    availableDisplayModes: ["inline"],
    containerDimensions: { width: frame.clientWidth, maxHeight: MAX_HEIGHT },
    locale: navigator.language,
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    platform: "web",
    deviceCapabilities: { touch: matchMedia("(pointer: coarse)").matches, hover: matchMedia("(hover: hover)").matches },
  };
}

/** Escapes characters that are invisible or change the direction of a text. */
export function visible(text: string): string {
  const hidden = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0]/gu;
  return text.replace(hidden, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}
