// What the pools of both drivers have in common: who is lent a connection, and how long its answers may take.

/** What a {@link ConnectionLine} gets its connections from. */
export interface LineParts<C> {
  /** Most connections that are lent or being opened. */
  readonly max: number;
  /** Takes one that is idle, or opens one. */
  readonly open: () => Promise<C>;
  /** Takes one back for which nobody has waited for a while, to close it at last; at once when it is not to be lent again. */
  readonly keep: (connection: C) => void;
  /** False for one that is closed, or not to be lent again. When that happens to one at hand, {@link ConnectionLine.drop} is told. */
  readonly isUsable: (connection: C) => boolean;
  /** True for an error that the open connections do not make up for: whoever waits is told. */
  readonly isFinal?: ((error: unknown) => boolean) | undefined;
  /** Told when one could not be opened, and that those who wait share so many others. */
  readonly shared?: ((error: unknown, others: number) => void) | undefined;
}

interface Waiting<C> {
  readonly resolve: (connection: C) => void;
  readonly reject: (error: unknown) => void;
  /** By the monotonic clock. */
  readonly since: number;
  readonly patienceMs: number;
}

/** How long a request waits that may come from whoever holds the only connections, and would wait for itself. */
export const defaultPatienceMs = 10_000;

/** How soon after one could not be opened the next one is tried: each costs the server a process. */
const restMs = 1_000;

/** How long at most a connection stays at hand before the driver's pool gets it. */
const atHandMs = 1_000;

/**
 * Those who wait for a connection, and get whichever comes first: one that is given back, or a new one. The drivers' pools tie
 * who waits to the connection that they begin to open, so that a server without room fails requests beside connections that come
 * back all the time.
 */
export class ConnectionLine<C extends object> {
  readonly #parts: LineParts<C>;
  readonly #waiting: Waiting<C>[] = [];
  readonly #lent = new Set<C>();
  /**
   * Came back for nobody, and are lent again first, the last one before the others: the way through a driver's pool and out again
   * costs this process a tenth of an insert.
   */
  readonly #atHand: C[] = [];
  #tidying: NodeJS.Timeout | undefined;
  /** Connections on their way, for whoever is first in line then. */
  #asked = 0;
  /** Those that were kept and not asked for since; a driver may have closed some. */
  #idle = 0;
  #rest: NodeJS.Timeout | undefined;
  #closed: Error | undefined;

  constructor(parts: LineParts<C>) {
    this.#parts = parts;
  }

  /** True when whoever comes now has to wait for a connection that somebody has, or waits for. */
  get isExhausted(): boolean {
    return this.#lent.size + this.#waiting.length >= this.#parts.max;
  }

