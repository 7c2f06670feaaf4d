import { expect, test } from 'vitest';
import { TaskHandler } from '../../../lib/index.js';
import { useDatabase } from '../../support/database.js';
import { startApp } from '../../support/queue-app.js';
import { until } from '../../support/waiting.js';
import { sortHistory } from './history.js';
import { hostileRowsRest } from './oracles/hostile-rows.js';
import { hostile, hostileRows, insertHostile, isToEnd } from './workload/hostile.js';

const database = await useDatabase();

class Handlers {
  readonly done: string[] = [];

  @TaskHandler('hostile', { maxAttempts: 3, retryDelayMs: 100 })
  hostile(): void {
    this.done.push('hostile');
  }

  @TaskHandler('plain')
  plain(name: string): void {
    this.done.push(name);
  }
}

test('beside rows as no client would insert them every ordinary task is done, and what can end ends', async () => {
  const { pool } = database;
  const handlers = new Handlers();
  const { queue, close } = await startApp(database, {
    handlers: [{ provide: Handlers, useValue: handlers }],
    retryIntervalMinutes: 0.002,
    maxAttempts: 60,
    unknownTasks: 'fail',
  });
  const names = Array.from({ length: 20 }, (_, n) => `ordinary ${n}`);
  try {
    for (const row of hostileRows) {
      const { sql, values } = insertHostile(row);
      await pool.query(sql, values);
    }
    await queue.insertTasks(names.map((payload) => ({ topic: 'plain', payload })));
    await until(
      async () => names.every((name) => handlers.done.includes(name)),
      'the ordinary tasks are done',
    );
    await until(async () => {
      const { rows } = await pool.query(`select from tasks f where origem is not null and ${isToEnd('f')}`);
      return rows.length === 0;
    }, 'the hostile rows have ended');
  } finally {
    await close();
  }
  const ask = async (): Promise<readonly string[]> =>
    (await hostileRowsRest({ db: pool, history: sortHistory([]) })).map(({ what }) => what);
  expect(await ask()).toEqual([]);
  await pool.query(`update tasks set status = 'pendente' where origem = $1`, [`${hostile}unknown status`]);
  await pool.query(`update tasks set status = 'agendada' where origem = $1 and not dead`, [
    `${hostile}late attempt`,
  ]);
  expect(await ask()).toEqual(['a hostile row never ended', 'a row that nobody can understand was changed']);
}, 60_000);
