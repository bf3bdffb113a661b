// Bundles the page. `node build.mjs [--mock] [folder]`; the folder is `dist-dev` by default.
//
// The output depends only on the sources and the lock file: file names are fixed, paths are relative to this folder,
// and nothing contains a time. `--mock` replaces the worker by one that plays canned patches.

import { appendFile, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { compile, compileModule } from "svelte/compiler";

const root = dirname(fileURLToPath(import.meta.url));
const words = process.argv.slice(2);
const mock = words.includes("--mock");
const target = resolve(process.cwd(), words.find((word) => !word.startsWith("--")) ?? "dist-dev");

/** Styles of the components by file. All of them go into `app.css`: nothing would load those of a later chunk. */
const styles = new Map();

/** Compiles `.svelte` and `.svelte.ts` files. */
const svelte = {
  name: "svelte",
  setup(build) {

    build.onLoad({ filter: /\.svelte$/, namespace: "file" }, async ({ path }) => {
      const filename = relative(root, path);
      const { js, css, warnings } = compile(await readFile(path, "utf8"), {
        filename,
        generate: "client",
        css: "external",
        cssHash: ({ name, hash, css }) => `${name.toLowerCase()}-${hash(css).slice(0, 4)}`,
        dev: false,
      });
      if (css?.code) {
        styles.set(filename, css.code);
      }
      return { contents: js.code, loader: "js", warnings: warnings.map((warning) => describe(warning, filename)) };
    });

    build.onLoad({ filter: /\.svelte\.ts$/, namespace: "file" }, async ({ path }) => {
      const filename = relative(root, path);
      const plain = await esbuild.transform(await readFile(path, "utf8"), {
        loader: "ts",
        target: "es2022",
        tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
      });
      const { js, warnings } = compileModule(plain.code, { filename, generate: "client", dev: false });
      return { contents: js.code, loader: "js", warnings: warnings.map((warning) => describe(warning, filename)) };
    });
  },
};

function describe(warning, filename) {
  return {
    text: `${warning.message} [${warning.code}]`,
    location: { file: filename, line: warning.start?.line, column: warning.start?.column },
  };
}

await rm(target, { recursive: true, force: true });
await mkdir(target, { recursive: true });
await cp(resolve(root, "public"), target, { recursive: true });

const targets = ["es2022", "chrome116", "firefox121", "safari17"];
const options = {
  absWorkingDir: root,
  outdir: target,
  plugins: [svelte],
  bundle: true,
  format: "esm",
  target: targets,
  conditions: ["svelte", "browser", "production"],
  mainFields: ["svelte", "browser", "module", "main"],
  define: { "process.env.NODE_ENV": '"production"' },
  minify: true,
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
};
const builds = [
  // Parts of the page that are imported on demand are files of their own.
  { entryPoints: { app: "src/main.ts" }, splitting: true, chunkNames: "chunk-[hash]" },
  {
    entryPoints: {
      worker: mock ? "tests/mock-worker.ts" : "src/worker.ts",
      terminal: "src/terminal-view.ts",
      highlight: "src/highlight.ts",
      "mcp-app": "src/mcp-app.ts",
    },
  },
];
const outputs = {};
for (const build of builds) {
  const result = await esbuild.build({ ...options, ...build, metafile: true });
  Object.assign(outputs, Object.fromEntries(Object.entries(result.metafile.outputs).map(([path, output]) => [basename(path), output])));
  if (result.warnings.length > 0) {
    process.exitCode = 1;
  }
}

/** Adds the files that a file imports at once, in any depth. */
function addImports(name, found) {
  for (const { path, kind } of outputs[name].imports) {
    const imported = basename(path);
    if (kind === "import-statement" && !found.has(imported)) {
      found.add(imported);
      addImports(imported, found);
    }
  }
  return found;
}

/** Names the parts of the page in the service worker, which loads those of the shell before they are used. */
async function fillServiceWorker() {
  const path = resolve(target, "sw.js");
  const list = (names) => JSON.stringify([...names].sort().map((name) => `/${name}`));
  const chunks = Object.keys(outputs).filter((name) => name.startsWith("chunk-"));
  const source = await readFile(path, "utf8");
  const filled = source
    .replace("const SHELL_CHUNKS = [];", `const SHELL_CHUNKS = ${list(addImports("app.js", new Set()))};`)
    .replace("const ALL_CHUNKS = [];", `const ALL_CHUNKS = ${list(chunks)};`);
  await writeFile(path, filled);
}
await fillServiceWorker();
const ofComponents = [...styles.keys()].sort().map((file) => styles.get(file));
const css = await esbuild.transform(ofComponents.join("\n"), { loader: "css", minify: true, target: targets });
await appendFile(resolve(target, "app.css"), css.code);
