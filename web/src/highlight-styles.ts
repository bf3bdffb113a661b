// Styles of highlighted code, shared by the worker (which assigns them) and the page (which has a class for each).

/** Names of the classes; a run has the index. The first is for plain text. */
export const HIGHLIGHT_CLASSES = [
  "",
  "h-keyword",
  "h-string",
  "h-number",
  "h-comment",
  "h-name",
  "h-type",
  "h-attribute",
  "h-added",
  "h-removed",
] as const;

type HighlightClass = (typeof HIGHLIGHT_CLASSES)[number];

const SCOPES: Record<string, HighlightClass> = {
  keyword: "h-keyword",
  literal: "h-keyword",
  "variable.language": "h-keyword",
  "template-tag": "h-keyword",
  "selector-tag": "h-keyword",
  string: "h-string",
  regexp: "h-string",
  "char.escape": "h-string",
  link: "h-string",
  number: "h-number",
  symbol: "h-number",
  bullet: "h-number",
  comment: "h-comment",
  quote: "h-comment",
  doctag: "h-comment",
  "title.function": "h-name",
  "title.function.invoke": "h-name",
  title: "h-name",
  section: "h-name",
  name: "h-keyword",
  "title.class": "h-type",
  "title.class.inherited": "h-type",
  type: "h-type",
  built_in: "h-type",
  "selector-class": "h-type",
  "selector-id": "h-type",
  attr: "h-attribute",
  attribute: "h-attribute",
  meta: "h-attribute",
  property: "h-attribute",
  addition: "h-added",
  deletion: "h-removed",
};

/** Index of the class for a scope of highlight.js, or 0. */
export function styleOfScope(scope: string): number {
  const name = SCOPES[scope] ?? SCOPES[scope.split(".")[0] ?? ""];
  return name === undefined ? 0 : HIGHLIGHT_CLASSES.indexOf(name);
}

const EXTENSIONS: Record<string, string> = {
  rs: "rust", ts: "typescript", tsx: "typescript", mts: "typescript", js: "javascript", mjs: "javascript", jsx: "javascript",
  py: "python", rb: "ruby", go: "go", java: "java", kt: "kotlin", swift: "swift", c: "c", h: "c", cc: "cpp", cpp: "cpp",
  hpp: "cpp", cs: "csharp", css: "css", html: "xml", svelte: "xml", vue: "xml", xml: "xml", svg: "xml", json: "json",
  toml: "ini", ini: "ini", yaml: "yaml", yml: "yaml", md: "markdown", sh: "bash", bash: "bash", zsh: "bash", sql: "sql",
  diff: "diff", patch: "diff",
};

/** Language of a file by its name. */
export function languageOfPath(path: string): string | undefined {
  const name = path.split("/").at(-1) ?? "";
  if (name === "Dockerfile") return "dockerfile";
  if (name === "Makefile") return "makefile";
  return EXTENSIONS[name.split(".").at(-1)?.toLowerCase() ?? ""];
}
