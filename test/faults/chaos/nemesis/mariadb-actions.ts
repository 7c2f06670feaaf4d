import { createConnection, type Pool } from 'mysql2/promise';
import type { FakeClock } from '../../kit/fake-clock.js';
import { patiently } from '../ground/mariadb-questions.js';
import { comes, nemesisOf, type Action } from './action.js';
import type { Nemesis } from './nemesis.js';
import { refuseOne, type Refusing } from './refusals.js';
import { setClock } from './server-clock.js';

/** What the actions work with. */
export interface MariadbServer {
  /** With all rights, on the queue's database. */
  readonly pool: Pool;
  /** Whom workers and producers connect as, and where. */
  readonly user: string;
  readonly url: string;
  /** Undefined where the server goes by the machine's. */
  readonly clock: FakeClock | undefined;
}

/** The server is started with it: else it does not count the sessions of a user. */
export const usualLimit = 250;

/** What can be done to a MariaDB while the queue works. */
export function mariadbActions(server: MariadbServer): readonly Nemesis[] {
  const { clock } = server;
  const readClock = async (): Promise<number> =>
    Number(await one(server.pool, 'select unix_timestamp(now(6)) * 1000 as it'));
  return [
    connectionLimit(server),
    otherValues(server, 'another language', { lc_messages: ['pt_BR', 'de_DE', 'ja_JP'] }),
    otherValues(server, 'locale changes', {
      lc_time_names: ['pt_BR', 'de_DE', 'ja_JP'],
      time_zone: ['+13:00', '-11:00'],
      collation_server: ['latin1_swedish_ci', 'utf8mb4_turkish_ci'],
    }),
    refuseOne({ name: 'refusing trigger', ...refusals(server.pool) }),
    ...(clock ? [setClock(clock, readClock)] : []),
  ].map(nemesisOf);
}

/** The value called `it`. */
async function one(pool: Pool, sql: string, values: unknown[] = []): Promise<unknown> {
  const [rows] = await pool.query(sql, values);
  return (rows as { it: unknown }[])[0]?.it;
}

/** Ends some sessions of workers and producers: those that follow find what is otherwise now. */
async function cut({ pool, user }: MariadbServer, share: number): Promise<number> {
  const [rows] = await pool.query(
    'select id from information_schema.processlist where user = ? and rand() < ?',
    [user, share],
  );
  const ended = await Promise.allSettled(
    (rows as { id: string }[]).map(({ id }) => pool.query(`kill ${id}`)),
  );
  return ended.filter(({ status }) => status === 'fulfilled').length;
}

const set = async (pool: Pool, name: string, value: unknown): Promise<void> => {
  await patiently(() => pool.query(`set global ${name} = ?`, [value]));
};

/** Fewer sessions than there are: those that end cannot be replaced. */
function connectionLimit(server: MariadbServer): Action {
  const { pool, user } = server;
  return {
    name: 'connection limit reached',
    do: async () => {
      const sessions = 'select count(*) as it from information_schema.processlist where user = ?';
      const limit = Math.max(1, Math.floor(Number(await one(pool, sessions, [user])) / 2));
      await set(pool, 'max_user_connections', limit);
      const ended = await cut(server, 0.3);
      return (await comes(() => isRefused(server.url))) ? `${limit}, ${ended} sessions ended` : undefined;
    },
    undo: () => set(pool, 'max_user_connections', usualLimit),
  };
}

async function isRefused(uri: string): Promise<boolean> {
  try {
    await (await createConnection({ uri, connectTimeout: 5_000 })).end();
    return false;
  } catch (error) {
    return (error as { readonly errno?: number }).errno === 1203;
  }
}

/** Sessions that begin from now on have others of the server's values. */
function otherValues(
  server: MariadbServer,
  name: string,
  values: Readonly<Record<string, readonly string[]>>,
): Action {
  const { pool } = server;
  const before = new Map<string, unknown>();
  return {
    name,
    do: async (_, random) => {
      const chosen = Object.entries(values).map(([key, some]) => [key, random.pick(some)] as const);
      for (const [key, value] of chosen) {
        before.set(key, await one(pool, `select @@global.${key} as it`));
        await set(pool, key, value);
      }
      const ended = await cut(server, 0.4);
      return ended > 0
        ? `${chosen.map((some) => some.join(' ')).join(', ')} in ${ended} sessions`
        : undefined;
    },
    undo: async () => {
      for (const [key, value] of before) await set(pool, key, value);
      before.clear();
    },
  };
}

/** What counts refusals is not undone with what was refused. */
function refusals(pool: Pool): Omit<Refusing, 'name'> {
  const moments = ['insert', 'update'] as const;
  const change = async (sql: string): Promise<void> => {
    await patiently(async () => {
      const connection = await pool.getConnection();
      try {
        // Others wait behind whoever waits for the table.
        await connection.query('set session lock_wait_timeout = 1');
        await connection.query(sql);
      } finally {
        connection.release();
      }
    });
  };
  return {
    refuse: async (condition) => {
      for (const moment of moments) {
        await change(`create trigger refuse_${moment} before ${moment} on tasks for each row
          begin
            if ${condition((column) => `new.${column}`)} then
              set @refused = next value for refusals;
              signal sqlstate '45000' set message_text = 'not this row';
            end if;
          end`);
      }
    },
    accept: async () => {
      for (const moment of moments) await change(`drop trigger if exists refuse_${moment}`);
    },
    count: async () => Number(await one(pool, 'select next_not_cached_value as it from refusals')),
  };
}
