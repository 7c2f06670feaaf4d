import { describe, expect, onTestFinished, test } from 'vitest';
import { leaseMs } from '../../../lib/storage/workers.js';
import { openProcess, useProcesses, type MysqlProcess } from '../../coordination/mysql/mysql-processes.js';
import type { MysqlFlavour } from '../../support/mysql.js';
import { deferred, until } from '../../support/waiting.js';

const worker = { host: 'host', pid: 1, version: '0', concurrency: 1, routes: [], deadRoutes: [] };

/** What the registry of workers promises besides the contract, on one server. */
export function exerciseMysqlWorkers(flavour: MysqlFlavour): void {
  const { server, processes } = useProcesses(flavour, [{}, {}]);
  const processOf = (index: number): MysqlProcess => processes[index] as MysqlProcess;

  describe.each([flavour])('workers on %s', () => {
    test('nobody is called missing while the server may have started a moment ago', async () => {
      const { workers } = processOf(0);
      await workers.register(worker);
      const look = { looker: '0', others: [] };
      expect(await workers.findMissing({ ...look, graceMs: 86_400_000 })).toBeUndefined();
      expect((await workers.findMissing({ ...look, graceMs: 0 }))?.missing).not.toEqual([]);
    });

    test('the routes of a worker are kept as JSON, whatever they contain', async () => {
      const { workers } = processOf(0);
      const routes = ['t:a', `t:'"\\é😀`];
      const id = await workers.register({ ...worker, routes, deadRoutes: ['s:x'] });
      const [rows] = await server().pool.query('select routes, dead_routes from tasks_worker where id = ?', [
        id,
      ]);
      expect(rows).toEqual([{ routes: JSON.stringify(routes), dead_routes: '["s:x"]' }]);
    });

    test('a routine runs alone, also beside one that a session runs, and gives its turn back', async () => {
      const [one, other] = [processOf(0), processOf(1)];
      const session = one.coordination.makeLiveness();
      await session.hold(await one.workers.register(worker), { lost: ignore, restored: ignore });
      onTestFinished(() => session.release());
      const [begun, gate] = [deferred(), deferred()];
      const running = other.workers.runAlone('purge', async () => {
        begun.resolve();
        await gate.promise;
        return 1;
      });
      await begun.promise;
      expect(await one.workers.runAlone('purge', async () => 2)).toBeUndefined();
      expect(await session.exclusively('purge', async () => 3)).toBeUndefined();
      expect(await one.workers.runAlone('notify', async () => 4)).toBe(4);
      gate.resolve();
      expect(await running).toBe(1);
      await expect(one.workers.runAlone('purge', () => Promise.reject(new Error('bad')))).rejects.toThrow(
        'bad',
      );
      expect(await session.exclusively('purge', async () => 5)).toBe(5);
    });

    test('all that run are told to stop, and a bell is rung after the commit', async () => {
      const { workers } = processOf(0);
      const ringer = await openProcess(server().url, { listens: false });
      onTestFinished(() => ringer.close());
      const id = await workers.register(worker);
      const stopped = await workers.register(worker);
      await workers.retire(stopped, 'stopped');
      let isHeard = false;
      const { bell } = processOf(1).coordination;
      onTestFinished(await bell.listen('tasks', ({ halt }) => (isHeard ||= halt)));
      // A ring that comes while a session falls asleep is lost.
      const told = await until(async () => {
        const ids = await ringer.workers.haltAll();
        return isHeard ? ids : undefined;
      }, 'it is heard');
      expect(told).toContain(id);
      expect(told).not.toContain(stopped);
      expect([await workers.isHalted(id), await workers.isHalted(stopped)]).toEqual([true, false]);
    });

    test('a lease that has run out shows nobody, and brings a worker back that was called lost', async () => {
      const { workers } = processOf(0);
      const id = await workers.register(worker);
      const isMissing = async (): Promise<boolean | undefined> =>
        (await workers.findMissing({ looker: '0', others: [], graceMs: 0 }))?.missing.includes(id);
      await workers.renewLease(id, leaseMs);
      expect(await isMissing()).toBe(false);
      await workers.renewLease(id, -1_000);
      expect(await isMissing()).toBe(true);
      await workers.confirmLost([id], 0);
      await workers.retire(id, 'lost');
      expect(await isMissing()).toBe(false);
      await workers.renewLease(id, -1_000);
      expect(await isMissing()).toBe(true);
    });

    test('who runs is found by the index, without a look at the tasks', async () => {
      const { queue } = processOf(0).access.tables;
      await server().pool.query(
        `insert into ${queue} (processo, status, executor) values ('a', 'processando', 4711), ('a', 'processando', 4711), ('a', 'processando', null)`,
      );
      const holders = await processOf(0).workers.unregisteredHolders();
      expect(new Set(holders)).toEqual(new Set(['4711', undefined]));
    });
  });
}

const ignore = (): void => undefined;
