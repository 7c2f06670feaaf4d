import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Claims } from '../../../lib/storage/claims.js';
import { useExpensiveFront } from './expensive-front.js';
import { useStorage } from '../../support/queue-storage.js';

// The cursor against a model that knows every row. Rows that somebody rings for are never hidden by it, whatever their
// age and priority; those that nobody rings for may be passed over until the next sweep, and no longer.

const bench = useStorage();
const front = useExpensiveFront();

interface Insert {
  readonly kind: 'insert';
  readonly topic: string;
  readonly priority: number;
  readonly ageMs: number;
  readonly rings: boolean;
}

type Step =
  | Insert
  /** `meanwhile` is committed after the claim's snapshot and rung for before its answer. */
  | { kind: 'claim'; total: number; meanwhile: Insert | undefined }
  | { kind: 'pass time' };

interface Pending {
  readonly id: number;
  readonly priority: number;
  readonly dueMs: number;
  readonly rung: boolean;
}

const insert: fc.Arbitrary<Insert> = fc.record({
  kind: fc.constant('insert' as const),
  topic: fc.constantFrom('a', 'b'),
  priority: fc.oneof(fc.constant(50), fc.integer({ min: -3, max: 3 }), fc.integer()),
  ageMs: fc.integer({ min: 1_000, max: 20_000 }),
  rings: fc.boolean(),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: insert },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('claim' as const),
      total: fc.integer({ min: 1, max: 6 }),
      meanwhile: fc.option(insert, { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'pass time' as const }) },
);

const byPickUp = (a: Pending, b: Pending): number =>
  b.priority - a.priority || a.dueMs - b.dueMs || a.id - b.id;

interface Claimed {
  readonly bounded: boolean;
  /** True when it had not seen enough to take as much as it could. */
  readonly isCut: boolean;
  readonly pending: readonly Pending[];
  readonly claimed: readonly Pending[];
}

class Run {
  readonly #beganMs = Date.now();
  readonly #pending = new Map<string, Pending>();
  readonly #claims: Claims;

  constructor() {
    this.#claims = bench.database.claimsOf(bench.workerId, { concurrency: 10, warn: () => undefined });
  }

  get left(): number {
    return this.#pending.size;
  }

  async insert({ topic, priority, ageMs, rings }: Insert): Promise<void> {
    const dueMs = this.#beganMs - ageMs;
    const { rows } = await bench.pool.query<{ id: string }>(
      `insert into tasks (processo, prioridade, data_hora) values ($1, $2, $3) returning id`,
      [topic, priority, new Date(dueMs)],
    );
    const id = rows[0]?.id ?? '';
    this.#pending.set(id, { id: Number(id), priority, dueMs, rung: rings });
    if (rings) this.#claims.heard(dueMs, priority);
  }

  passTime(): void {
    front.passTime(3_600_000);
  }

  /** Claims; returns what came and what was pending, both in the order of the answer and of the model. */
  async claim(total: number, meanwhile?: Insert): Promise<Claimed> {
    const pending = [...this.#pending.values()].sort(byPickUp);
    front.meanwhile = meanwhile && (() => this.insert(meanwhile));
    const result = await this.#claims.settleAndClaim([], {
      routes: ['t:a', 't:b'].map((route) => ({ route, limit: total })),
      total,
      order: 'age',
    });
    const claimed = result.claimed.map(({ task }) => this.#take(task.id));
    const { bounded } = front;
    return { bounded, isCut: result.isCut, pending, claimed };
  }

  #take(id: string): Pending {
    const taken = this.#pending.get(id);
    if (!taken) throw new Error(`attempt ${id} is not pending`);
    this.#pending.delete(id);
    return taken;
  }
}

function refuseWrong(claimed: Claimed, total: number): void {
  const wrong = wrongOf(claimed, total);
  if (wrong !== undefined) throw new Error(wrong);
}

/** What is wrong with a claim, if anything. */
function wrongOf({ bounded, isCut, pending, claimed }: Claimed, total: number): string | undefined {
  const isSame = (one: readonly Pending[], other: readonly Pending[]): boolean =>
    one.length === other.length && one.every((task, index) => task === other[index]);
  if (isCut && claimed.length === 0) return 'it took nothing though it saw something';
  const most = isCut ? claimed.length : total;
  if (!bounded)
    return isSame(claimed, pending.slice(0, most)) ? undefined : 'a sweep took others than the best';
  if (!isSame(claimed, [...claimed].sort(byPickUp))) return 'out of order';
  const pendingRung = pending.filter((task) => task.rung);
  if (claimed.length < Math.min(most, pendingRung.length)) return 'something that was rung for is hidden';
  // What was not rung for may come as well, but keeps nothing that was from coming first.
  const rung = claimed.filter((task) => task.rung);
  return isSame(rung, pendingRung.slice(0, rung.length)) ? undefined : 'something better was rung for';
}

test('whatever is inserted and claimed, the cursor hides nothing that is rung for, and nothing beyond a sweep', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
      await bench.pool.query('truncate tasks');
      const run = new Run();
      for (const one of steps) {
        if (one.kind === 'insert') await run.insert(one);
        else if (one.kind === 'claim') refuseWrong(await run.claim(one.total, one.meanwhile), one.total);
        else run.passTime();
      }
      for (let claims = 0; claims < 5 && run.left > 0; claims += 1) {
        run.passTime();
        refuseWrong(await run.claim(100), 100);
      }
      expect(run.left).toBe(0);
    }),
    { numRuns: 100 },
  );
}, 60_000);
