// Text that must be kept as it is, such as a path, made safe to show.

const REORDERING = /[\u202a-\u202e\u2066-\u2069]/g;

/** Escapes the characters that change the order of others, as the frontend does it. */
export function visibleOrder(text: string): string {
  return text.replace(REORDERING, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`);
}
