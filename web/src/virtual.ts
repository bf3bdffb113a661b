// Offsets of rows with different heights, of which only the visible ones exist. Pure: it knows no element.

export class RowLayout {
  private keys: readonly string[] = [];
  private positions = new Map<string, number>();
  private readonly heights = new Map<string, number>();
  private offsets = new Float64Array(1);
  /** Offsets up to this index are up to date. */
  private valid = 0;

  /** `estimate` gives the height of a row that was not drawn yet. */
  constructor(private readonly estimate: (key: string) => number) {}

  get length(): number {
    return this.keys.length;
  }

  setKeys(keys: readonly string[]): void {
    let same = 0;
    while (same < keys.length && keys[same] === this.keys[same]) {
      same += 1;
    }
    for (const key of this.keys.slice(same)) {
      this.positions.delete(key);
    }
    for (let index = same; index < keys.length; index += 1) {
      this.positions.set(keys[index] as string, index);
    }
    this.keys = keys;
    if (this.offsets.length < keys.length + 1) {
      const larger = new Float64Array(Math.ceil((keys.length + 1) * 1.5));
      larger.set(this.offsets);
      this.offsets = larger;
    }
    this.valid = Math.min(this.valid, same);
  }

  /** Stores the height of a row; `true` if it changed. */
  setHeight(key: string, height: number): boolean {
    const index = this.positions.get(key);
    if (index === undefined || this.heights.get(key) === height) {
      return false;
    }
    this.heights.set(key, height);
    this.valid = Math.min(this.valid, index);
    return true;
  }

  keyAt(index: number): string | undefined {
    return this.keys[index];
  }

  indexOf(key: string): number | undefined {
    return this.positions.get(key);
  }

  /** Distance of the row's upper edge from the start. The index after the last row gives the whole height. */
  offsetAt(index: number): number {
    const wanted = Math.min(index, this.keys.length);
    for (; this.valid < wanted; this.valid += 1) {
      const key = this.keys[this.valid] as string;
      const height = this.heights.get(key) ?? this.estimate(key);
      this.offsets[this.valid + 1] = (this.offsets[this.valid] as number) + height;
    }
    return this.offsets[wanted] as number;
  }

  get total(): number {
    return this.offsetAt(this.keys.length);
  }

  /** Index of the row that covers this offset. */
  indexAt(offset: number): number {
    this.offsetAt(this.keys.length);
    let low = 0;
    let high = this.keys.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.offsets[middle] as number) <= offset) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return Math.max(0, low);
  }
}
