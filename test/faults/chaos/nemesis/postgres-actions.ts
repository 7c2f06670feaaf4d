import { Client, type Pool } from 'pg';
import { queueTables } from '../../../../lib/storage/postgres/identifiers.js';
import { readTables } from '../../../../lib/storage/postgres/schema/row-security.js';
import type { FakeClock } from '../../kit/fake-clock.js';
import { hostile } from '../workload/hostile.js';
import { comes, nemesisOf, type Action } from './action.js';
import type { Nemesis } from './nemesis.js';
import { refuseOne, type Refusing } from './refusals.js';
import { roleFlip, type Roles } from './role-flip.js';
import { setClock } from './server-clock.js';

/** What the actions work with. */
export interface PostgresServer {
  /** With all rights, on the queue's database. */
  readonly pool: Pool;
  /** Whom workers and producers connect as. */
  readonly role: string;
  /** Where they do now, and where whoever has all rights does. */
  readonly url: string;
  readonly adminUrl: string;
  readonly version: number;
  /** Undefined where the server goes by the machine's. */
  readonly clock: FakeClock | undefined;
  readonly roles: Roles;
  /** Asks again while the server is down or busy. */
  readonly patiently: <T>(question: () => Promise<T>) => Promise<T>;
}

/** What can be done to a PostgreSQL while the queue works. */
export function postgresActions(server: PostgresServer): readonly Nemesis[] {
  const { clock, version, pool } = server;
  const readClock = async (): Promise<number> => {
    const { rows } = await pool.query<{ ms: number }>(
      'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
    );
    return rows[0]?.ms ?? NaN;
  };
  return [
    rowSecurity(server),
    takenIds(server),
    ...(version >= 170_000 ? [fullNotifyQueue(server)] : []),
    ...(version >= 140_000 ? [idleSessions(server)] : []),
    connectionLimit(server),
    anotherLanguage(server),
    anotherLocale(server),
    refuseOne({ name: 'refusing trigger', ...refusals(server, 'trigger') }),
    refuseOne({ name: 'refusing constraint', ...refusals(server, 'constraint') }),
    ...(clock ? [setClock(clock, readClock)] : []),
    roleFlip(server.roles),
  ].map(nemesisOf);
}

/** Runs statements as one; none of them may hold the queue up for long while it waits for a lock. */
async function change({ patiently, pool }: PostgresServer, ...statements: string[]): Promise<void> {
  await patiently(() => pool.query([`set local lock_timeout = '1s'`, ...statements].join('; ')));
}

/** Ends some sessions of workers and producers: those that follow find what is otherwise now. */
async function cut({ pool, role }: PostgresServer, share: number): Promise<number> {
  const { rowCount } = await pool.query(
    `select pg_terminate_backend(pid) from (
       select pid from pg_stat_activity
       where datname = current_database() and usename = $1 and random() < $2 offset 0
     ) chosen`,
    [role, share],
  );
  return rowCount ?? 0;
}

/** Holds for the owner of the tables too, who has no policy. */
function rowSecurity(server: PostgresServer): Action {
  const queue = queueTables('public', 'tasks', { schema: 'public', table: 'tasks_subscriber' });
  const tables = readTables(queue, { webhooks: false });
  let table = '';
  return {
    name: 'row-level security',
    do: async (_, random) => {
      table = random.pick(tables);
      await change(server, `alter table ${table} enable row level security, force row level security`);
      return table;
    },
    undo: () =>
      change(server, `alter table ${table} disable row level security, no force row level security`),
  };
}

/** As after a copy of the rows alone. */
function takenIds(server: PostgresServer): Action {
  const { pool, patiently } = server;
  const lastId = async (): Promise<number> =>
    Number((await pool.query<{ n: string }>('select last_value as n from tasks_id_seq')).rows[0]?.n);
  return {
    name: 'sequence behind its ids',
    do: async () => {
      // Ids that others get meanwhile stay free.
      const first = (await lastId()) + 20;
      await pool.query(
        `insert into tasks (id, processo, origem, status, finalizada_em)
         select $1::bigint + n, 'hostile', $2, 'sucesso', now() from generate_series(0, 499) n`,
        [first, `${hostile}taken id`],
      );
      return (await comes(async () => (await lastId()) > first)) ? `from id ${first}` : undefined;
    },
    // Ids that were given out since this was asked are not given out again.
    undo: async () => {
      await patiently(() =>
        pool.query(
          `select setval('tasks_id_seq', greatest(max(id), (select last_value from tasks_id_seq)) + 100) from tasks`,
        ),
      );
    },
  };
}

/** A session that listens in an open transaction keeps the queue of notifications from being emptied. */
function fullNotifyQueue(server: PostgresServer): Action {
  const { pool } = server;
  let listener: Client | undefined;
  return {
    name: 'NOTIFY queue full',
    do: async (_, random) => {
      listener = new Client({ connectionString: server.adminUrl });
      listener.on('error', () => undefined);
      await listener.connect();
      await listener.query('listen anything');
      await listener.query('begin; select 1');
      for (let n = random.whole(1, 1_000_000); ; n += 1) {
        const code = await pool
          .query(
            `select pg_notify('anything', $1::text || '-' || m || repeat('x', 7000)) from generate_series(1, 10) m`,
            [n],
          )
          .then(() => undefined)
          .catch((error: { readonly code?: string }) => error.code ?? 'lost');
        if (code !== undefined) return code === '54000' ? 'commits that notify are refused' : undefined;
      }
    },
    undo: async () => {
      await listener?.end().catch(() => undefined);
      listener = undefined;
    },
  };
}

