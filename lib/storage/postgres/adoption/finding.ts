/** Something that was found in a table before it is adopted. */
export interface Finding {
  /** Stable, for programs. */
  readonly kind: string;
  /** `obstacle`: the adoption is refused until it is gone. `note`: needs no action. */
  readonly weight: 'obstacle' | 'warning' | 'note';
  /** How many there are, where it can be counted. */
  readonly count?: number;
  /** What was found. */
  readonly what: string;
  /** What becomes of it. */
  readonly then: string;
  /** A few of them. */
  readonly examples?: readonly string[];
}

/** `1 row`, `2 rows`; numbers as people write them. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}
