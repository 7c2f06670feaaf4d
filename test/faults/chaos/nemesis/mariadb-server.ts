import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'mysql2/promise';
import { patiently } from '../ground/mariadb-questions.js';
import { lockFaults } from './mariadb-locks.js';
import { countRunning, type Nemesis } from './nemesis.js';

/** What a session is doing when it is killed. */
type Moment = 'at any time' | 'in a statement' | 'in a transaction';

const conditions: Readonly<Record<Moment, string>> = {
  'at any time': 'true',
  'in a statement': `p.command = 'Query'`,
  'in a transaction':
    'exists (select 1 from information_schema.innodb_trx t where t.trx_mysql_thread_id = p.id)',
};

interface Killed {
  readonly kind: string;
  readonly how: 'kill' | 'kill query';
  /** What its name ends like. */
  readonly purpose: string;
  readonly moment: Moment;
}

function killSession(pool: Pool, user: string, { kind, how, purpose, moment }: Killed): Nemesis {
  const find = `select p.id from information_schema.processlist p
    join performance_schema.session_connect_attrs a on a.processlist_id = p.id and a.attr_name = 'program_name'
    where p.user = ? and a.attr_value like ? and ${conditions[moment]} order by rand() limit 1`;
  return {
    kind,
    strike: async ({ ground }) => {
      // A statement lasts a millisecond: it is waited for.
      const deadline = performance.now() + 1_500;
      for (;;) {
        const [rows] = await patiently(() => pool.query(find, [user, `%${purpose}`]));
        const [session] = rows as { id: string }[];
        if (session && (await countRunning(ground.ask)) > 0) {
          const isKilled = await pool.query(`${how} ${session.id}`).then(
            () => true,
            () => false,
          );
          if (isKilled) return `session ${session.id}`;
        }
        if (performance.now() > deadline) return undefined;
        await pause(5);
      }
    },
  };
}

/** All sessions end, those that follow are ended by the server when they say nothing for a second. */
const shortSilence = (pool: Pool, user: string): Nemesis => ({
  kind: 'wait_timeout',
  group: 'server',
  strike: async () => {
    const aborted = async (): Promise<number> => {
      const [rows] = await pool.query(
        `select variable_value as n from information_schema.global_status where variable_name = 'ABORTED_CLIENTS'`,
      );
      return Number((rows as { n: string }[])[0]?.n);
    };
    await pool.query('set global wait_timeout = 1');
    try {
      await pool.query(`kill user ${user}`);
      await pause(500);
      const before = await aborted();
      await pause(3_000);
      const ended = (await aborted()) - before;
      return ended > 0 ? `${ended} sessions` : undefined;
    } finally {
      await patiently(() => pool.query('set global wait_timeout = 28800'));
    }
  },
});

/** As a replica is, or a primary that is being replaced. */
const onlyReads = (pool: Pool): Nemesis => ({
  kind: 'read only',
  group: 'server',
  strike: async ({ ground }, random) => {
    const running = await countRunning(ground.ask);
    await pool.query('set global read_only = 1');
    try {
      await pause(random.whole(300, 1_500));
      return running > 0 ? `${running} rows in flight` : undefined;
    } finally {
      await patiently(() => pool.query('set global read_only = 0'));
    }
  },
});

/** Faults that are MariaDB's own. */
export function mariadbFaults(pool: Pool, user: string): readonly Nemesis[] {
  const kill = (killed: Killed): Nemesis => killSession(pool, user, killed);
  return [
    kill({ kind: 'kill session connection', how: 'kill', purpose: 'session', moment: 'at any time' }),
    kill({ kind: 'kill sleeper connection', how: 'kill', purpose: 'sleeper', moment: 'at any time' }),
    kill({ kind: 'kill control connection', how: 'kill', purpose: 'control', moment: 'in a statement' }),
    kill({ kind: 'kill pool connection', how: 'kill', purpose: 'pool', moment: 'in a transaction' }),
    kill({ kind: 'kill statement', how: 'kill query', purpose: '', moment: 'in a statement' }),
    ...lockFaults(pool),
    shortSilence(pool, user),
    onlyReads(pool),
  ];
}
