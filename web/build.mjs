// Bundles the page. `node build.mjs [--mock] [folder]`; the folder is `dist-dev` by default.
//
// The output depends only on the sources and the lock file: file names are fixed, paths are relative to this folder,
// and nothing contains a time. `--mock` replaces the worker by one that plays canned patches.

import { cp, mkdir, readFile, rm } from "node:fs/promises";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { compile, compileModule } from "svelte/compiler";

const root = dirname(fileURLToPath(import.meta.url));
const words = process.argv.slice(2);
const mock = words.includes("--mock");
const target = resolve(process.cwd(), words.find((word) => !word.startsWith("--")) ?? "dist-dev");

/** Compiles `.svelte` and `.svelte.ts` files. The styles of a component become a CSS file of the bundle. */
const svelte = {
  name: "svelte",
  setup(build) {
    const styles = new Map();

    build.onLoad({ filter: /\.svelte$/, namespace: "file" }, async ({ path }) => {
      const filename = relative(root, path);
      const { js, css, warnings } = compile(await readFile(path, "utf8"), {
        filename,
        generate: "client",
        css: "external",
        cssHash: ({ name, hash, css }) => `${name.toLowerCase()}-${hash(css).slice(0, 4)}`,
        dev: false,
      });
      let contents = js.code;
      if (css?.code) {
        styles.set(filename, css.code);
        contents += `\nimport ${JSON.stringify(`styles:${filename}`)};`;
      }
      return { contents, loader: "js", warnings: warnings.map((warning) => describe(warning, filename)) };
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

    build.onResolve({ filter: /^styles:/ }, ({ path }) => ({ path: path.slice("styles:".length), namespace: "styles" }));
    build.onLoad({ filter: /.*/, namespace: "styles" }, ({ path }) => ({ contents: styles.get(path), loader: "css" }));
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

const result = await esbuild.build({
  absWorkingDir: root,
  entryPoints: {
    app: "src/main.ts",
    worker: mock ? "tests/mock-worker.ts" : "src/worker.ts",
    terminal: "src/terminal-view.ts",
    highlight: "src/highlight.ts",
  },
  outdir: target,
  plugins: [svelte],
  bundle: true,
  format: "esm",
  target: ["es2022", "chrome116", "firefox121", "safari17"],
  conditions: ["svelte", "browser", "production"],
  mainFields: ["svelte", "browser", "module", "main"],
  define: { "process.env.NODE_ENV": '"production"' },
  minify: true,
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
});
if (result.warnings.length > 0) {
  process.exitCode = 1;
}
