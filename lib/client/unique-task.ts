import { TarefaError } from '../errors.js';
import type { UniqueKey } from '../storage/inserts.js';
import { nearest } from '../values/nearest.js';
import { readFields } from '../values/read-fields.js';
import { shownValue } from '../values/shown-value.js';

/** At most one task of the queue has the key. */
export interface UniqueTask {
  /** Keys are of the whole queue: put the topic into yours. At most 198 characters; with `window` 197 for both. */
  readonly key: string;
  /**
   * How long the task has it. `live`, the default: until it has ended, whichever attempt that takes; a publication, until its
   * deliveries are made. `pending`: until a worker takes its first attempt.
   */
  readonly while?: 'live' | 'pending' | undefined;
  /**
   * Instead of `while`: the name of a period in which there is one task of the key, whatever has become of it. `2026-07-01` is
   * once a day. It is known until the task is purged, so a period should be shorter than that.
   */
  readonly window?: string | undefined;
  /**
   * What is done where another task has the key. `reject`, the default, throws `TASK_DUPLICATE`, which leaves a transaction as it
   * was; `return` answers the other's id; `replace`, for `while: 'pending'`, puts this task in the place of the other, under its
   * id: payload, due time, everything.
   */
  readonly onConflict?: 'reject' | 'return' | 'replace' | undefined;
}

const names = ['key', 'while', 'window', 'onConflict'] as const;
const longest = 200;
const prefixes: ReadonlyMap<unknown, string> = new Map([
  ['live', 'v'],
  ['pending', 'p'],
]);
const conflicts: readonly unknown[] = ['reject', 'return', 'replace'] satisfies UniqueTask['onConflict'][];

/**
 * Reads the field `unique` of a task.
 *
 * @throws {TarefaError} `INPUT_INVALID`
 */
export function readUnique(given: unknown): UniqueKey {
  if (typeof given !== 'string' && typeof given !== 'object') {
    throw new TarefaError(
      'INPUT_INVALID',
      `unique must be text, or an object with a key (got ${shownValue(given)}); nothing was inserted`,
    );
  }
  const fields = readFields('unique', typeof given === 'string' ? { key: given } : given, names, (name) => {
    const near = nearest(name, names);
    return `unique has no field '${name.slice(0, 100)}'${near === undefined ? '' : `: did you mean '${near}'?`}`;
  });
  const { key, window, onConflict = 'reject' } = fields;
  if (typeof key !== 'string' || key === '' || key.includes('\0')) {
    throw invalid('key', key, 'must be text, and not empty');
  }
  if (!conflicts.includes(onConflict)) {
    throw invalid('onConflict', onConflict, "must be 'reject', 'return' or 'replace'");
  }
  const prefix = prefixes.get(fields.while ?? 'live');
  if (prefix === undefined) throw invalid('while', fields.while, "must be 'live' or 'pending'");
  if (onConflict === 'replace' && (prefix !== 'p' || window !== undefined)) {
    throw invalid(
      'onConflict',
      onConflict,
      "can only replace a task that has not started: give while: 'pending'",
    );
  }
  if (window !== undefined) {
    if (typeof window !== 'string' || window === '' || /[\0@]/.test(window)) {
      throw invalid('window', window, 'must be the name of a period as text without @, such as 2026-07-01');
    }
    if (fields.while !== undefined)
      throw invalid('while', fields.while, 'must not be given together with window');
  }
  const stored = window === undefined ? `${prefix}:${key}` : `w:${key}@${window}`;
  if (Array.from(stored).length > longest) {
    throw new TarefaError(
      'INPUT_INVALID',
      `unique.key is too long: with its prefix and window, it may have at most ${longest} characters; nothing was inserted`,
    );
  }
  return { key, stored: stored.toWellFormed(), onConflict: onConflict as UniqueKey['onConflict'] };
}

/**
 * Refuses among many tasks what would leave some of them out without a word.
 *
 * @throws {TarefaError} `INPUT_INVALID`
 */
export function checkAmongMany(unique: UniqueKey | null): void {
  if (!unique || unique.onConflict === 'return') return;
  throw invalid(
    'onConflict',
    unique.onConflict,
    "must be 'return' when many tasks are inserted: where a key is taken, the id of the task that has it is returned, and the others are inserted",
  );
}

function invalid(field: string, value: unknown, problem: string): TarefaError {
  return new TarefaError(
    'INPUT_INVALID',
    `unique.${field} ${problem} (got ${shownValue(value)}); nothing was inserted`,
  );
}
