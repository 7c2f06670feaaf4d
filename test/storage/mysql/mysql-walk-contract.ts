import { expect, test } from 'vitest';
import { keyedRange, routesAfter, topicRoute } from '../../../lib/storage/route.js';
import type { MysqlFlavour } from '../../support/mysql.js';
import { insert, register } from '../conformance/opened.js';
import { useOpenedMysql, type OpenedMysql } from './mysql-opened.js';

const everyTopic = routesAfter('t:');

/** How routes that wait are found among very many attempts. */
export function exerciseMysqlWalks(flavour: MysqlFlavour): void {
  const open = useOpenedMysql(flavour);

  /** Inserts attempts of topics `000` and on, so many of each, of priorities 50 and on. */
  async function fill({ ask, queue }: OpenedMysql, topics: number, each: number): Promise<readonly string[]> {
    const names = Array.from({ length: topics }, (_, index) => String(index).padStart(3, '0'));
    const rows = names.flatMap((name) =>
      Array.from(
        { length: each },
        (_, index) => `('${name}', ${50 + (index % 3)}, utc_timestamp(6) - interval ${index + 1} minute)`,
      ),
    );
    await ask(
      `insert into ${queue.tables.queue} (processo, prioridade, data_hora) values ${rows.join(', ')}`,
    );
    return names.map(topicRoute);
  }

  test('routes are found however many they are, in the order of the ranges', async () => {
    const opened = await open();
    const { attempts } = opened.database;
    const routes = await fill(opened, 300, 3);
    const heads = await attempts.routeHeads([everyTopic], 1_000);
    expect(heads.map(({ route }) => route)).toEqual(routes);
    expect(new Set(heads.map(({ priority }) => priority))).toEqual(new Set([52]));
    const backwards = routes.toReversed();
    const found = await attempts.routeHeads(backwards.map(keyedRange), 1_000);
    expect(found.map(({ route }) => route)).toEqual(backwards);
    const first = await attempts.routeHeads(
      [keyedRange(topicRoute('none')), ...backwards.map(keyedRange)],
      5,
    );
    expect(first.map(({ route }) => route)).toEqual(backwards.slice(0, 5));
  });

  test('a walk leaps over what a route has besides its first attempts', async () => {
    const opened = await open();
    const { database, queue } = opened;
    const routes = await fill(opened, 5, 2_000);
    const worker = await register(database);
    await queue.controlled().use((run) => run('flush status'));
    const { pending } = await database.attempts.nextDue(worker.id, false, {
      ranges: [keyedRange(topicRoute('none'))],
      deadRoutes: [],
      unknown: [everyTopic],
    });
    const [status] = await queue
      .controlled()
      .use((run) => run(`show session status like 'Handler\\_read\\_next'`));
    expect(pending).toEqual(routes);
    expect(Number(status?.rows[0]?.['Value'])).toBeLessThan(2_500);
    const waiting = await database.attempts.waitingRoutes();
    expect(waiting.map(({ route }) => route)).toEqual(routes);
    expect(Math.min(...waiting.map(({ waitingMs }) => waitingMs))).toBeGreaterThanOrEqual(2_000 * 60_000);
  });

  test('a route waits since its oldest attempt was due, whatever that one’s priority is', async () => {
    const opened = await open();
    const { database, ask, queue } = opened;
    const { queue: table } = queue.tables;
    await fill(opened, 2, 12);
    await ask(
      `insert into ${table} (processo, prioridade, data_hora) values ('000', -7, utc_timestamp(6) - interval 1 day)`,
    );
    // A key has a route of its own, which is that of its topic for those who serve it.
    await ask(
      `insert into ${table} (processo, chave_fila, data_hora) values ('001', 'k', utc_timestamp(6) - interval 2 day)`,
    );
    const waiting = await database.attempts.waitingRoutes();
    const days = waiting.map(({ route, waitingMs }) => [route, Math.floor(waitingMs / 86_400_000)]);
    expect(days).toEqual([
      [topicRoute('000'), 1],
      [topicRoute('001'), 2],
    ]);
  });

  test('routes of any text are found in the order of their bytes', async () => {
    const opened = await open();
    const { database } = opened;
    const topics = ['é', '\u{1f600}', '\uffff', 'z', 'A', 'a ', 'a', `'";\\`, '\u0001'];
    for (const topic of topics) await insert(database, { topic });
    const sorted = topics
      .map(topicRoute)
      .toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
    const heads = await database.attempts.routeHeads([everyTopic], 100);
    expect(heads.map(({ route }) => route)).toEqual(sorted);
    const waiting = await database.attempts.waitingRoutes();
    expect(waiting.map(({ route }) => route)).toEqual(sorted);
  });

  test('attempts without a priority are found, behind those that have one', async () => {
    const opened = await open();
    const { database, ask, queue } = opened;
    const [route] = await fill(opened, 1, 3);
    const { queue: table } = queue.tables;
    await ask(`update ${table} set prioridade = null`);
    expect(await database.attempts.routeHeads([everyTopic], 10)).toMatchObject([
      { route, priority: -Infinity },
    ]);
    await ask(`insert into ${table} (processo, prioridade) values ('000', -5)`);
    expect(await database.attempts.routeHeads([everyTopic], 10)).toMatchObject([{ route, priority: -5 }]);
  });
}
