// Keeps the files of the page, so that it opens without the host. Everything else goes to the network.

const CACHE = "agenthost-shell";
/** The build fills in the parts that `app.js` imports at once, and all parts that it has. */
const SHELL_CHUNKS = ["/chunk-2CLT7BWH.js","/chunk-47P4P4LO.js","/chunk-5D4TZU2W.js","/chunk-7FUIJOWS.js","/chunk-EQQOJTFA.js","/chunk-GIDDUHZA.js","/chunk-HZM32WMU.js","/chunk-IPOTFAVT.js","/chunk-JC6LMEX6.js","/chunk-JTMKQHTX.js","/chunk-KWI3ZI64.js","/chunk-LGAHQH6K.js","/chunk-M2WTQYJM.js","/chunk-NHP5UJXM.js","/chunk-OXWD66VN.js","/chunk-V4SEJ6OI.js","/chunk-YQ5P4M5Q.js","/chunk-ZU3QZVAI.js","/chunk-ZX5J7T43.js"];
const ALL_CHUNKS = ["/chunk-2CLT7BWH.js","/chunk-35P3JPID.js","/chunk-3AY43N55.js","/chunk-47P4P4LO.js","/chunk-5D4TZU2W.js","/chunk-6AG6ITYI.js","/chunk-6AW6HZCS.js","/chunk-7FUIJOWS.js","/chunk-7HUMEDDM.js","/chunk-7SV6LKKL.js","/chunk-CL3MBSB5.js","/chunk-EH4HNR2Z.js","/chunk-EP4UFNXO.js","/chunk-EQQOJTFA.js","/chunk-FDIS3SQG.js","/chunk-FF4KUQ4R.js","/chunk-FPUUMPSR.js","/chunk-GHC6RAHZ.js","/chunk-GIDDUHZA.js","/chunk-HORTIBJR.js","/chunk-HZM32WMU.js","/chunk-IPOTFAVT.js","/chunk-JC6LMEX6.js","/chunk-JTMKQHTX.js","/chunk-JTPT6DX5.js","/chunk-KWI3ZI64.js","/chunk-LGAHQH6K.js","/chunk-M2WTQYJM.js","/chunk-MEFTFA4Z.js","/chunk-NHP5UJXM.js","/chunk-OXWD66VN.js","/chunk-P4PZVZSM.js","/chunk-QOK5VDUF.js","/chunk-RFVKBG7X.js","/chunk-RRZ7OWRB.js","/chunk-SLEBGKZR.js","/chunk-TAQEJCZJ.js","/chunk-TUYP6UVF.js","/chunk-V4SEJ6OI.js","/chunk-YQ5P4M5Q.js","/chunk-Z565YCPS.js","/chunk-ZU3QZVAI.js","/chunk-ZX5J7T43.js"];
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
