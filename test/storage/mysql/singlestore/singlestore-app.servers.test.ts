import { createPool } from 'mysql2/promise';
import { expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../../../lib/index.js';
import { startMysqlCluster } from '../../../faults/kit/mysql-cluster.js';
import type { MysqlFlavour, MysqlTestDatabase } from '../../../support/mysql.js';
import { startApp } from '../../../support/queue-app.js';
import { useMysqlQueue } from '../mysql-queue.js';
import { createWithStandIns, onMariadb } from './on-mariadb.js';

// Only statements that make tables are not MariaDB's: the bench has made them.
const bench = useMysqlQueue('mariadb', {
  create: (flavour) => createWithStandIns(flavour, createInUtc),
  dialect: onMariadb,
});

/** On a server of its own: SingleStore has no zones of sessions. */
async function createInUtc(flavour: MysqlFlavour): Promise<MysqlTestDatabase> {
  const cluster = await startMysqlCluster(flavour, ['default-time-zone=+00:00']);
  const pool = createPool({ uri: cluster.url, multipleStatements: true });
  await pool.query('create database shop');
  await pool.end();
  const url = `${cluster.url}/shop`;
  const own = createPool({ uri: url, multipleStatements: true, dateStrings: true });
  return {
    name: 'shop',
    url,
    pool: own,
    drop: async () => {
      await own.end();
      await cluster.stop();
    },
  };
}

class Handlers {
  @TaskHandler('count')
  async count(n: number, ctx: TaskContext): Promise<string> {
    await ctx.db.query('insert into effect values (?)', [n]);
    return 'counted';
  }
}

test('an application whose driver is singlestore runs its tasks there', async () => {
  await bench.ask('create table effect (n int)');
  const app = await startApp(bench.server, {
    handlers: [Handlers],
    connection: { driver: 'singlestore', uri: bench.server.url },
    pollIntervalMs: 50,
  });
  const ended = new Promise<void>((resolve) => {
    app.events.on('task.completed', () => resolve());
  });
  const id = await app.queue.insertTask({ topic: 'count', payload: 7 });
  await ended;
  await app.close();
  expect(await bench.ask('select n from effect')).toEqual([{ n: 7 }]);
  expect(await bench.ask('select status, mensagem from tasks where id = ?', [id])).toEqual([
    { status: 'sucesso', mensagem: 'counted' },
  ]);
});
