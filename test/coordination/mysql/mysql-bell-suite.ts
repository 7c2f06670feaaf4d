import type { RowDataPacket } from 'mysql2/promise';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Bell } from '../../../lib/coordination/bell.js';
import type { Ring } from '../../../lib/coordination/ring.js';
import { findSleepers, mostPlaces } from '../../../lib/storage/mysql/connections/sleeper-places.js';
import { sleeperPrefix } from '../../../lib/storage/mysql/lock-name.js';
import { Arrivals } from '../../support/arrivals.js';
import type { MysqlFlavour, MysqlTestDatabase } from '../../support/mysql.js';
import { until } from '../../support/waiting.js';
import { openProcess, useProcesses, type MysqlProcess, type ProcessOptions } from './mysql-processes.js';

const worker = { host: 'host', pid: 1, version: '0', concurrency: 1, routes: [], deadRoutes: [] };

/** What is heard of rings where a bell brings no texts, on one server. */
export function exerciseMysqlBell(
  flavour: MysqlFlavour,
  create?: (flavour: MysqlFlavour) => Promise<MysqlTestDatabase>,
): void {
  const { server, processes } = useProcesses(flavour, [{}, {}, { table: 'others' }], create);
  const processOf = (index: number): MysqlProcess => processes[index] as MysqlProcess;
  const bellOf = (index: number): Bell => processOf(index).coordination.bell;

  async function listen(bell: Bell): Promise<Arrivals<Ring>> {
    const heard = new Arrivals<Ring>();
    onTestFinished(await bell.listen('tasks', (ring) => heard.add(ring)));
    return heard;
  }

  /** A process that only this test has. */
  async function another(options?: ProcessOptions): Promise<MysqlProcess> {
    const opened = await openProcess(server().url, options);
    onTestFinished(() => opened.close());
    return opened;
  }

  /** A bell that has not looked yet who sleeps. */
  const makeRinger = async (): Promise<Bell> => (await another({ listens: false })).coordination.bell;

  const sleepers = async (table = 'tasks'): Promise<readonly string[]> => {
    const prefix = sleeperPrefix(`${server().name}.${table}`);
    const { rows } = await processOf(0).access.own.query(findSleepers, [prefix]);
    return rows.map(({ id }) => String(id));
  };

  async function isAsleep(): Promise<boolean> {
    const ids = await sleepers();
    const [rows] = await server().pool.query<RowDataPacket[]>('show processlist');
    return rows.some((row) => ids.includes(String(row['Id'])) && row['State'] === 'User sleep');
  }

  describe.each([flavour])('bell on %s', () => {
    test('a ring is heard in other processes as one for something new', async () => {
      const heard = await listen(bellOf(1));
      await (await makeRinger()).ring('tasks', { dueMs: 1_700_000_000_123, highest: 70 });
      const unknown = { highest: undefined, route: undefined };
      const orders = { later: false, halt: false, changed: false };
      expect(await heard.next()).toEqual({ ...orders, ...unknown, dueMs: 'lately' });
    });

    test('who was woken looks once more, for what came before it was asleep again', async () => {
      const heard = await listen(bellOf(1));
      await (await makeRinger()).ring('tasks', {});
      expect([await heard.next(), await heard.next()]).toEqual([
        expect.objectContaining({ later: false, halt: false, changed: false }),
        expect.objectContaining({ later: false, halt: false, changed: false }),
      ]);
    });

    test('the process that rings hears all of it, whether it sleeps or not', async () => {
      const heard = await listen(bellOf(0));
      await bellOf(0).ring('tasks', { later: true, dueMs: 1_700_000_000_123, highest: 70 });
      expect(await heard.next()).toMatchObject({ later: true, dueMs: 1_700_000_000_123, highest: 70 });
    });

    test('who was woken can be woken again', async () => {
      const heard = await listen(bellOf(1));
      const ringer = await makeRinger();
      for (let count = 0; count < 50; count += 1) {
        // One that comes before it sleeps again is for what it finds in the look that it makes now.
        await until(async () => {
          await ringer.ring('tasks', {});
          return heard.left > 0;
        }, 'it is woken');
        expect(await heard.next()).toMatchObject({ halt: false });
      }
    });

    test('rings of another queue are not heard', async () => {
      const heard = await listen(bellOf(1));
      await bellOf(2).ring('tasks', {});
      await (await makeRinger()).ring('tasks', {});
      await heard.next();
      expect(heard.left).toBe(0);
    });

    test('a producer that listens to nothing wakes workers', async () => {
      const heard = await listen(bellOf(1));
      const producer = await another({ listens: false });
      expect(producer.coordination.bell.canListen).toBe(false);
      await producer.coordination.bell.ring('tasks', {});
      await heard.next();
    });

    test('who has stopped to listen sleeps no longer, and hears nothing', async () => {
      const heard = new Arrivals<Ring>();
      const stop = await bellOf(1).listen('tasks', (ring) => heard.add(ring));
      onTestFinished(stop);
      expect(await sleepers()).toHaveLength(1);
      await stop();
      await until(async () => (await sleepers()).length === 0, 'nobody sleeps');
      await bellOf(0).ring('tasks', {});
      expect(heard.left).toBe(0);
    });

    test('one session sleeps for all that listen in a process', async () => {
      const heard = [await listen(bellOf(1)), await listen(bellOf(1))];
      expect(await sleepers()).toHaveLength(1);
      await (await makeRinger()).ring('tasks', {});
      for (const arrivals of heard) expect(await arrivals.next()).toMatchObject({ halt: false });
    });

    test('a ring for tasks wakes eight processes, and an order all of them', async () => {
      const heard: Arrivals<Ring>[] = [];
      for (let count = 0; count < 10; count += 1)
        heard.push(await listen((await another()).coordination.bell));
      const ringer = await makeRinger();
      await ringer.ring('tasks', {});
      const woken = (): number => heard.filter(({ left }) => left > 0).length;
      await until(async () => woken() >= 8, 'eight are woken');
      expect(woken()).toBe(8);
      await ringer.ring('tasks', { changed: true });
      await until(async () => woken() === 10, 'all are woken');
    });

    test('who was woken for a pause hears of it', async () => {
      const heard = await listen(bellOf(1));
      const { paused } = processOf(0).access.tables;
      await server().pool.query(`insert into ${paused} (route) values ('t:a')`);
      await bellOf(0).ring('tasks', { changed: true });
      expect(await untilHeard(heard, ({ changed }) => changed)).not.toEqual([]);
      await server().pool.query(`delete from ${paused}`);
      await bellOf(0).ring('tasks', { changed: true });
      await untilHeard(heard, ({ changed }) => changed);
    });

    test('who was woken for a running task that was cancelled hears of it', async () => {
      const heard = await listen(bellOf(1));
      const { queue } = processOf(0).access.tables;
      await server().pool.query(
        `insert into ${queue} (processo, status, executor, cancelada_por) values ('a', 'processando', 1, '')`,
      );
      await bellOf(0).ring('tasks', { changed: true });
      expect(await untilHeard(heard, ({ changed }) => changed)).not.toEqual([]);
      await server().pool.query(`delete from ${queue}`);
    });

    test('who was woken to stop hears of it, once', async () => {
      const { workers } = processOf(0);
      const id = await workers.register(worker);
      const heard = await listen(bellOf(1));
      expect(await workers.haltAll()).toContain(id);
      await untilHeard(heard, ({ halt }) => halt);
      // Its end is no order to others.
      await workers.retire(id, 'stopped');
      const { queue } = processOf(0).access.tables;
      await server().pool.query(
        `insert into ${queue} (processo, data_hora) values ('a', timestampadd(hour, 1, utc_timestamp(6)))`,
      );
      await (await makeRinger()).ring('tasks', { later: true });
      const before = await untilHeard(heard, ({ later }) => later);
      expect(before.some(({ halt }) => halt)).toBe(false);
    });

    test('a sleeper whose connection was lost looks when it is back, and is woken again', async () => {
      const heard = await listen(bellOf(1));
      const [id] = await sleepers();
      await server().pool.query(`kill ${id}`);
      await heard.next();
      const [other] = await until(async () => {
        const found = await sleepers();
        return found.length > 0 && found;
      }, 'it sleeps again');
      expect(other).not.toBe(id);
      await (await makeRinger()).ring('tasks', {});
      await heard.next();
    });

    test('who finds no place to sleep tells why it cannot be woken, and when it can', async () => {
      const prefix = sleeperPrefix(`${server().name}.tasks`);
      const others = await server().pool.getConnection();
      onTestFinished(() => others.destroy());
      for (let place = 0; place < mostPlaces; place += 1)
        await others.query('select get_lock(?, 0)', [`${prefix}${place}`]);
      const told = new Arrivals<unknown>();
      const changed = (refusal: unknown): void => told.add(refusal ?? 'it can');
      onTestFinished(await bellOf(1).listen('tasks', () => undefined, changed));
      expect(await told.next()).toMatchObject({
        message: 'the most processes that can be woken are already asleep',
      });
      await others.query('do release_all_locks()');
      expect(await told.next()).toBe('it can');
      expect(await sleepers()).toHaveLength(1);
    });

    test('a ring finds who sleeps now, when those have gone that slept before', async () => {
      const ringer = await makeRinger();
      const stop = await bellOf(1).listen('tasks', () => undefined);
      await ringer.ring('tasks', {});
      await stop();
      await until(async () => (await sleepers()).length === 0, 'the session has ended');
      const heard = await listen(bellOf(1));
      // One that comes before the server has begun to sleep wakes nobody.
      await until(isAsleep, 'the server sleeps');
      await ringer.ring('tasks', {});
      expect(await heard.next()).toMatchObject({ halt: false });
    });

    test('a killed statement hurts nothing but a sleep', async () => {
      await listen(bellOf(1));
      const [id] = await sleepers();
      for (let count = 0; count < 100; count += 1) await server().pool.query(`kill query ${id}`);
      expect(await sleepers()).toEqual([id]);
    });

    test('workers of another user are not woken, which is said once', async () => {
      await listen(bellOf(1));
      const user = `c_${server().name.slice(-12)}`;
      await server().pool.query(
        `create user ${user}@'127.0.0.1'; grant all on ${server().name}.* to ${user}@'127.0.0.1'`,
      );
      onTestFinished(async () => void (await server().pool.query(`drop user ${user}@'127.0.0.1'`)));
      const address = new URL(server().url);
      address.username = user;
      const other = await openProcess(address.href, { listens: false });
      onTestFinished(() => other.close());
      const { bell } = other.coordination;
      await bell.ring('tasks', {});
      await bell.ring('tasks', {});
      expect(other.warnings).toEqual([expect.stringContaining('cannot be woken')]);
    });
  });
}

/** Returns what came before. */
async function untilHeard(heard: Arrivals<Ring>, matches: (ring: Ring) => boolean): Promise<readonly Ring[]> {
  const before: Ring[] = [];
  for (;;) {
    const ring = await heard.next();
    if (matches(ring)) return before;
    before.push(ring);
  }
}
