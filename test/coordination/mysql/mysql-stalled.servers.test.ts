import { randomBytes } from 'node:crypto';
import type { RowDataPacket } from 'mysql2/promise';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { livenessPrefix } from '../../../lib/coordination/lock-names.js';
import { TaskHandler } from '../../../lib/index.js';
import { lockName } from '../../../lib/storage/mysql/lock-name.js';
import { LogLines } from '../../support/log-lines.js';
import { createMysqlDatabase, mysqlStartMs, type MysqlFlavour } from '../../support/mysql.js';
import { startApp } from '../../support/queue-app.js';
import { healthModule, healthOf, stalledOnPage } from '../../support/stall-signs.js';
import { nextEvent, until } from '../../support/waiting.js';

class Handlers {
  @TaskHandler('work')
  work(): void {}
}

describe.each<MysqlFlavour>(['mariadb', 'mysql'])('%s', (flavour) => {
  test(
    'a session that cannot come back is told once a minute, in the log, as an event, in health and on the page',
    async () => {
      const database = await createMysqlDatabase(flavour);
      onTestFinished(() => database.drop());
      const { pool, name } = database;
      await (await startApp(database, { worker: false })).close();
      const user = `worker_${randomBytes(6).toString('hex')}`;
      await pool.query(`create user ${user}@'%' identified by 'secret'; grant all privileges on ${name}.* to ${user}@'%';
        grant process on *.* to ${user}@'%'`);
      onTestFinished(async () => void (await pool.query(`drop user ${user}@'%'`)));
      const url = new URL(database.url);
      Object.assign(url, { username: user, password: 'secret' });
      // What watches the worker is the only thing here that counts in minutes.
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
      onTestFinished(() => void vi.useRealTimers());
      const logger = new LogLines();
      const app = await startApp(
        { url: url.href },
        {
          handlers: [Handlers],
          imports: [healthModule],
          schema: 'check',
          recovery: false,
          dashboard: {},
          logger,
        },
      );
      onTestFinished(app.close);
      const { events, worker } = app;
      // As many connections as those who look may use are open from here on.
      const looks = await Promise.all(Array.from({ length: 10 }, () => stalledOnPage(app)));
      expect(looks.flat()).toEqual([]);

      const lost = nextEvent(events, 'connection.lost', ({ connection }) => connection === 'session');
      await pool.query(`alter user ${user}@'%' account lock`);
      const [[holder]] = await pool.query<RowDataPacket[]>('select is_used_lock(?) as id', [
        lockName(`${livenessPrefix(`${name}.tasks`)}${worker.id}`),
      ]);
      await pool.query(`kill ${String(holder?.['id'])}`);
      await lost;
      await until(async () => {
        vi.advanceTimersByTime(10_000);
        return worker.stalled?.reason.includes('locked');
      }, 'the reason is known');
      const stalled = nextEvent(events, 'worker.stalled');
      vi.advanceTimersByTime(60_000);
      const { workerId, reason } = await stalled;
      expect(workerId).toBe(worker.id);
      expect(reason).toMatch(/^others may consider it lost, because its session is down: .*locked/);
      expect(logger.of('error').at(-1)).toMatch(
        new RegExp(
          `^worker ${worker.id} has been stalled for \\d+ s and takes no tasks: others may consider it lost`,
        ),
      );
      expect(await healthOf(app)).toMatchObject({
        status: 'down',
        message: `the worker takes no tasks: ${reason}`,
      });
      expect(await stalledOnPage(app)).toMatchObject([{ workerId, reason }]);

      const restored = nextEvent(events, 'connection.restored', ({ connection }) => connection === 'session');
      await pool.query(`alter user ${user}@'%' account unlock`);
      await restored;
      expect(worker.stalled).toBeUndefined();
      expect(await healthOf(app)).toMatchObject({ status: 'up' });
      expect(await stalledOnPage(app)).toEqual([]);
    },
    mysqlStartMs,
  );
});
