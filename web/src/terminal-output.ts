// Output of terminals on its way from the worker to their views.

import type { TerminalOutput } from "./contract/terminals";

let sink: (output: TerminalOutput) => Promise<void> = () => Promise.resolve();

export function setOutputSink(next: typeof sink): void {
  sink = next;
}

/** Shows output. The promise settles when the view has drawn it, so that a slow view slows the worker down. */
export async function showOutput(output: TerminalOutput): Promise<void> {
  await sink(output);
}
