import { createConnection } from 'mysql2';
import { createConnection as connect } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { TaskHandler } from '../../../lib/index.js';
import { startMysqlCluster, type MysqlCluster } from '../../faults/kit/mysql-cluster.js';
import { mysqlStartMs, type MysqlFlavour } from '../../support/mysql.js';
import { startApp } from '../../support/queue-app.js';
import { nextEvent } from '../../support/waiting.js';

class Handlers {
  @TaskHandler('work')
  work(): void {}
}

describe.each<MysqlFlavour>(['mariadb', 'mysql'])('%s', (flavour) => {
  let server: MysqlCluster;

  beforeAll(async () => {
    server = await startMysqlCluster(flavour, ['wait_timeout=1', 'interactive_timeout=1']);
  }, mysqlStartMs);
  afterAll(() => server?.stop());

  /** Resolves when the server has ended an idle session of another program. */
  async function sessionEnded(): Promise<void> {
    const other = createConnection(server.url);
    await new Promise<void>((resolve) => {
      other.on('error', () => resolve());
      other.on('end', () => resolve());
    });
  }

  test('a limit for idle sessions ends none of the library’s', async () => {
    const maker = await connect(server.url);
    await maker.query('create database shop');
    await maker.end();
    const url = new URL(server.url);
    url.pathname = '/shop';
    const app = await startApp(
      { url: url.href },
      { handlers: [Handlers], pollIntervalMs: 0, recovery: false },
    );
    onTestFinished(app.close);
    const lost: string[] = [];
    app.events.on('connection.lost', ({ connection }) => lost.push(connection));
    for (let round = 0; round < 3; round += 1) {
      const completed = nextEvent(app.events, 'task.completed');
      await app.queue.insertTask({ topic: 'work' });
      await completed;
      // Longer ago than the last statement of any of them.
      await sessionEnded();
    }
    expect(lost).toEqual([]);
  });
});
