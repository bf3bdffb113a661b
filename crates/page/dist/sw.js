// Keeps the files of the page, so that it opens without the host. Everything else goes to the network.

const CACHE = "agenthost-shell";
/** The build fills in the parts that `app.js` imports at once, and all parts that it has. */
const SHELL_CHUNKS = ["/chunk-2CLT7BWH.js","/chunk-2HV5ZIJU.js","/chunk-4ZQJWYTV.js","/chunk-5DMWHDNC.js","/chunk-6DRCUFPQ.js","/chunk-7J6A2G3U.js","/chunk-AJA7CO24.js","/chunk-B5ZFLHX3.js","/chunk-BQ3S2CYO.js","/chunk-EQQOJTFA.js","/chunk-F6YPHNYD.js","/chunk-JPDBMQTR.js","/chunk-JTMKQHTX.js","/chunk-LFXSKH2W.js","/chunk-VGC4RMT3.js","/chunk-WRD7CUYR.js","/chunk-YAEKUKAX.js","/chunk-YY33V5J5.js","/chunk-YYBOCL6I.js"];
const ALL_CHUNKS = ["/chunk-2CLT7BWH.js","/chunk-2HV5ZIJU.js","/chunk-3OZGGYGE.js","/chunk-4ZQJWYTV.js","/chunk-5DMWHDNC.js","/chunk-6DRCUFPQ.js","/chunk-6KSQBUVF.js","/chunk-7HKH2USM.js","/chunk-7J6A2G3U.js","/chunk-7P3FB4YP.js","/chunk-AJA7CO24.js","/chunk-B5ZFLHX3.js","/chunk-BLAIHGDB.js","/chunk-BQ3S2CYO.js","/chunk-BS5ZWPHM.js","/chunk-BTPP6N4M.js","/chunk-CGRFQLYO.js","/chunk-DDMDY5LD.js","/chunk-EAA5GQ6L.js","/chunk-EC5ZAFGE.js","/chunk-EQQOJTFA.js","/chunk-EUL4TON6.js","/chunk-F6YPHNYD.js","/chunk-HKRULUD6.js","/chunk-JIGVKERL.js","/chunk-JPDBMQTR.js","/chunk-JTMKQHTX.js","/chunk-LFXSKH2W.js","/chunk-LHQWPLWP.js","/chunk-NPXQ7XPR.js","/chunk-NYNJ2INL.js","/chunk-PM2W3KU7.js","/chunk-TRQN5HJF.js","/chunk-TUDEUP5G.js","/chunk-VG6SAR7Q.js","/chunk-VGC4RMT3.js","/chunk-WRD7CUYR.js","/chunk-YAEKUKAX.js","/chunk-YN345ZLJ.js","/chunk-YY33V5J5.js","/chunk-YYBOCL6I.js","/chunk-Z5I6JT57.js","/chunk-ZSYW3XJA.js"];
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
