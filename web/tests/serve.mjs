// Serves a built page with the headers of the host, and pairs any device that knows the code TEST-CODE.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
  ".webmanifest": "application/manifest+json",
};

export const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self' 'nonce-test'",
  "connect-src 'self'",
  "img-src 'self' blob: data:",
  "worker-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types svelte-trusted-html agenthost-worker",
].join("; ");

/** Starts the server; resolves with its address and a function that stops it. */
export async function serve(folder) {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://host").pathname;
    if (path === "/pair" || path === "/device") {
      return pair(request, response);
    }
    const file = path === "/" ? "index.html" : normalize(path).slice(1);
    try {
      const body = await readFile(join(folder, file));
      response.writeHead(200, {
        "content-type": TYPES[extname(file)] ?? "application/octet-stream",
        "content-security-policy": POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
      });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

async function pair(request, response) {
  if (request.method === "GET") {
    return response.writeHead(request.headers.cookie?.includes("paired") ? 204 : 401).end();
  }
  let text = "";
  for await (const chunk of request) {
    text += chunk;
  }
  const { code } = JSON.parse(text);
  if (code === "LOCK-LOCK") {
    return response.writeHead(429).end();
  }
  if (code !== "TEST-CODE") {
    return response.writeHead(401).end();
  }
  return response.writeHead(204, { "set-cookie": "paired=1; HttpOnly; SameSite=Strict" }).end();
}
