// Pieces of a diff line: the styles of its code and the words that changed, cut at the borders of both.

import type { TextRun, WordRanges } from "./contract";
import { visibleOrder } from "./visible";

export type LinePiece = { text: string; style: number; changed: boolean };

export function cutLine(text: string, words: WordRanges | undefined, runs: TextRun[] | undefined): LinePiece[] {
  const styled = runs !== undefined && runs.reduce((sum, [run]) => sum + run.length, 0) === text.length ? runs : [[text, 0] as TextRun];
  const pieces: LinePiece[] = [];
  let at = 0;
  for (const [run, style] of styled) {
    const end = at + run.length;
    while (at < end) {
      const range = words?.find(([, stop]) => stop > at);
      const changed = range !== undefined && range[0] <= at;
      const border = range === undefined ? end : Math.min(end, changed ? range[1] : range[0]);
      pieces.push({ text: visibleOrder(text.slice(at, border)), style, changed });
      at = border;
    }
  }
  return pieces;
}
