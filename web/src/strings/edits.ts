// Texts of edits that wait for approval.

const count = (value: number, one: string, many: string) => `${value} ${value === 1 ? one : many}`;

export const edits = {
  unreadable: (reason: string) => `This change can't be shown: ${reason}.`,
  readAgain: "Try again",
  sameText: "The text stays the same.",
  noNewline: "(no newline at the end)",
  moreRows: (rows: number) => `${count(rows, "more line", "more lines")} · Load`,
  moreFiles: (files: number) => `${count(files, "more file", "more files")} · Show`,
};
