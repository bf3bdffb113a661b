// Terminals of the page: the open one, its emulator, and where output goes.

import { request } from "./connection";
import type { TerminalOutput } from "./contract/terminals";
import { setOutputSink } from "./terminal-output";
import { messageOf, ui } from "./ui.svelte";

const SCREEN_READER_KEY = "agenthost.terminal.screenReader";
const FIRST_SIZE = { cols: 80, rows: 24 };
/** A separate file, so that the first load does not have it. */
const EMULATOR: string = "/terminal.js";

type Sink = (output: TerminalOutput) => Promise<void>;

class TerminalUi {
  /** URI of the terminal in the panel. */
  open = $state<string | undefined>();
  screenReader = $state(localStorage.getItem(SCREEN_READER_KEY) === "true");
  private readonly sinks = new Map<string, Sink>();

  constructor() {
    setOutputSink((output) => this.sinks.get(output.uri)?.(output) ?? Promise.resolve());
  }

  setScreenReader(value: boolean): void {
    this.screenReader = value;
    localStorage.setItem(SCREEN_READER_KEY, String(value));
  }

  show(uri: string): void {
    this.open = uri;
    ui.openPanel("terminals");
  }

  async create(): Promise<void> {
    try {
      const { uri } = await request<{ uri: string }>({ op: "terminal.create", ...FIRST_SIZE });
      this.open = uri;
    } catch (error) {
      ui.notify(messageOf(error));
    }
  }

  /** Passes the output of a terminal to its view until the returned function is called. */
  attach(uri: string, sink: Sink): () => void {
    this.sinks.set(uri, sink);
    void ui.send({ op: "terminal.open", uri });
    return () => {
      if (this.sinks.get(uri) === sink) {
        this.sinks.delete(uri);
        void ui.send({ op: "terminal.leave", uri });
      }
    };
  }
}

export const terminals = new TerminalUi();

export function loadEmulator(): Promise<typeof import("./terminal-view")> {
  return import(EMULATOR) as Promise<typeof import("./terminal-view")>;
}