  /**
   * Lends a connection. Whoever gets it says {@link back}. Waiting for those that are lent has no limit.
   *
   * @param patienceMs how long it waits for those when no more can be opened; then it rejects with why not
   */
  take(patienceMs: number): Promise<C> {
    if (this.#closed) return Promise.reject(this.#closed);
    const ready = this.#atHand.pop();
    if (ready) {
      this.#lent.add(ready);
      return Promise.resolve(ready);
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject, since: performance.now(), patienceMs });
      this.#askForMore();
    });
  }

  /** One that was lent is back. Others are not of interest, nor is one twice. */
  back(connection: C): void {
    if (!this.#lent.delete(connection)) return;
    const isUsable = this.#parts.isUsable(connection);
    const next = isUsable ? this.#waiting.shift() : undefined;
    if (next) {
      this.#lent.add(connection);
      next.resolve(connection);
    } else if (isUsable && !this.#closed) {
      this.#atHand.push(connection);
      this.#tidying ??= setTimeout(() => this.tidy(), atHandMs).unref();
    } else {
      this.#leave(connection);
      this.#askForMore();
    }
  }

  /** One that was lent is gone. */
  gone(connection: C): void {
    if (this.#lent.delete(connection)) this.#askForMore();
  }

  /** One is closed, or not to be lent again. Returns whether it was at hand. */
  drop(connection: C): boolean {
    const place = this.#atHand.indexOf(connection);
    if (place === -1) return false;
    this.#atHand.splice(place, 1);
    this.#leave(connection);
    return true;
  }

  /** Leaves to the driver what is at hand. */
  tidy(): void {
    clearTimeout(this.#tidying);
    this.#tidying = undefined;
    for (const connection of this.#atHand.splice(0)) this.#leave(connection);
  }

  #leave(connection: C): void {
    if (this.#parts.isUsable(connection)) this.#idle += 1;
    this.#parts.keep(connection);
  }

  /** From now on requests are rejected, and those for which no connection is on its way. */
  close(error: Error): void {
    this.#closed = error;
    clearTimeout(this.#rest);
    this.tidy();
    this.#rejectFrom(this.#asked, error);
  }

  /** Those on their way may take long, or never come: one that is idle is asked for anyway. */
  #askForMore(): void {
    if (this.#waiting.length > (this.#idle > 0 ? 0 : this.#asked)) this.#ask();
  }

  /** Asks for one, unless that has no prospect now. */
  #ask(): void {
    if (this.#lent.size + this.#asked >= this.#parts.max) return;
    const mayOpen = !this.#rest || this.#lent.size + this.#asked === 0;
    if (this.#idle === 0 && !mayOpen) return;
    this.#idle = Math.max(0, this.#idle - 1);
    this.#asked += 1;
    this.#parts.open().then(
      (connection) => this.#serve(connection),
      (error: unknown) => this.#refuse(error),
    );
  }

  #serve(connection: C): void {
    this.#asked -= 1;
    const next = this.#waiting.shift();
    if (next) {
      this.#lent.add(connection);
      next.resolve(connection);
    } else this.#leave(connection);
    this.#askForMore();
  }

  #refuse(error: unknown): void {
    this.#asked -= 1;
    const { isFinal, shared } = this.#parts;
    if (isFinal?.(error)) return this.#rejectFrom(0, error);
    if (this.#closed) return this.#rejectFrom(this.#asked, error);
    if (this.#lent.size > 0) {
      shared?.(error, this.#lent.size);
      this.#restFrom(error);
    } else if (this.#idle > 0) {
      this.#askForMore();
    } else if (this.#asked === 0) this.#rejectFrom(0, error);
  }

  /** Whoever waits shares those that are lent, until another one is tried. */
  #restFrom(error: unknown): void {
    this.#rest ??= setTimeout(() => {
      this.#rest = undefined;
      if (this.#waiting.length > 0) this.#ask();
    }, restMs).unref();
    const now = performance.now();
    const impatient = this.#waiting.filter(({ since, patienceMs }) => now - since >= patienceMs);
    for (const one of impatient) {
      this.#waiting.splice(this.#waiting.indexOf(one), 1);
      one.reject(error);
    }
  }

  #rejectFrom(place: number, error: unknown): void {
    for (const { reject } of this.#waiting.splice(place)) reject(error);
  }
}

/** What is said where no more connections can be opened. */
export function sharedText(reason: string, others: number): string {
  return (
    `another connection to the database could not be opened (${reason}): until it can, tasks and inserts share the ${others} in use. ` +
    `Raise the server's limit or the role's, or lower poolSize`
  );
}

/** How long an answer may take before the server is asked what it is doing. */
const limitMs = 30_000;
/** Added to it: after a pause of the whole process its timers run before it reads what has arrived. */
const graceMs = 5_000;
/** How often a server is asked that cannot tell. Five minutes: poolers let a statement wait for a connection for two of them. */
const mostUntold = 9;

export interface AnswerWatch {
  /**
   * Asks the server, over another connection, whether it is at work on the statement. Undefined where it cannot tell, as behind a
   * pooler; rejects where nobody can be asked.
   */
  readonly isAtWork: () => Promise<boolean | undefined>;
  /** Ends the connection, so that whoever waits for its answers is told. */
  readonly cut: (reason: Error) => void;
}

/**
 * Waits for the answer to a statement of the library's on a connection of a pool. A server may be at work on it for long: it waits
 * for a lock, or reads much. When it is not, or nobody can be asked, the connection has fallen silent, because a firewall has
 * forgotten it or this process was frozen, and is cut: the system would send again and again for a quarter of an hour. Where the
 * server cannot tell, that is taken for work for some minutes.
 */
export function watchAnswer<T>(answer: Promise<T>, { isAtWork, cut }: AnswerWatch): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let isAnswered = false;
  let untold = 0;
  const look = async (): Promise<void> => {
    const isWorking = await isAtWork().catch(() => false);
    if (isAnswered) return;
    untold = isWorking === undefined ? untold + 1 : 0;
    if (isWorking || (untold > 0 && untold < mostUntold)) return wait();
    const seconds = (Math.max(1, untold) * (limitMs + graceMs)) / 1_000;
    cut(new Error(`Connection terminated: no answer in ${seconds} s`));
  };
  const wait = (): void => {
    timer = setTimeout(() => (timer = setTimeout(() => void look(), graceMs).unref()), limitMs).unref();
  };
  wait();
  const stop = (): void => {
    isAnswered = true;
    clearTimeout(timer);
  };
  // The promise is answered as it is: errors of statements that were sent together are told in their order.
  answer.then(stop, stop);
  return answer;
}
