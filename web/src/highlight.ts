// Highlights code in the worker. highlight.js is given an emitter that collects runs of text per line, so that no HTML
// is ever made.

import hljs from "highlight.js/lib/core";
import type { Emitter } from "highlight.js";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import type { TextRun } from "./contract";
import { styleOfScope } from "./highlight-styles";

/** Longer texts are returned without styles: a worker busy for a second delays the socket. */
const MAX_HIGHLIGHT_CHARS = 200_000;

const LANGUAGES = {
  bash, c, cpp, csharp, css, diff, dockerfile, go, ini, java, javascript, json, kotlin, makefile, markdown, python, ruby,
  rust, sql, swift, typescript, xml, yaml,
};

class RunEmitter implements Emitter {
  readonly lines: TextRun[][] = [[]];
  private readonly styles: number[] = [];

  addText(text: string): void {
    const style = this.styles.at(-1) ?? 0;
    let first = true;
    for (const piece of text.split("\n")) {
      if (!first) {
        this.lines.push([]);
      }
      first = false;
      if (piece !== "") {
        this.lines.at(-1)?.push([piece, style]);
      }
    }
  }

  startScope(scope: string): void {
    this.styles.push(styleOfScope(scope) || (this.styles.at(-1) ?? 0));
  }

  endScope(): void {
    this.styles.pop();
  }

  __addSublanguage(emitter: RunEmitter): void {
    emitter.lines.forEach((line, index) => {
      if (index > 0) {
        this.lines.push([]);
      }
      this.lines.at(-1)?.push(...line);
    });
  }

  // Required by the interface; `addText` and the scopes have done the work.
  openNode(scope: string): void {
    this.startScope(scope);
  }
  closeNode(): void {
    this.endScope();
  }
  finalize(): void {}
  closeAllNodes(): void {}
  toHTML(): string {
    return "";
  }
}

for (const [name, language] of Object.entries(LANGUAGES)) {
  hljs.registerLanguage(name, language);
}
hljs.configure({ __emitter: RunEmitter as never });

/** Splits `text` into runs per line. An unknown language gives one run per line. */
export function highlightLines(language: string, text: string): TextRun[][] {
  if (text.length > MAX_HIGHLIGHT_CHARS || !hljs.getLanguage(language)) {
    return text.split("\n").map((line) => [[line, 0]]);
  }
  const result = hljs.highlight(text, { language, ignoreIllegals: true });
  return (result._emitter as unknown as RunEmitter).lines;
}
