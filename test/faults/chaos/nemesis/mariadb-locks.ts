import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'mysql2/promise';
import { untilListedAnewMs } from '../../../support/listed-transactions.js';
import type { QueueConnection } from '../ground/clients.js';
import type { Random } from '../prng.js';
import type { Nemesis, World } from './nemesis.js';

/** Longer than statements wait for a lock. */
const pastTheWaitMs = 4_000;

/** Makes a fault of locks that another session holds, and writes down how long it held them. */
function holding(
  kind: string,
  work: (outsider: QueueConnection, world: World, random: Random) => Promise<string | undefined>,
): Nemesis {
  return {
    kind,
    group: 'outsider',
    strike: async (world, random) => {
      const { ground, history } = world;
      const outsider = await ground.clients.connect().catch(() => undefined);
      if (!outsider) return undefined;
      const from = Date.now();
      try {
        return await work(outsider, world, random);
      } catch {
        return undefined;
      } finally {
        outsider.release(new Error('it held locks'));
        history.write({ event: 'locked', ids: [], from, to: Date.now() });
      }
    },
  };
}

/** A task whose handler is at work in a transaction, locked by the outsider; undefined when it was over too soon. */
async function lockRunning(
  outsider: QueueConnection,
  { producer, ground }: World,
): Promise<string | undefined> {
  const key = await producer.insert('long transaction', { ms: 700 });
  for (
    const deadline = performance.now() + 3_000;
    performance.now() < deadline;
    await pause(untilListedAnewMs)
  ) {
    if ((await ground.ask.claimerOf(key)) === undefined) continue;
    // Its handler leaves its effect first.
    await pause(150);
    const { rows } = await outsider.query(
      `select cast(coalesce(id_inicial, id) as char) as root from tasks
       where origem = ? and status = 'processando' for update skip locked`,
      [key],
    );
    return rows[0] && String(rows[0]['root']);
  }
  return undefined;
}

/** One of the counters of InnoDB, since its start. */
async function counted(pool: Pool, name: 'lock_deadlocks' | 'lock_timeouts'): Promise<number> {
  const [rows] = await pool.query('select count as n from information_schema.innodb_metrics where name = ?', [
    name,
  ]);
  return Number((rows as { n: string }[])[0]?.n ?? 0);
}

/** Locks the row of a task and, once its completion waits for that, asks for what its handler has written. */
const deadlock = (pool: Pool): Nemesis =>
  holding('deadlock', async (outsider, world) => {
    const before = await counted(pool, 'lock_deadlocks');
    await outsider.query('begin');
    // Who has changed more rows survives.
    await outsider.query('insert into ballast select seq from seq_1_to_500');
    const root = await lockRunning(outsider, world);
    if (root === undefined || !(await waiting(pool, 1_500))) return undefined;
    await outsider.query('select n from effect where task_root = ? for update', [root]);
    return (await counted(pool, 'lock_deadlocks')) > before ? `the completion of task ${root}` : undefined;
  });

/** Whether somebody waits for a lock of a row before so long. */
async function waiting(pool: Pool, withinMs: number): Promise<boolean> {
  for (const deadline = performance.now() + withinMs; performance.now() < deadline;) {
    await pause(untilListedAnewMs);
    const [rows] = await pool.query(
      `select 1 from information_schema.innodb_trx where trx_state = 'LOCK WAIT' limit 1`,
    );
    if ((rows as unknown[]).length > 0) return true;
  }
  return false;
}

/** Holds a row for so long that whoever waits for it is told so. */
const lockWait = (pool: Pool): Nemesis =>
  holding('lock wait', async (outsider, world) => {
    const before = await counted(pool, 'lock_timeouts');
    await outsider.query('begin');
    const root = await lockRunning(outsider, world);
    if (root === undefined) return undefined;
    await pause(pastTheWaitMs);
    await outsider.query('rollback');
    const timeouts = (await counted(pool, 'lock_timeouts')) - before;
    return timeouts > 0 ? `${timeouts} statements gave up` : undefined;
  });

/** What a migration or a backup does: nobody reads or writes the table meanwhile. */
const lockTable = holding('lock table', async (outsider, { ground }, random) => {
  const held = await ground.ask.held();
  await outsider.query('lock tables tasks write');
  await pause(random.whole(300, 2_000));
  await outsider.query('unlock tables');
  return held.length > 0 ? `${held.length} workers had rows in flight` : undefined;
});

/** Faults of locks that others hold. */
export function lockFaults(pool: Pool): readonly Nemesis[] {
  return [deadlock(pool), lockWait(pool), lockTable];
}
