// Keeps the files of the page, so that it opens without the host. Everything else goes to the network.

const CACHE = "agenthost-shell";
/** The build fills in the parts that `app.js` imports at once, and all parts that it has. */
const SHELL_CHUNKS = [];
const ALL_CHUNKS = [];
const SHELL = ["/", "/app.js", "/app.css", "/worker.js", "/page.wasm", "/icon.svg", "/manifest.webmanifest", ...SHELL_CHUNKS];
/** Files that are kept once they were used. */
const LAZY = ["/terminal.js", "/highlight.js", "/mcp-app.js", ...ALL_CHUNKS];

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(CACHE)
      .then((cache) => cache.addAll(SHELL))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(dropOldFiles().then(() => self.clients.claim()));
});

/** Removes the parts of earlier builds. */
async function dropOldFiles() {
  const cache = await caches.open(CACHE);
  for (const request of await cache.keys()) {
    const { pathname } = new URL(request.url);
    if (!SHELL.includes(pathname) && !LAZY.includes(pathname)) {
      await cache.delete(request);
    }
  }
}

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method === "GET" && url.origin === self.location.origin && (SHELL.includes(url.pathname) || LAZY.includes(url.pathname))) {
    event.respondWith(networkFirst(event.request, url.pathname));
  }
});

/** The host is nearly always near: a new build must never wait behind an old copy. */
async function networkFirst(request, path) {
  const cache = await caches.open(CACHE);
  try {
    const response = await fetch(request);
    if (response.ok) {
      await cache.put(path, response.clone());
    }
    return response;
  } catch (error) {
    const stored = await cache.match(path);
    if (stored) {
      return stored;
    }
    throw error;
  }
}
