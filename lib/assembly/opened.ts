/** Something open, and how to close it. */
export interface Opened<T> {
  readonly value: T;
  close(): Promise<void>;
}
