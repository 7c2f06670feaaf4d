import { failureMessage } from '../values/failure-text.js';
import type { KeptTask } from './purge-blocks.js';

/** Reasons that are told; there are no more, unless a message names its row. */
const mostReasons = 5;
/** Rows remembered. */
const mostRows = 100_000;
/** They are tried again after that: what refers to them may be gone. */
const knownForMs = 86_400_000;

/** Tasks that a purge has to leave though they are old, by what the database says of them. It leaves them for a day. */
export class KeptTasks {
  readonly #now: () => number;
  #since: number | undefined;
  readonly #ids = new Set<string>();
  readonly #reasons = new Map<string, { readonly id: string; tasks: number }>();

  /** @param now a clock in ms that never goes back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Of ids those that it has not met lately. */
  without(ids: readonly string[]): readonly string[] {
    if (this.#since !== undefined && this.#now() - this.#since > knownForMs) this.#forget();
    return this.#ids.size === 0 ? ids : ids.filter((id) => !this.#ids.has(id));
  }

  add(kept: readonly KeptTask[]): void {
    if (kept.length > 0) this.#since ??= this.#now();
    for (const { ids, error } of kept) {
      if (this.#ids.size < mostRows) for (const id of ids) this.#ids.add(id);
      const reason = failureMessage(error);
      const known = this.#reasons.get(reason);
      if (known) known.tasks += 1;
      else if (this.#reasons.size < mostReasons) this.#reasons.set(reason, { id: ids[0] ?? '', tasks: 1 });
    }
  }

  /** Says each reason, with how many tasks it keeps, once. */
  takeReasons(): readonly string[] {
    const texts = [...this.#reasons].map(([reason, { id, tasks }]) =>
      tasks === 1
        ? `A purge left 1 old task, ${id}, which the database refused to delete: ${reason}`
        : `A purge left ${tasks} old tasks, such as ${id}, which the database refused to delete: ${reason}`,
    );
    this.#reasons.clear();
    return texts;
  }

  #forget(): void {
    this.#ids.clear();
    this.#since = undefined;
  }
}
