// Answers that a terminal emulator gives to queries in the output of a program. They look like typed text to the
// program, so output that is only shown must not cause any.

/** Control sequences that ask the terminal for something. */
export const CSI_QUERIES = [
  { final: "c" },
  { prefix: ">", final: "c" },
  { prefix: "=", final: "c" },
  { final: "n" },
  { prefix: "?", final: "n" },
  { final: "x" },
  { intermediates: "$", final: "p" },
  { prefix: "?", intermediates: "$", final: "p" },
  { prefix: ">", final: "q" },
  { prefix: "?", final: "u" },
  { final: "t" },
] as const;

/** Device control strings that ask the terminal for something. */
export const DCS_QUERIES = [
  { intermediates: "$", final: "q" },
  { intermediates: "+", final: "q" },
] as const;

/** Colours (4, 10 to 19) can be asked for; 8 makes links, 52 uses the clipboard. */
export const OSC_BLOCKED = [4, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 52];

const ANSWER = /^\x1b(?:\[[?>=]?[\d;]*(?:[cnt]|\$y)|[P\]])/;

/** Whether data of the emulator is an answer to a query. No key makes such a sequence. */
export function isAutomaticAnswer(data: string): boolean {
  return ANSWER.test(data);
}
