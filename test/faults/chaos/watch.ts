import type { World } from './nemesis/nemesis.js';
import { payloadsResolve } from './oracles/payloads.js';
import { violation, type Violation } from './oracles/oracle.js';
import { sortHistory } from './history.js';

/** Rows of workers that are gone are given up by then, however dense the faults. */
const mostHeldMs = 60_000;
const everyMs = 2_000;

interface Held {
  readonly id: string;
  readonly reserva: number;
  readonly executor: string;
}

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
    const { admin } = this.#world;
    const now = performance.now();
    // A look that came late, because the server was down, says nothing about the time between.
    if (now - this.#lastLook > 2 * everyMs) this.#orphans.clear();
    this.#lastLook = now;
    this.violations.push(...(await payloadsResolve({ db: admin, history: sortHistory([]) })));
    const { rows } = await admin.query<Held>(
      `select f.id::text, f.reserva, f.executor::text from tasks f
       where f.status = 'processando' and not exists (
         select from pg_locks l
         where l.locktype = 'advisory' and l.granted
           and l.database = (select oid from pg_database where datname = current_database())
           and ((l.classid::bigint << 32) | l.objid::bigint)
             = hashtextextended('tarefa:worker:' || $1 || ':' || f.executor, 0))`,
      ['public.tasks'],
    );
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

  /** What recovery would meet: whether somebody has locked the rows, and what the table says of the workers. */
  async #explain(rows: readonly Held[]): Promise<readonly object[]> {
    if (rows.length === 0) return [];
    const { admin } = this.#world;
    const free = await admin.query<{ id: string }>(
      'select id::text from tasks where id = any($1) for update skip locked',
      [rows.map(({ id }) => id)],
    );
    const workers = await admin.query<{ worker: string }>(
      `select concat_ws(' ', id, 'missed', missed_at, 'stopped', stopped_at) as worker from tasks_worker
       where stopped_at is null or missed_at is not null`,
    );
    const isFree = new Set(free.rows.map(({ id }) => id));
    return rows.map((row) => ({
      ...row,
      locked: !isFree.has(row.id),
      workers: workers.rows.map(({ worker }) => worker),
    }));
  }
}

function keyOf({ id, reserva }: Held): string {
  return `${id}/${reserva}`;
}
