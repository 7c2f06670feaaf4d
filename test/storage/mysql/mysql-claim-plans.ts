import { beforeAll, describe, expect, test } from 'vitest';
import type { RowDataPacket } from 'mysql2';
import type { Stretch } from '../../../lib/storage/claiming/claim-request.js';
import type { Part } from '../../../lib/storage/mysql/claims/one-text.js';
import type { QueueTables } from '../../../lib/storage/mysql/identifiers.js';
import { readLocked, take } from '../../../lib/storage/mysql/statements/claim.js';
import { lockBest, seeBest, type Arm } from '../../../lib/storage/mysql/statements/claim-arms.js';
import { lockEnded, settle } from '../../../lib/storage/mysql/statements/settle.js';
import { lockDead, seeUnattended } from '../../../lib/storage/mysql/statements/unattended.js';
import type { MysqlFlavour } from '../../support/mysql.js';
import { useMysqlClaims } from './mysql-claiming.js';

const backlog = 20_000;
const limit = 5;
const since = '2026-01-01T00:00:00.123456Z';
const route = 't:topic1';

const stretches: Readonly<Record<string, readonly Stretch[]>> = {
  front: [{ route, limit }],
  'only live': [{ route, limit, only: 'live' }],
  positions: [
    { route, limit, bounds: { highest: 2_147_483_647, lowest: 51, since: undefined } },
    { route, limit, bounds: { highest: 50, lowest: 50, since } },
    { route, limit, bounds: { highest: 49, lowest: 31, since: undefined } },
    { route, limit, bounds: { highest: 30, lowest: -2_147_483_648, since: undefined } },
  ],
  routes: Array.from({ length: 12 }, (_, index) => ({ route: `t:topic${index}`, limit })),
};

const armsOf = (all: readonly Stretch[]): readonly Arm[] =>
  all.map((stretch, place) => ({ place, stretch, limit }));

const numbers = Array.from({ length: limit }, (_, index) => String(index + 1));
const ids = JSON.stringify(numbers);
const ended = JSON.stringify(numbers.map((id) => [id, 1]));
const outcomes = numbers.map((id) => ({ id, reservation: 1, message: 'done', result: id }));

/** Joined to a list of ids, or by one. */
const isByKey = /^(eq_ref|range)$/;

/** Statements that find rows by their ids. */
const byId: Readonly<Record<string, (tables: QueueTables) => Part>> = {
  lockEnded: (tables) => ({ text: lockEnded(tables), values: [ended, 7] }),
  settle: (tables) => settle(tables, outcomes, '7', false),
  readLocked: (tables) => ({ text: readLocked(tables), values: [ids] }),
  take: (tables) => take(tables, numbers, '7'),
  lockDead: (tables) => ({ text: lockDead(tables), values: [ids] }),
};

/** How one of these servers runs what claims, with a backlog and nothing analysed. */
export function exerciseMysqlClaimPlans(flavour: MysqlFlavour): void {
  const bench = useMysqlClaims(flavour, true);

  beforeAll(async () => {
    const values = Array.from(
      { length: 1_000 },
      (_, index) => `('topic${index % 10}', ${index % 100 === 0})`,
    );
    for (let rows = 0; rows < backlog; rows += values.length) {
      await bench.ask(`insert into tasks (processo, dead) values ${values.join(', ')}`);
    }
    await bench.ask(`insert into tasks_worker (host, pid, version, concurrency, routes, dead_routes)
      values ('h', 1, '1', 1, '[]', '["t:topic1", "t:topic2"]')`);
  });

  /** The plan of the queue's rows. */
  async function explain({ text, values }: Part): Promise<readonly RowDataPacket[]> {
    const rows = await bench.ask(`explain format = traditional ${text}`, values);
    return rows.filter(({ table }) => ['f', 'first', 'live'].includes(String(table)));
  }

  /** Entries and rows that it reads. What it changes is undone. */
  async function reads({ text, values }: Part): Promise<number> {
    const connection = await bench.server.pool.getConnection();
    const count = async (): Promise<number> => {
      const [rows] = await connection.query<RowDataPacket[]>(
        `show session status where variable_name regexp '^handler_read_(first|key|next|prev|rnd_next)$'`,
      );
      return rows.reduce((sum, row) => sum + Number(row['Value']), 0);
    };
    try {
      await connection.query('set transaction isolation level read committed; start transaction');
      const atRest = (await count()) - (await count());
      const before = await count();
      await connection.query(text, [...(values ?? [])]);
      return (await count()) - before + atRest;
    } finally {
      await connection.query('rollback');
      connection.release();
    }
  }

  describe.each([
    ['locks', (...walk: Parameters<typeof seeBest>) => lockBest(...walk, false)],
    ['locks and reads', (...walk: Parameters<typeof seeBest>) => lockBest(...walk, true)],
    ['looks', seeBest],
  ] as const)('a claim that %s', (_, statement) => {
    test.each(Object.keys(stretches))(
      'from %s walks over the index in its order, no further than its limits',
      async (name) => {
        const arms = armsOf(stretches[name] ?? []);
        const part = statement(bench.access.tables, arms, { ids: ['1', '2'] });
        const plan = await explain(part);
        // Beside each walk it may read other attempts of a task, by their keys.
        const walks = plan.filter(({ table }) => table === 'f');
        expect(walks).toHaveLength(arms.length);
        for (const { key, Extra } of walks) {
          expect(key).toBe('ready');
          expect(String(Extra)).not.toMatch(/filesort|temporary/);
        }
        expect(await reads(part)).toBeLessThan(arms.length * (2 * limit + 2) + 10);
      },
    );
  });

  test.each(Object.keys(byId))('%s finds rows by their key', async (name) => {
    const part = byId[name]?.(bench.access.tables) ?? { text: '' };
    const plan = await explain(part);
    expect(plan.length).toBeGreaterThan(0);
    for (const { key, type } of plan) expect([key, isByKey.test(String(type))]).toEqual(['PRIMARY', true]);
    expect(await reads(part)).toBeLessThan(12 * limit);
  });

  test('dead attempts that nobody handles are found without a look at the others', async () => {
    const part = seeUnattended(bench.access.tables, { ids: ['1', '2'] }, ['t:handled', 's:handled'], limit);
    for (const { key, Extra } of await explain(part)) {
      expect(key).toBe('dead_ready');
      expect(String(Extra)).not.toMatch(/filesort|temporary/);
    }
    expect(await reads(part)).toBeLessThan(20 * limit);
  });
}
