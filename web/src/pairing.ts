// Pairing of this device with the host, by a code that works once. The host answers with a cookie that scripts cannot
// read.

import { dropStates } from "./saved-state";

export type PairingResult = { kind: "paired" } | { kind: "refused"; status: number } | { kind: "unreachable" };

export type DeviceInfo = { name: string; scope: "read" | "operate" | "terminal" };

export const PAIRED_KEY = "agenthost.paired";
/** Part of the ids of the clients in this browser, and the id of the client of a tab where Web Locks are missing. */
export const BROWSER_KEY = "agenthost.browser";
export const NAME_KEY = "agenthost.device";
export const CLIENT_KEY = "agenthost.client";
/** The message of a session that was not started yet. */
export const NEW_SESSION_KEY = "agenthost.new";

/** Takes the code out of the address, so that it is neither kept in the history nor shared with a link. */
export function takeCodeFromAddress(): string | undefined {
  const words = new URLSearchParams(location.hash.slice(1));
  const code = words.get("code");
  if (code === null) {
    return undefined;
  }
  history.replaceState(null, "", location.pathname + location.search);
  return code;
}

export async function pairDevice(code: string, name: string): Promise<PairingResult> {
  const body = JSON.stringify({ code: code.trim().toUpperCase(), name: name.trim() });
  const headers = { "content-type": "application/json" };
  try {
    const result = settle(await fetch("/pair", { method: "POST", headers, body }));
    if (result.kind === "paired") {
      // The host knows another device now: the clients and states of the one before are not its own.
      localStorage.removeItem(BROWSER_KEY);
      sessionStorage.removeItem(CLIENT_KEY);
      await dropStates();
      // The host may have given it another name.
      localStorage.setItem(NAME_KEY, (await describeDevice())?.name ?? name);
    }
    return result;
  } catch {
    return { kind: "unreachable" };
  }
}

/** Asks the host whether this device is paired. A device that was paired before may start without an answer. */
export async function checkPairing(): Promise<PairingResult> {
  try {
    return settle(await fetch("/device", { cache: "no-store" }));
  } catch {
    return { kind: "unreachable" };
  }
}

/** What the host knows about this device; `undefined` if it does not answer. */
export async function describeDevice(): Promise<DeviceInfo | undefined> {
  try {
    const response = await fetch("/device", { cache: "no-store" });
    return response.ok ? ((await response.json()) as DeviceInfo) : undefined;
  } catch {
    return undefined;
  }
}

/** Removes this device from the host, which then closes its connections. Returns `false` without an answer. */
export async function signOut(): Promise<boolean> {
  try {
    const { ok, status } = await fetch("/unpair", { method: "POST" });
    if (!ok && status !== 401) {
      return false;
    }
  } catch {
    return false;
  }
  localStorage.removeItem(PAIRED_KEY);
  localStorage.removeItem(NEW_SESSION_KEY);
  return true;
}

export function wasPaired(): boolean {
  return localStorage.getItem(PAIRED_KEY) !== null;
}

function settle(response: Response): PairingResult {
  if (response.ok) {
    localStorage.setItem(PAIRED_KEY, "1");
    return { kind: "paired" };
  }
  if (response.status === 401) {
    localStorage.removeItem(PAIRED_KEY);
  }
  return { kind: "refused", status: response.status };
}
