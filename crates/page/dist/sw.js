// Keeps the files of the page, so that it opens without the host. Everything else goes to the network.

const CACHE = "agenthost-shell";
const SHELL = ["/", "/app.js", "/app.css", "/worker.js", "/page.wasm", "/icon.svg", "/manifest.webmanifest"];
/** Files that are kept once they were used. */
const LAZY = /^\/(terminal|highlight|mcp-app|chunk-[A-Z0-9]+)\.js$/;

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(CACHE)
      .then((cache) => cache.addAll(SHELL))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(self.clients.claim());
});

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method === "GET" && url.origin === self.location.origin && (SHELL.includes(url.pathname) || LAZY.test(url.pathname))) {
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
