import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { RetryAt, RetryIn, UnrecoverableError } from '../../lib/index.js';
import type { HandlerRules } from '../../lib/subscribers/handler-registry.js';
import { nextAttempt } from '../../lib/worker/running/next-attempt.js';
import { failureOf, useStorage } from '../support/queue-storage.js';

// What is planned in the process, written by the statement and read back in microseconds of the database's own
// clock, against the rules said once more in other words.

const bench = useStorage();

const minuteMs = 60_000;
const yearMs = 365 * 86_400_000;

interface Case {
  /** When the attempt was due, in microseconds since 1970. */
  readonly due: bigint;
  readonly attempt: number;
  readonly most: number;
  readonly intervalMinutes: number;
  readonly thrown: Thrown;
}

type Thrown =
  | { readonly kind: 'queue rule' }
  | { readonly kind: 'own delay'; readonly ms: number }
  | { readonly kind: 'at'; readonly time: number }
  | { readonly kind: 'in'; readonly ms: number }
  | { readonly kind: 'never' };

const thrown: fc.Arbitrary<Thrown> = fc.oneof(
  fc.constant({ kind: 'queue rule' as const }),
  fc.record({
    kind: fc.constant('own delay' as const),
    ms: fc.oneof(fc.integer({ min: -5_000, max: 100_000 }), fc.double({ noNaN: true })),
  }),
  fc.record({
    kind: fc.constant('at' as const),
    time: fc.oneof(fc.date(), fc.date({ min: new Date(0), max: new Date('2100-01-01') })).map(Number),
  }),
  fc.record({
    kind: fc.constant('in' as const),
    ms: fc.oneof(fc.integer({ min: -5_000, max: 100_000 }), fc.double()),
  }),
  fc.constant({ kind: 'never' as const }),
);

const oneCase: fc.Arbitrary<Case> = fc.record({
  due: fc.bigInt({ min: 0n, max: BigInt(Date.UTC(2060, 0)) * 1_000n }),
  attempt: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 1_000_000 })),
  most: fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constant(1_000_001)),
  intervalMinutes: fc.oneof(
    fc.integer({ min: 0, max: 60 }),
    fc.double({ min: 0, max: 525_600, noNaN: true }),
  ),
  thrown,
});

/** Fails all cases in one statement; returns their rows, each with its next attempt's. */
async function failAll(cases: readonly Case[]) {
  const { pool, database, workerId } = bench;
  const inserted = await pool.query<{ id: string }>(
    `insert into tasks (data_hora, data_hora_inicial, tentativa, status, executor, reserva, processo)
     select 'epoch'::timestamptz + due * interval '1 microsecond', now(), attempt, 'processando', $3::bigint, 1, 't'
     from unnest($1::bigint[], $2::int[]) with ordinality c (due, attempt, ord) order by ord returning id`,
    [cases.map(({ due }) => String(due)), cases.map(({ attempt }) => attempt), workerId],
  );
  const ids = inserted.rows.map(({ id }) => id);
  const outcomes = await database.attempts.failMany(
    cases.map((one, index) =>
      failureOf(ids[index] ?? '', workerId, { attempt: one.attempt, maxAttempts: one.most, next: plan(one) }),
    ),
  );
  const { rows } = await pool.query<
    Record<'id' | 'ended' | 'planned' | 'next' | 'first_due' | 'dead', string | null>
  >(
    `select f.id, micros(f.finalizada_em) as ended, micros(f.proxima_tentativa) as planned, micros(n.data_hora) as next,
       micros(n.data_hora_inicial) - micros(f.data_hora_inicial) as first_due, d.id as dead
     from tasks f
     left join tasks n on n.id_anterior = f.id
     left join tasks d on d.live_id = f.id
     where f.id = any($1::bigint[]) order by f.id`,
    [ids],
  );
  return rows.map((row) => ({ ...row, outcome: outcomes.find(({ id }) => id === row.id) }));
}

function plan({ thrown: what, attempt, intervalMinutes }: Case) {
  const rules = {
    retryDelay: what.kind === 'own delay' ? () => what.ms : undefined,
  } as unknown as HandlerRules;
  return nextAttempt(thrownBy(what), attempt, rules, { retryIntervalMinutes: intervalMinutes });
}

function thrownBy(what: Thrown): Error {
  if (what.kind === 'at') return new RetryAt(new Date(what.time));
  if (what.kind === 'in') return new RetryIn(what.ms);
  return what.kind === 'never' ? new UnrecoverableError('x') : new Error('x');
}

/** When the next attempt is due: an exact time, or so long after the failure; undefined when there is none. */
function expected(one: Case): { readonly at: bigint } | { readonly after: number } | undefined {
  const { thrown: what, attempt, most, intervalMinutes, due } = one;
  if (what.kind === 'never' || attempt >= most) return undefined;
  // What is no time is no wish.
  if (what.kind === 'at' && !Number.isNaN(what.time)) {
    const time = Math.min(Date.UTC(9999, 11, 31), Math.max(0, what.time));
    return { at: BigInt(time) * 1_000n };
  }
  if (what.kind === 'in' && Number.isFinite(what.ms)) {
    return { after: Math.min(1_000 * yearMs, Math.max(0, what.ms)) };
  }
  if (what.kind === 'own delay' && Number.isFinite(what.ms)) {
    return { after: Math.min(10 * yearMs, Math.max(0, what.ms)) };
  }
  return { at: due + toMicros(Math.min(1_000 * yearMs, attempt * intervalMinutes * minuteMs)) };
}

function toMicros(ms: number): bigint {
  return BigInt(Math.round(ms * 1_000));
}

test('the next attempt is due when the rules say, by the clock of the database', async () => {
  await bench.pool.query(
    `create function micros(at timestamptz) returns bigint language sql immutable as
       $$ select (extract(epoch from at) * 1000000)::bigint $$`,
  );
  await fc.assert(
    fc.asyncProperty(fc.array(oneCase, { minLength: 1, maxLength: 40 }), async (cases) => {
      const rows = await failAll(cases);
      expect(rows).toHaveLength(cases.length);
      for (const [index, row] of rows.entries()) {
        const want = expected(cases[index] as Case);
        expect([row.next !== null, row.dead !== null]).toEqual([want !== undefined, want === undefined]);
        expect(row.planned).toBe(row.next);
        expect(row.outcome?.deadId ?? null).toBe(row.dead);
        expect(row.outcome?.nextAttemptInMs === undefined).toBe(want === undefined);
        if (!want) continue;
        expect(row.first_due).toBe('0');
        const next = BigInt(row.next ?? 0);
        const ended = BigInt(row.ended ?? 0);
        const [at, slack] = 'at' in want ? [want.at, 0n] : [ended + toMicros(want.after), 5_000_000n];
        // A fraction of a microsecond may be rounded either way.
        const rounding =
          'at' in want && Number.isInteger((cases[index] as Case).intervalMinutes) ? 0n : 1_000n;
        expect(next - at).toBeGreaterThanOrEqual(-rounding);
        expect(next - at).toBeLessThanOrEqual(slack + rounding);
        const said = BigInt(Math.round((row.outcome?.nextAttemptInMs ?? 0) * 1_000));
        expect(Math.abs(Number(next - ended - said))).toBeLessThan(5_000_000);
      }
    }),
    { numRuns: 40, interruptAfterTimeLimit: 20_000 },
  );
});
