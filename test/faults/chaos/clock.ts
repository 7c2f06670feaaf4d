const RealDate = Date;
let offsetMs = 0;

/** A clock that may be wrong; monotonic time and timers go on as ever. */
class SkewedDate extends RealDate {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(SkewedDate.now());
    else super(...(given as [number]));
  }

  static override now(): number {
    return RealDate.now() + offsetMs;
  }
}

/** Replaces this process's clock by one that can be moved. */
export function installClock(): (offset: number) => void {
  globalThis.Date = SkewedDate as DateConstructor;
  return (offset) => (offsetMs = offset);
}

/** The machine's monotonic clock in ms: the same for all of its processes. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
