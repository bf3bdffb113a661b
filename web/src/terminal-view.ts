// The terminal emulator. It is a file of its own (`terminal.js`) that is loaded with the first terminal, and imports
// nothing else of the page.

import { FitAddon } from "@xterm/addon-fit";
import { Terminal, type ITheme } from "@xterm/xterm";
import { CSI_QUERIES, DCS_QUERIES, isAutomaticAnswer, OSC_BLOCKED } from "./terminal-answers";

export type TerminalSize = { cols: number; rows: number };
export type ViewOptions = {
  container: HTMLElement;
  label: string;
  fontSize: number;
  screenReader: boolean;
  /** Receives what the user types. */
  oninput(data: string): void;
  /** The user leaves the terminal by keyboard. */
  onleave(): void;
  /** Whether queries of the program may be answered. */
  mayAnswer(): boolean;
};

const SCROLLBACK_LINES = 10_000;

const DARK_COLORS = ["#2a2c36", "#f08b95", "#58b883", "#e3a13c", "#8db4f7", "#c49bf0", "#76c7d6", "#d5d7df"];
const LIGHT_COLORS = ["#1b1c22", "#b02634", "#14693a", "#875000", "#2757b8", "#7a3bb5", "#0e6d80", "#62656f"];
const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;

stampStyles();

export class TerminalView {
  private readonly terminal: Terminal;
  private readonly fit = new FitAddon();
  /** Resolves the writes that are under way when the view is closed. */
  private readonly open = new Set<() => void>();
  private redraws = 0;

  constructor(private readonly options: ViewOptions) {
    this.terminal = new Terminal({
      allowProposedApi: false,
      fontFamily: cssValue("--mono"),
      fontSize: options.fontSize,
      scrollback: SCROLLBACK_LINES,
      screenReaderMode: options.screenReader,
      cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
      linkHandler: { activate: () => {} },
    });
    this.terminal.loadAddon(this.fit);
    this.blockQueries();
    this.terminal.onData((data) => {
      if (!isAutomaticAnswer(data) || this.mayAnswer()) {
        options.oninput(data);
      }
    });
    this.terminal.attachCustomKeyEventHandler((event) => this.handleKey(event));
    this.updateTheme();
    this.terminal.open(options.container);
    this.terminal.textarea?.setAttribute("aria-label", options.label);
  }

  /** Shows output. The promise settles when it is drawn, or the view is closed. */
  write(data: string, isReset: boolean): Promise<void> {
    return new Promise((resolve) => {
      if (isReset) {
        this.redraws += 1;
        this.terminal.reset();
      }
      const done = () => {
        if (this.open.delete(done)) {
          this.redraws -= isReset ? 1 : 0;
          resolve();
        }
      };
      this.open.add(done);
      this.terminal.write(data, done);
    });
  }

  /** The size that fills the container. */
  bestSize(): TerminalSize | undefined {
    const size = this.fit.proposeDimensions();
    return size === undefined || !(size.cols > 1 && size.rows > 0) ? undefined : { cols: Math.min(size.cols, 1000), rows: Math.min(size.rows, 1000) };
  }

  setSize({ cols, rows }: TerminalSize): void {
    if (cols !== this.terminal.cols || rows !== this.terminal.rows) {
      this.terminal.resize(cols, rows);
    }
  }

  setScreenReader(value: boolean): void {
    this.terminal.options.screenReaderMode = value;
  }

  /** Takes the colours of the page. */
  updateTheme(): void {
    const isDark = getComputedStyle(document.documentElement).colorScheme.includes("dark");
    const colors = isDark ? DARK_COLORS : LIGHT_COLORS;
    const theme: ITheme = {
      background: cssValue("--bg"),
      foreground: cssValue("--text"),
      cursor: cssValue("--accent-text"),
      cursorAccent: cssValue("--bg"),
      selectionBackground: cssValue("--active"),
    };
    NAMES.forEach((name, index) => {
      theme[name] = colors[index] ?? "";
      theme[`bright${name[0]?.toUpperCase() ?? ""}${name.slice(1)}` as "brightBlack"] = colors[index] ?? "";
    });
    this.terminal.options.theme = theme;
    this.terminal.options.minimumContrastRatio = document.documentElement.dataset["theme"] === "contrast" ? 7 : 4.5;
  }

  focus(): void {
    this.terminal.focus();
  }

  /** Pastes text, as one piece if the program wants that. */
  paste(text: string): void {
    this.terminal.paste(text);
  }

  /** Sends an arrow key in the form that the program has asked for. */
  arrow(letter: "A" | "B" | "C" | "D"): void {
    this.options.oninput(`\x1b${this.terminal.modes.applicationCursorKeysMode ? "O" : "["}${letter}`);
  }

  /** The selected text, or the lines of the screen. */
  text(): string {
    if (this.terminal.hasSelection()) {
      return this.terminal.getSelection();
    }
    const buffer = this.terminal.buffer.active;
    const lines: string[] = [];
    for (let row = 0; row < this.terminal.rows; row += 1) {
      lines.push(buffer.getLine(buffer.viewportY + row)?.translateToString(true) ?? "");
    }
    return lines.join("\n").trimEnd();
  }

  close(): void {
    this.terminal.dispose();
    for (const done of [...this.open]) {
      done();
    }
  }

  /** Output that is drawn again contains queries that were answered when it was new. */
  private mayAnswer(): boolean {
    return this.redraws === 0 && this.options.mayAnswer();
  }

  private blockQueries(): void {
    const { parser } = this.terminal;
    for (const query of CSI_QUERIES) {
      parser.registerCsiHandler(query, () => !this.mayAnswer());
    }
    for (const query of DCS_QUERIES) {
      parser.registerDcsHandler(query, () => !this.mayAnswer());
    }
    for (const code of OSC_BLOCKED) {
      parser.registerOscHandler(code, () => true);
    }
  }

  private handleKey(event: KeyboardEvent): boolean {
    if (event.type !== "keydown") {
      return true;
    }
    if (event.key === "Escape" && event.shiftKey) {
      event.preventDefault();
      this.options.onleave();
      return false;
    }
    if (event.ctrlKey && event.shiftKey && event.code === "KeyC") {
      event.preventDefault();
      void navigator.clipboard?.writeText(this.text());
      return false;
    }
    // The browser pastes.
    return !(event.ctrlKey && event.shiftKey && event.code === "KeyV");
  }
}

function cssValue(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/**
 * The emulator makes its own styles, which the policy of the page allows only with the nonce, and gives characters a
 * `style` attribute, which the policy allows only as properties.
 */
function stampStyles(): void {
  const nonce = document.querySelector<HTMLLinkElement>("link[rel=stylesheet]")?.nonce ?? "";
  const create = document.createElement.bind(document) as (tag: string, options?: ElementCreationOptions) => HTMLElement;
  document.createElement = ((tag: string, options?: ElementCreationOptions) => {
    const element = create(tag, options);
    if (tag.toLowerCase() === "style") {
      element.nonce = nonce;
    } else if (tag.toLowerCase() === "span") {
      element.setAttribute = setAttribute;
    }
    return element;
  }) as typeof document.createElement;
}

function setAttribute(this: HTMLElement, name: string, value: string): void {
  if (name === "style") {
    this.style.cssText = value;
  } else {
    Element.prototype.setAttribute.call(this, name, value);
  }
}