/** As in front of a server whose administrator wants to see idle sessions gone. */
function idleSessions(server: PostgresServer): Action {
  const { pool, patiently } = server;
  const set = async (how: string): Promise<void> => {
    await patiently(() => pool.query(`alter system ${how}`));
    await patiently(() => pool.query('select pg_reload_conf()'));
  };
  return {
    name: 'idle_session_timeout',
    do: async () => {
      await set(`set idle_session_timeout = '300ms'`);
      const idle = new Client({ connectionString: server.url, connectionTimeoutMillis: 5_000 });
      let isEnded = false;
      idle.on('error', () => undefined);
      idle.once('end', () => (isEnded = true));
      await idle.connect();
      const isMet = await comes(async () => isEnded);
      await idle.end().catch(() => undefined);
      return isMet ? 'idle sessions are ended' : undefined;
    },
    undo: () => set('reset idle_session_timeout'),
  };
}

/** Fewer connections than there are: those that end cannot be replaced. */
function connectionLimit(server: PostgresServer): Action {
  const { pool, role } = server;
  return {
    name: 'connection limit reached',
    do: async () => {
      const { rows } = await pool.query<{ n: number }>(
        'select count(*)::int as n from pg_stat_activity where usename = $1',
        [role],
      );
      const limit = Math.max(1, Math.floor((rows[0]?.n ?? 0) / 2));
      await change(server, `alter role ${role} connection limit ${limit}`);
      const ended = await cut(server, 0.3);
      return (await comes(() => isRefused(server.url))) ? `${limit}, ${ended} sessions ended` : undefined;
    },
    undo: () => change(server, `alter role ${role} connection limit -1`),
  };
}

async function isRefused(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  const code = await client.connect().then(
    () => undefined,
    (error: { readonly code?: string }) => error.code,
  );
  await client.end().catch(() => undefined);
  return code === '53300';
}

/** Everything is said in another language, by way of the network: the servers of the tests speak one only. */
function anotherLanguage(server: PostgresServer): Action {
  let lift: () => void = () => undefined;
  return {
    name: 'another language',
    do: async ({ slots, producerProxy }) => {
      const faults = [...slots.map(({ proxy }) => proxy), producerProxy].map((proxy) => proxy.translate());
      lift = () => faults.forEach((fault) => fault.lift());
      // What ends a session has a text, too.
      await cut(server, 0.2);
      const said = (): number => faults.reduce((sum, { hits }) => sum + hits.messages, 0);
      return (await comes(async () => said() > 0)) ? `${said()} messages` : undefined;
    },
    undo: async () => lift(),
  };
}

/** How times and numbers are written, and the order of texts, is that of another place. */
function anotherLocale(server: PostgresServer): Action {
  const { pool, version } = server;
  const values = {
    timezone: ['Pacific/Kiritimati', 'Pacific/Marquesas', 'America/Sao_Paulo'],
    datestyle: ['SQL, DMY', 'German, DMY', 'Postgres, MDY'],
    intervalstyle: ['sql_standard', 'iso_8601', 'postgres_verbose'],
    bytea_output: ['escape'],
    extra_float_digits: ['-10'],
  };
  const alter = `alter database ${new URL(server.url).pathname.slice(1)}`;
  const ofOrder = (text: string): string[] =>
    version < 150_000
      ? []
      : [`update pg_database set datcollversion = ${text} where datname = current_database()`];
  return {
    name: 'locale changes',
    do: async (_, random) => {
      const set = Object.entries(values).map(([name, some]) => [name, random.pick(some)] as const);
      const { rows } = await pool.query<{ name: string }>(
        `select collcollate as name from pg_collation
         where collprovider = 'c' and collcollate not in ('', 'C', 'POSIX') order by random() limit 1`,
      );
      for (const { name } of rows) {
        for (const part of ['lc_time', 'lc_numeric', 'lc_monetary']) set.push([part, name]);
      }
      await change(
        server,
        ...set.map(([name, value]) => `${alter} set ${name} = '${value}'`),
        // As after an update of the operating system.
        ...ofOrder(`'another'`),
      );
      const ended = await cut(server, 0.5);
      return ended > 0 ? `${set.map((one) => one.join(' ')).join(', ')} in ${ended} sessions` : undefined;
    },
    undo: async () => {
      const names = [...Object.keys(values), 'lc_time', 'lc_numeric', 'lc_monetary'];
      await change(
        server,
        ...names.map((name) => `${alter} reset ${name}`),
        ...ofOrder('pg_database_collation_actual_version(oid)'),
      );
    },
  };
}

/** What counts refusals is not undone with what was refused. */
function refusals(server: PostgresServer, way: 'trigger' | 'constraint'): Omit<Refusing, 'name'> {
  const { pool } = server;
  const name = `refuse_by_${way}`;
  const drop = {
    trigger: [`drop trigger if exists ${name} on tasks`],
    constraint: [`alter table tasks drop constraint if exists ${name}`],
  }[way];
  const body = (returns: string, last: string): string =>
    `create function ${name}() returns ${returns} language plpgsql security definer as $$
     begin perform nextval('public.refusals'); ${last} end $$`;
  return {
    refuse: (condition) =>
      change(
        server,
        ...(way === 'trigger'
          ? [
              body('trigger', `raise exception 'not this row';`),
              `create trigger ${name} before insert or update on tasks for each row
               when (${condition((column) => `new.${column}`)}) execute function ${name}()`,
            ]
          : [
              body('boolean', 'return false;'),
              `alter table tasks add constraint ${name}
               check (case when ${condition((column) => column)} then ${name}() else true end) not valid`,
            ]),
      ),
    accept: () => change(server, ...drop, `drop function if exists ${name}()`),
    count: async () => {
      const { rows } = await pool.query<{ n: string }>('select last_value as n from public.refusals');
      return Number(rows[0]?.n);
    },
  };
}
