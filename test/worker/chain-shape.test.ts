import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ClaimedTask, RouteDemand } from '../../lib/storage/attempt.js';
import { isolatedRoute } from '../../lib/storage/route.js';
import { failureOf, useStorage } from '../support/queue-storage.js';

// I5, I6 and I12 on whole chains: whatever their attempts end with, in whatever batches.

const bench = useStorage();

/** What becomes of an attempt that was claimed. */
type End =
  | { readonly kind: 'succeed' }
  | { readonly kind: 'release' }
  | { readonly kind: 'fail'; readonly most: number; readonly final: boolean; readonly message: string }
  | { readonly kind: 'lose'; readonly most: number };

const most = fc.integer({ min: 1, max: 7 });
const end: fc.Arbitrary<End> = fc.oneof(
  { weight: 1, arbitrary: fc.constant({ kind: 'succeed' as const }) },
  { weight: 3, arbitrary: fc.constant({ kind: 'release' as const }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('fail' as const),
      most,
      final: fc.constant(false),
      message: fc.string({ maxLength: 20 }).map((text) => text.replaceAll('\0', '')),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('lose' as const), most: fc.constant(9) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('fail' as const),
      most,
      final: fc.constant(true),
      message: fc.constant('never again'),
    }),
  },
);

/** What becomes of one task's attempts; some begin with so many lost workers that they are given up. */
const endsOfTask: fc.Arbitrary<readonly End[]> = fc
  .tuple(fc.integer({ min: 0, max: 6 }), fc.array(end, { minLength: 1, maxLength: 16 }))
  .map(([losses, others]) => [
    ...Array.from({ length: losses }, () => ({ kind: 'lose', most: 9 }) as const),
    ...others,
  ]);

/** One attempt as the rules would have it. */
interface Expected {
  status: string;
  readonly tentativa: number;
  readonly perdas: number;
  readonly dead: boolean;
  reserva: number;
  mensagem: string | null;
}

/** The chain that a list of ends makes, and how many of them were used. */
class ExpectedChain {
  readonly rows: Expected[] = [{ ...pending, tentativa: 1, perdas: 0, dead: false }];

  get last(): Expected {
    return this.rows.at(-1) as Expected;
  }

  get isOver(): boolean {
    return this.last.status !== 'pendente';
  }

  take(one: End): void {
    const { last } = this;
    last.reserva += 1;
    if (one.kind === 'release') return;
    if (one.kind === 'succeed') {
      Object.assign(last, { status: 'sucesso', mensagem: 'completed' });
      return;
    }
    const lost = one.kind === 'lose';
    const retried =
      !(one.kind === 'fail' && one.final) && last.tentativa < one.most && !(lost && last.perdas >= 4);
    const text = one.kind === 'fail' ? one.message : 'lost';
    const note = retried ? ' (will be tried again)' : ' (no attempts left)';
    Object.assign(last, { status: 'falha', mensagem: text + note });
    if (retried) {
      const { tentativa, dead, perdas } = last;
      this.rows.push({ ...pending, tentativa: tentativa + 1, perdas: lost ? perdas + 1 : 0, dead });
    } else if (!last.dead) this.rows.push({ ...pending, tentativa: 1, perdas: 0, dead: true });
  }
}

const pending = { status: 'pendente', reserva: 0, mensagem: null };

/** Claims what is pending of so many tasks, each by its own topic, isolated or not. */
async function claim(count: number): Promise<readonly ClaimedTask[]> {
  const { database, claims } = bench;
  await database.attempts.promote(1_000);
  const routes = Array.from({ length: count }, (_, task) => `t:${task}`);
  const demands = [...routes, ...routes.map(isolatedRoute)].map<RouteDemand>((route) => ({
    route,
    limit: 1,
  }));
  claims.invalidate();
  return (await claims.settleAndClaim([], { routes: demands, total: count, order: 'age' })).claimed;
}

/** Ends attempts of several tasks at once, each kind in one statement. */
async function endAll(claimed: readonly ClaimedTask[], ends: readonly End[]): Promise<void> {
  const { database, claims, workerId } = bench;
  const both = claimed.map((task, index) => ({ task, one: ends[index] as End }));
  const completions = both
    .filter(({ one }) => one.kind === 'succeed')
    .map(({ task: { id, reservation } }) => ({ id, reservation, message: 'completed', result: null }));
  await claims.settleAndClaim(completions);
  await database.attempts.releaseMany(
    workerId,
    both.filter(({ one }) => one.kind === 'release').map(({ task }) => task),
  );
  await database.attempts.failMany(
    both.flatMap(({ task: { id, reservation, task, losses }, one }) => {
      const held = { reservation, attempt: task.attempt, losses };
      if (one.kind === 'fail') {
        const { most: maxAttempts, message, final } = one;
        const next = final ? ({ kind: 'never' } as const) : ({ kind: 'after-due', delayMs: 0 } as const);
        return [failureOf(id, workerId, { ...held, maxAttempts, message, next })];
      }
      return one.kind === 'lose'
        ? [failureOf(id, workerId, { ...held, maxAttempts: one.most, message: 'lost', lost: true })]
        : [];
    }),
  );
}

