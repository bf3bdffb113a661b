// Output of programs as plain text.

/** Commands of terminals: CSI and OSC sequences, and those of two characters. */
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]P^_X][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])/g;

/** Other characters that are no text, or that change the direction of the text around them. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Returns the lines of an output, without escape sequences. */
export function outputLines(text: string): string[] {
  const plain = text.replace(ESCAPES, "").replace(/\r+\n/g, "\n").replace(/\n$/, "");
  return plain.split("\n").map((line) => line.replace(HIDDEN, "�"));
}
