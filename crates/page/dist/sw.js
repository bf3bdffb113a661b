// Keeps the files of the page, so that it opens without the host. Everything else goes to the network.

const CACHE = "agenthost-shell";
/** The build fills in the parts that `app.js` imports at once, and all parts that it has. */
const SHELL_CHUNKS = ["/chunk-2M5BLLQ7.js","/chunk-EQQOJTFA.js","/chunk-EX6ZVQMP.js","/chunk-FWA3NBRS.js","/chunk-GU7NKLZ7.js","/chunk-H6TSGSRQ.js","/chunk-HD6VOT64.js","/chunk-HHR7XNBS.js","/chunk-HX52WUOX.js","/chunk-JTMKQHTX.js","/chunk-JU4HUJK4.js","/chunk-NWSKHRUH.js","/chunk-OKHEOOL4.js","/chunk-P4P4BT7I.js","/chunk-QJ7NYK5E.js","/chunk-SIRNYBE3.js","/chunk-U2LBQYEM.js","/chunk-WYJPZIEX.js"];
const ALL_CHUNKS = ["/chunk-2IAP56QV.js","/chunk-2M5BLLQ7.js","/chunk-7EESZ3Z7.js","/chunk-7JGZVRVW.js","/chunk-7PY7HBCN.js","/chunk-AMGVAGPL.js","/chunk-CAVQB5KW.js","/chunk-DVAY4UWJ.js","/chunk-EQQOJTFA.js","/chunk-EX6ZVQMP.js","/chunk-EYWLMD5L.js","/chunk-FWA3NBRS.js","/chunk-GU7NKLZ7.js","/chunk-GVVPJVOS.js","/chunk-H6TSGSRQ.js","/chunk-HD6VOT64.js","/chunk-HHR7XNBS.js","/chunk-HX52WUOX.js","/chunk-JTMKQHTX.js","/chunk-JU4HUJK4.js","/chunk-KGIKHU2C.js","/chunk-NHURDKR4.js","/chunk-NWSKHRUH.js","/chunk-OJ3WTK5D.js","/chunk-OKHEOOL4.js","/chunk-OM7GPWRH.js","/chunk-ONTJ2KLP.js","/chunk-OZ4ASVVZ.js","/chunk-P4P4BT7I.js","/chunk-QJ7NYK5E.js","/chunk-SIRNYBE3.js","/chunk-TIZWOJXH.js","/chunk-TOSI252P.js","/chunk-U2LBQYEM.js","/chunk-WVXPJGUZ.js","/chunk-WYJPZIEX.js","/chunk-Z47IBVBP.js","/chunk-Z7XYKBMN.js","/chunk-ZYODMRXC.js"];
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