test('whatever attempts end with, they make a chain without gaps, and one dead chain when they run out', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(endsOfTask, { minLength: 1, maxLength: 4 }), async (tasks) => {
      const { pool, database } = bench;
      await pool.query('truncate tasks');
      for (const task of tasks.keys()) {
        await pool.query(
          `insert into tasks (processo, payload, chave_externa) values ($1, $2::text, $2::text)`,
          [task, `payload ${task}`],
        );
      }
      const chains = tasks.map(() => new ExpectedChain());
      for (let round = 0; round < 16; round += 1) {
        const claimed = await claim(tasks.length);
        const ends = claimed.map(
          ({ task }) => tasks[Number(task.topic)]?.[round] ?? ({ kind: 'succeed' } as const),
        );
        expect(claimed.map(({ task }) => Number(task.topic)).sort((a, b) => a - b)).toEqual(
          [...chains.entries()].filter(([, chain]) => !chain.isOver).map(([task]) => task),
        );
        for (const [index, one] of claimed.entries()) {
          expect(await database.attempts.loadPayload(one.id)).toBe(`payload ${one.task.topic}`);
          chains[Number(one.task.topic)]?.take(ends[index] as End);
        }
        await endAll(claimed, ends);
      }
      await database.attempts.promote(1_000);
      for (const [task, chain] of chains.entries()) await compare(String(task), chain);
    }),
    { numRuns: 40, interruptAfterTimeLimit: 20_000 },
  );
}, 120_000);

/** The rows of a task, and what they say of each other. */
async function compare(topic: string, chain: ExpectedChain): Promise<void> {
  const { rows } = await bench.pool.query<Record<string, unknown>>(
    `select f.status, f.tentativa, f.perdas, f.dead, f.reserva, f.mensagem from tasks f where processo = $1 order by id`,
    [topic],
  );
  expect(rows).toEqual(chain.rows);
  const wrong = await bench.pool.query(
    `select f.id from tasks f
     left join tasks p on p.id = f.id_anterior
     left join tasks r on r.id = f.id_inicial
     left join tasks n on n.id_anterior = f.id
     where f.processo = $1::text and not (
       case when f.tentativa = 1 then f.id_anterior is null and f.id_inicial is null
           and f.payload = 'payload ' || $1::text and f.live_id is not distinct from
             case when f.dead then (select min(id) from tasks where processo = $1::text) end
         else f.id_inicial = coalesce(p.id_inicial, p.id) and r.tentativa = 1 and r.dead = f.dead and f.payload is null
           and p.tentativa = f.tentativa - 1 and p.proxima_tentativa = f.data_hora
           and (f.data_hora_anterior, f.status_anterior, f.mensagem_anterior) = (p.data_hora, p.status, p.mensagem)
           and f.data_hora_inicial = r.data_hora_inicial and f.live_id is not distinct from r.live_id end
       and f.reenfileirado = (n.id is not null)
       and f.estouro_tentativas = (f.status = 'falha' and n.id is null)
       and f.chave_externa = 'payload ' || $1::text)`,
    [topic],
  );
  expect(wrong.rows).toEqual([]);
}

test('giving back uses up neither an attempt nor a loss, however often', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 0, max: 4 }),
      async (times, losses) => {
        const { pool, database, workerId } = bench;
        await pool.query('truncate tasks');
        await pool.query(`insert into tasks (processo, payload, tentativa) values ('0', '', 3)`);
        // What is inserted by hand is filed with none.
        await pool.query('update tasks set perdas = $1', [losses]);
        const read = async (): Promise<unknown> => {
          const { rows } = await pool.query<Record<string, unknown>>('select * from tasks');
          return rows.map((row) => ({ ...row, reserva: undefined }));
        };
        const before = await read();
        for (let time = 1; time <= times; time += 1) {
          const [claimed] = await claim(1);
          expect(claimed).toMatchObject({ reservation: time, losses });
          expect(await database.attempts.releaseMany(workerId, claimed ? [claimed] : [])).toEqual([
            claimed?.id,
          ]);
          expect(await read()).toEqual(before);
        }
      },
    ),
    { numRuns: 10, interruptAfterTimeLimit: 20_000 },
  );
});
