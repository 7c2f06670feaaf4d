import type { Orphan } from './ground/ground.js';
import type { World } from './nemesis/nemesis.js';
import { violation, type Violation } from './oracles/oracle.js';

/** Rows of workers that are gone are given up by then, however dense the faults. */
const mostHeldMs = 60_000;
const everyMs = 2_000;

/**
 * Looks for what must never be, while a run goes on: an attempt without its payload (I12), a row held for long by a
 * worker that has no lock (I10). Time in which the server is down or has just come up does not count.
 */
export class Watch {
  readonly violations: Violation[] = [];
  readonly #world: World;
  readonly #orphans = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #lastLook = 0;

  constructor(world: World) {
    this.#world = world;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#looking = this.#look().catch(() => this.#orphans.clear());
    }, everyMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { ask } = this.#world.ground;
    const now = performance.now();
    // A look that came late, because the server was down, says nothing about the time between.
    if (now - this.#lastLook > 2 * everyMs) this.#orphans.clear();
    this.#lastLook = now;
    this.violations.push(...(await ask.withoutPayload()));
    const rows = await ask.orphans();
    const held = new Set(rows.map(keyOf));
    for (const key of this.#orphans.keys()) if (!held.has(key)) this.#orphans.delete(key);
    const old = rows.filter((row) => {
      const key = keyOf(row);
      const since = this.#orphans.get(key) ?? now;
      this.#orphans.set(key, since);
      return now - since > mostHeldMs;
    });
    for (const row of old) this.#orphans.set(keyOf(row), Infinity);
    const what = `a row was held for ${mostHeldMs} ms by a worker that is gone`;
    this.violations.push(...violation('I10', what, await this.#explain(old)));
  }

  /** What recovery would meet. */
  async #explain(rows: readonly Orphan[]): Promise<readonly object[]> {
    if (rows.length === 0) return [];
    const { free, workers } = await this.#world.ground.ask.explain(rows.map(({ id }) => id));
    const isFree = new Set(free);
    return rows.map((row) => ({ ...row, locked: !isFree.has(row.id), workers }));
  }
}

function keyOf({ id, reserva }: Orphan): string {
  return `${id}/${reserva}`;
}
