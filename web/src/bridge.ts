// The raw interface of the WebAssembly core: JSON text in, JSON text out.
//
// Exports: `memory`; `page_alloc(length)` returns the address of an input region; `page_step(address, length)` takes
// that region over and returns the address of an output region, whose first four bytes are the length of the text
// behind them (little-endian); `page_free(address)` releases the output region.

import type { Command, Patch } from "./contract";

/** An event that the worker reports to the frontend. */
export type CoreInput =
  | { kind: "open"; url: string; clientId: string; name: string; saved?: string }
  | { kind: "socketOpened" }
  | { kind: "socketText"; text: string }
  | { kind: "socketClosed"; code: number; reason: string }
  | { kind: "signedOut" }
  | { kind: "online" }
  | { kind: "hidden" }
  | { kind: "do"; id: number; command: Command }
  | { kind: "timer" }
  | { kind: "frame" };

/** A request of the frontend to the worker. `wake` without a delay cancels the timer. */
export type CoreEffect =
  | { kind: "connect"; url: string }
  | { kind: "sendText"; text: string }
  | { kind: "disconnect" }
  | { kind: "wake"; afterMs?: number }
  | { kind: "wantFrame" }
  | { kind: "patch"; patches: Patch[] }
  | { kind: "terminalOutput"; uri: string; isReset: boolean; data: string }
  | { kind: "done"; id: number; error?: string; value?: unknown }
  | { kind: "save"; text: string };

type CoreExports = {
  memory: WebAssembly.Memory;
  page_alloc(length: number): number;
  page_step(address: number, length: number): number;
  page_free(address: number): void;
};

/** The core, loaded. `step` is synchronous and must not be called from within itself. */
export class PageCore {
  private readonly encoder = new TextEncoder();
  private readonly decoder = new TextDecoder();

  private constructor(private readonly exports: CoreExports) {}

  static async load(url: string): Promise<PageCore> {
    const { instance } = await WebAssembly.instantiateStreaming(fetch(url), {});
    return new PageCore(instance.exports as unknown as CoreExports);
  }

  /** Passes one input and the present time to the frontend, and returns what it wants done, in order. */
  step(input: CoreInput): CoreEffect[] {
    const bytes = this.encoder.encode(JSON.stringify({ now: Date.now(), input: tagged(input) }));
    const address = this.exports.page_alloc(bytes.length);
    new Uint8Array(this.exports.memory.buffer, address, bytes.length).set(bytes);

    const output = this.exports.page_step(address, bytes.length);
    // The memory may have grown, which replaces its buffer.
    const buffer = this.exports.memory.buffer;
    const length = new DataView(buffer).getUint32(output, true);
    const text = this.decoder.decode(new Uint8Array(buffer, output + 4, length));
    this.exports.page_free(output);
    return JSON.parse(text) as CoreEffect[];
  }
}

/** Moves the tags of an input and its command outside: `{ timer: {} }`, `{ do: { id, command: { terminal: { open: {} } } } }`. */
function tagged({ kind, ...fields }: CoreInput): object {
  if (!("command" in fields)) {
    return { [kind]: fields };
  }
  const { op, ...rest } = fields.command;
  const command = op.split(".").reduceRight<object>((value, word) => ({ [word]: value }), rest);
  return { [kind]: { ...fields, command } };
}
