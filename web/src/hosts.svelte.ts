// The hosts that this browser knows, kept at each host's own origin. A page cannot connect to another host (the policy
// of its host allows only its own origin), so switching opens the page of the other host, which has its own sign-in.
//
// The list travels with a switch in the fragment of the address. Any page can make such a link, so its entries are
// added only when the user agrees.

export type Host = { name: string; origin: string };
export type HostAddress = { origin: string; code?: string };

const STORAGE_KEY = "agenthost.hosts";
const FRAGMENT_KEY = "hosts";
const MAX_HOSTS = 30;
const MAX_IGNORED = 100;
const MAX_NAME_CHARS = 40;
/** Browsers differ in the names that they accept; some escape spaces. */
const HOST_NAME = /^([\w.-]+|\[[\da-f:.]+\])$/i;
const MAX_FRAGMENT_CHARS = 20_000;

type Stored = { hosts: Host[]; ignored: string[] };

class HostList {
  /** All hosts in the order of their names, this one among them, so that their numbers are the same everywhere. */
  all = $state.raw<Host[]>([]);
  /** Hosts of a link that the user has not decided upon. */
  offered = $state.raw<Host[]>([]);
  /** The dialog with the list. */
  open = $state(false);
  readonly limit = MAX_HOSTS;
  private ignored: string[] = [];

  constructor() {
    const stored = readStored();
    this.ignored = stored.ignored;
    this.all = sorted(stored.hosts);
  }

  get current(): Host {
    return this.all.find(({ origin }) => origin === location.origin) ?? { name: location.host, origin: location.origin };
  }

  find(origin: string): Host | undefined {
    return this.all.find((host) => host.origin === origin);
  }

  /** Adds a host, or renames it. */
  put(origin: string, name: string): void {
    const host = { origin, name: cleanName(name) || hostOf(origin) };
    const own = origin === location.origin ? [] : [this.current];
    const others = this.all.filter((other) => other.origin !== origin && other.origin !== location.origin);
    this.all = sorted([...own, ...others, host].slice(-MAX_HOSTS));
    this.save();
  }

  remove(origin: string): void {
    this.all = this.all.filter((host) => host.origin !== origin);
    this.save();
  }

  /** Opens the page of a host. The browser keeps the way back. */
  switchTo(address: HostAddress): void {
    if (address.origin === location.origin && address.code === undefined) return;
    // A field that loses the focus sends its draft.
    (document.activeElement as HTMLElement | null)?.blur();
    location.assign(this.linkTo(address));
  }

  linkTo({ origin, code }: HostAddress): string {
    const fields = new URLSearchParams();
    if (code !== undefined) fields.set("code", code);
    const hosts = this.all.length > 0 ? this.all : [this.current];
    fields.set(FRAGMENT_KEY, JSON.stringify(hosts.map(({ name, origin }) => [name, origin])));
    return `${origin}/#${fields}`;
  }

  /** Takes the hosts out of the address; unknown ones are offered to the user. */
  takeFromAddress(): void {
    const fields = new URLSearchParams(location.hash.slice(1));
    const text = fields.get(FRAGMENT_KEY);
    if (text === null) return;
    fields.delete(FRAGMENT_KEY);
    const rest = fields.size > 0 ? `#${fields}` : "";
    history.replaceState(null, "", location.pathname + location.search + rest);
    const unknown = parseHosts(text).filter(({ origin }) => this.find(origin) === undefined && !this.ignored.includes(origin));
    // A link that names only this host has nothing to offer.
    this.offered = unknown.some(({ origin }) => origin !== location.origin) ? unknown : [];
  }

  acceptOffered(): void {
    for (const { name, origin } of this.offered) {
      this.put(origin, name);
    }
    this.offered = [];
  }

  ignoreOffered(): void {
    this.ignored = [...this.ignored, ...this.offered.map(({ origin }) => origin)].slice(-MAX_IGNORED);
    this.offered = [];
    this.save();
  }

  private save(): void {
    const stored: Stored = { hosts: this.all, ignored: this.ignored };
    localStorage.setItem(STORAGE_KEY, JSON.stringify(stored));
  }
}

export const hosts = new HostList();

/** Reads an address that the user typed, or a link with a code. */
export function parseAddress(text: string): HostAddress | undefined {
  const typed = text.trim();
  const isLocal = /^(localhost|127\.0\.0\.1|\[::1\]|[\w.-]+\.localhost)(:|\/|$)/i.test(typed);
  const url = parseUrl(typed.includes("://") ? typed : `${isLocal ? "http" : "https"}://${typed}`);
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:") || !HOST_NAME.test(url.hostname)) {
    return undefined;
  }
  const code = new URLSearchParams(url.hash.slice(1)).get("code") ?? undefined;
  return { origin: url.origin, ...(code !== undefined && { code }) };
}

/** Returns `true` for an address of this machine. */
export function isLoopback(origin: string): boolean {
  return /^(localhost|127\.0\.0\.1|\[::1\]|.*\.localhost)$/.test(parseUrl(origin)?.hostname ?? "");
}

/** Returns `true` for an address whose connection others on the network can read. */
export function isReadableByOthers(origin: string): boolean {
  return origin.startsWith("http:") && !isLoopback(origin);
}

export function hostOf(origin: string): string {
  return parseUrl(origin)?.host ?? origin;
}

/** Returns a name without characters that are invisible or change the direction of others. */
function cleanName(name: string): string {
  return [...name.replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, "").trim()].slice(0, MAX_NAME_CHARS).join("");
}

function sorted(hosts: Host[]): Host[] {
  return hosts.toSorted((a, b) => a.name.localeCompare(b.name, "en") || a.origin.localeCompare(b.origin, "en"));
}

/** Parses `[name, origin]` pairs of a link; anything else in it is dropped. */
function parseHosts(text: string): Host[] {
  if (text.length > MAX_FRAGMENT_CHARS) return [];
  const found = new Map<string, Host>();
  for (const entry of arrayOf(parseJson(text))) {
    const [name, origin] = arrayOf(entry);
    const host = toHost(name, origin);
    if (host !== undefined) found.set(host.origin, host);
  }
  return [...found.values()].slice(0, MAX_HOSTS);
}

function readStored(): Stored {
  const stored = parseJson(localStorage.getItem(STORAGE_KEY) ?? "null") as Partial<Stored> | null;
  const hosts = arrayOf(stored?.hosts).map((host) => toHost((host as Host | null)?.name, (host as Host | null)?.origin));
  return {
    hosts: hosts.filter((host) => host !== undefined).slice(0, MAX_HOSTS),
    ignored: arrayOf(stored?.ignored).filter((origin) => typeof origin === "string"),
  };
}

function toHost(name: unknown, origin: unknown): Host | undefined {
  if (typeof name !== "string" || typeof origin !== "string") return undefined;
  const address = parseAddress(origin);
  return address?.origin === origin ? { name: cleanName(name) || hostOf(origin), origin } : undefined;
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function arrayOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
