import { closeSync, openSync, readFileSync, readdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { monotonicMs } from './clock.js';

/**
 * What producer, workers and nemesis saw, in files of their own: the database is what is being judged, so it
 * cannot be the witness. `at` is the monotonic clock in ms, `wall` the real time.
 */
export type Entry =
  | {
      readonly event: 'attempted';
      readonly key: string;
      readonly kind: string;
      /** Subscriptions that a publication is to reach. */
      readonly subscriptions?: readonly string[];
      readonly delayMs?: number;
      readonly wall: number;
    }
  | { readonly event: 'acked'; readonly key: string; readonly wall: number }
  /** Certainly not inserted. */
  | { readonly event: 'refused'; readonly key: string; readonly error: string }
  /** Inserted or not. */
  | { readonly event: 'unknown'; readonly key: string; readonly error: string }
  | {
      readonly event: 'start';
      readonly key: string;
      /** Row of the attempt, first row of its chain. */
      readonly id: string;
      readonly root: string;
      readonly attempt: number;
      readonly dead: boolean;
      readonly pid: number;
      readonly at: number;
    }
  | { readonly event: 'end'; readonly id: string; readonly pid: number; readonly at: number }
  /** The worker was told that the attempt is no longer its own. */
  | { readonly event: 'told'; readonly id: string; readonly pid: number; readonly at: number }
  /** The transaction in which a handler works. */
  | {
      readonly event: 'transaction';
      readonly id: string;
      readonly backend: string;
      readonly xid: string;
      readonly app: string;
    }
  | { readonly event: 'failpoint'; readonly point: string; readonly pid: number; readonly at: number }
  | { readonly event: 'exit'; readonly pid: number; readonly at: number }
  /** A worker died with these rows in flight. */
  | {
      readonly event: 'death';
      readonly workerId: string;
      readonly ids: readonly string[];
      readonly wall: number;
    }
  /** A task recurred at these times, the first one included and the last one not: ms since 1970. */
  | { readonly event: 'recurred'; readonly from: number; readonly to: number }
  /** Somebody held locks on rows of the queue. */
  | { readonly event: 'locked'; readonly ids: readonly string[]; readonly from: number; readonly to: number }
  /** The server's clock was another; these are its times that cannot be compared with others. */
  | { readonly event: 'clock'; readonly from: number; readonly to: number };

export type EntryOf<Event extends Entry['event']> = Extract<Entry, { event: Event }>;

/** Appends to one file. Written synchronously, so that the last line of a killed process is there. */
export class HistoryWriter {
  readonly #file: number;

  constructor(folder: string, name: string) {
    this.#file = openSync(join(folder, `${name}.jsonl`), 'a');
  }

  write(entry: Entry): void {
    writeSync(this.#file, `${JSON.stringify(entry)}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** One run of a handler. */
export interface Run extends EntryOf<'start'> {
  /** Undefined when the process ended before the handler. */
  readonly endedAt: number | undefined;
  readonly told: boolean;
}

/** Everything that was written down, sorted by what it is. */
export interface History {
  readonly attempted: ReadonlyMap<string, EntryOf<'attempted'>>;
  readonly acked: ReadonlyMap<string, EntryOf<'acked'>>;
  readonly refused: ReadonlySet<string>;
  readonly unknown: ReadonlySet<string>;
  readonly runs: readonly Run[];
  readonly transactions: readonly EntryOf<'transaction'>[];
  readonly exits: ReadonlyMap<number, number>;
  readonly deaths: readonly EntryOf<'death'>[];
  readonly recurred: readonly EntryOf<'recurred'>[];
  readonly locks: readonly EntryOf<'locked'>[];
  readonly clocks: readonly EntryOf<'clock'>[];
}

/** Reads all files of a folder. A line cut off by a kill is left out. */
export function readHistory(folder: string): History {
  const entries = readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').flatMap(parse));
  return sortHistory(entries);
}

/** The same from entries at hand, for tests of the oracles. */
export function sortHistory(entries: readonly Entry[]): History {
  const of = <Event extends Entry['event']>(event: Event): EntryOf<Event>[] =>
    entries.filter((entry): entry is EntryOf<Event> => entry.event === event);
  const ends = new Map(of('end').map(({ pid, id, at }) => [`${pid}/${id}`, at]));
  const told = new Set(of('told').map(({ pid, id }) => `${pid}/${id}`));
  return {
    attempted: new Map(of('attempted').map((entry) => [entry.key, entry])),
    acked: new Map(of('acked').map((entry) => [entry.key, entry])),
    refused: new Set(of('refused').map(({ key }) => key)),
    unknown: new Set(of('unknown').map(({ key }) => key)),
    runs: of('start').map((start) => ({
      ...start,
      endedAt: ends.get(`${start.pid}/${start.id}`),
      told: told.has(`${start.pid}/${start.id}`),
    })),
    transactions: of('transaction'),
    exits: new Map(of('exit').map(({ pid, at }) => [pid, at])),
    deaths: of('death'),
    recurred: of('recurred'),
    locks: of('locked'),
    clocks: of('clock'),
  };
}

/** Now, as entries write it. */
export function now(): { readonly at: number; readonly wall: number } {
  return { at: monotonicMs(), wall: Date.now() };
}

function parse(line: string): Entry[] {
  try {
    return [JSON.parse(line) as Entry];
  } catch {
    return [];
  }
}
