// Offsets of the rows of a diff, which have one height, and of blocks of other heights between them. Pure: it knows no
// element.

/** A block below a row; row -1 is above the first one. */
export type DiffBlock = { key: string; row: number };

export class BlockLayout {
  /** Sum of the heights of the blocks before each index. */
  private readonly sums: number[] = [0];

  /** `blocks` are sorted by row. */
  constructor(
    private readonly rowPx: number,
    private readonly total: number,
    private readonly blocks: readonly DiffBlock[],
    heightOf: (key: string) => number,
  ) {
    for (const { key } of blocks) {
      this.sums.push((this.sums.at(-1) as number) + heightOf(key));
    }
  }

  get height(): number {
    return this.total * this.rowPx + (this.sums.at(-1) as number);
  }

  offsetOfRow(row: number): number {
    return row * this.rowPx + (this.sums[this.blocksBefore(row)] as number);
  }

  offsetOfBlock(index: number): number {
    return ((this.blocks[index] as DiffBlock).row + 1) * this.rowPx + (this.sums[index] as number);
  }

  heightOfBlock(index: number): number {
    return (this.sums[index + 1] as number) - (this.sums[index] as number);
  }

  /** Index of the last row that begins at or before this offset. */
  rowAt(offset: number): number {
    let low = 0;
    let high = Math.max(0, this.total - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.offsetOfRow(middle) <= offset) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  /** Number of blocks above a row. */
  private blocksBefore(row: number): number {
    let low = 0;
    let high = this.blocks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.blocks[middle] as DiffBlock).row < row) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
}
