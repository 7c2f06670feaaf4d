import type { Pool } from 'mysql2/promise';
import { hostile, isUnfinished } from '../workload/hostile.js';
import { subscriptions } from '../workload/kinds.js';

const now = 'utc_timestamp(6)';
const isOrdinary = (row: 'new' | 'old'): string => `${row}.origem not like '${hostile}%'`;

/** The number of a transaction is that of the version of the row that it has made. */
const effect = `create table effect (
  n bigint not null auto_increment primary key, task_root bigint not null, attempt int not null, dead tinyint(1) not null,
  \`key\` varchar(150), worker varchar(60) not null, backend bigint not null default (connection_id()),
  xid bigint unsigned generated always as row start, xid_end bigint unsigned generated always as row end,
  period for system_time (xid, xid_end), key (task_root)
) with system versioning engine=InnoDB`;

const audit = `create table audit (
  n bigint not null auto_increment primary key, id bigint not null, old_status varchar(100), new_status varchar(100),
  old_reserva int, new_reserva int, old_executor bigint, new_executor bigint, at datetime(6) not null default (${now}),
  key (id)
) engine=InnoDB`;

const write = (row: string): string =>
  `insert into audit (id, old_status, new_status, old_reserva, new_reserva, old_executor, new_executor) values (${row})`;

const unfinished = `create function is_unfinished(root bigint) returns tinyint reads sql data return
  exists (select 1 from tasks f where f.id = root and ${isUnfinished('f')})
  or exists (select 1 from tasks f where f.id_inicial = root and ${isUnfinished('f')})
  or exists (select 1 from tasks f where f.morte = root and ${isUnfinished('f')})
  or exists (select 1 from tasks d straight_join tasks f on f.id_inicial = d.id where d.morte = root and ${isUnfinished('f')})`;

/**
 * What schema.ts makes in PostgreSQL, where the queue is: effects without any unique key, every transition, every row that purge
 * deletes. The judges read a copy.
 */
export async function createMariadbTables(pool: Pool): Promise<void> {
  const columns = await columnsOf(pool);
  const list = columns.join(', ');
  const old = columns.map((name) => `old.${name}`).join(', ');
  const root = 'coalesce(old.id_inicial, old.id)';
  for (const statement of [
    effect,
    audit,
    // What an outsider changes to be the stronger one in a deadlock.
    'create table ballast (n bigint) engine=InnoDB',
    `create table gone engine=InnoDB as select ${list}, ${now} as deleted_at, 0 as unfinished from tasks where false`,
    unfinished,
    `create trigger audit_insert after insert on tasks for each row if ${isOrdinary('new')} then
       ${write('new.id, null, new.status, null, new.reserva, null, new.executor')}; end if`,
    `create trigger audit_update after update on tasks for each row if ${isOrdinary('new')}
       and not (old.status <=> new.status and old.reserva <=> new.reserva and old.executor <=> new.executor) then
       ${write('new.id, old.status, new.status, old.reserva, new.reserva, old.executor, new.executor')}; end if`,
    `create trigger audit_delete after delete on tasks for each row if ${isOrdinary('old')} then
       ${write('old.id, old.status, null, old.reserva, null, old.executor, null')};
       insert into gone (${list}, deleted_at, unfinished) values (${old}, ${now}, is_unfinished(${root})); end if`,
  ]) {
    await pool.query(statement);
  }
  for (const { id, topic, tenant } of subscriptions) {
    await pool.query('insert into tasks_subscriber (id, processo, tenant) values (?, ?, ?)', [
      id,
      topic,
      tenant,
    ]);
  }
}

/** Texts that no judge reads. */
const unread = new Set(['payload', 'payload_hash', 'resultado', 'erro']);

/** Columns of the queue that are copied, without those that the server computes. */
export async function columnsOf(pool: Pool): Promise<readonly string[]> {
  const [rows] = await pool.query(
    `select column_name as name from information_schema.columns
     where table_schema = database() and table_name = 'tasks' and extra not like '%GENERATED%' order by ordinal_position`,
  );
  return (rows as { name: string }[]).map(({ name }) => name).filter((name) => !unread.has(name));
}
