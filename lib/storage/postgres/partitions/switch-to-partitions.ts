import { TarefaError } from '../../../errors.js';
import type { SqlHandle } from '../../sql-handle.js';
import { quoteIdentifier, type QueueTables } from '../identifiers.js';
import { isPartitioned, type QueueNames } from '../schema/inspect-schema.js';
import { qualifiedIndex } from '../migration/schema-shape.js';
import {
  fillFactor,
  indexSql,
  ownName,
  ringTriggerSql,
  scheduleTriggerSql,
  viewSql,
} from '../schema/schema-objects.js';
import { partitionedIndexes, partitionName } from './partitioned-layout.js';

/** How a table becomes the first partition. */
export interface Switch {
  readonly tables: QueueTables;
  readonly names: QueueNames;
  /** Its ids are below. */
  readonly end: bigint;
  /** Ids of the next partitions. */
  readonly every: bigint;
  /** Name of the constraint that says so, in SQL. */
  readonly limit: string;
}

/** PostgreSQL cuts longer names. */
const longestName = 63;

/** An index of the table when it has become the first partition. */
export const oldIndexName = (tables: QueueTables, suffix: string): string =>
  `${partitionName(tables, 1)}_${suffix}`.slice(0, longestName);

/** A unique index that another one has replaced. */
export const asideName = (tables: QueueTables, suffix: string): string =>
  ownName(tables, `${suffix.slice(0, 4)}_u`);

/** Partitions that are made with it. */
const nextPartitions = 2n;

/**
 * Gives the table's name to a new, partitioned table of which the old one is the first partition, in one transaction of
 * milliseconds: nothing is read or written but the catalog. Ids go on at the next partition.
 */
export async function switchToPartitions(
  tx: SqlHandle,
  { tables, names, end, every, limit }: Switch,
): Promise<void> {
  if (await isPartitioned(tx, tables)) return;
  const { queue, quotedSchema } = tables;
  const sequence = await readSequence(tx, tables);
  const channel = (await readChannel(tx, tables)) ?? names.channel;
  const first = quoteIdentifier(partitionName(tables, 1));
  const old = `${quotedSchema}.${first}`;
  const send = async (...statements: readonly string[]): Promise<void> => {
    for (const text of statements) await tx.query(text);
  };
  await send(`lock table ${queue} in access exclusive mode`);
  const { rows } = await tx.query(`select coalesce(max(id), 0) < ${end} as below from ${queue}`);
  if (rows[0]?.['below'] !== true) throw tooLate(tables);
  await renameIndexes(tx, tables);
  await send(
    ...['schedule', 'ring'].map(
      (suffix) => `drop trigger if exists ${quoteIdentifier(ownName(tables, suffix))} on ${queue}`,
    ),
    `alter table ${queue} rename to ${first}`,
    `create table ${queue} (like ${old} including defaults including constraints including generated including storage
       including comments, primary key (id)) partition by range (id)`,
    ownerOf(old, queue),
    `alter table ${queue} drop constraint if exists ${limit}`,
    ...partitionedIndexes.map((index) => indexSql(tables, index)),
    `alter table ${queue} attach partition ${old} for values from (minvalue) to (${end})`,
    `alter table ${old} drop constraint if exists ${limit}`,
    `create table ${quotedSchema}.${quoteIdentifier(partitionName(tables, 'default'))} partition of ${queue} default with (fillfactor = ${fillFactor})`,
  );
  await send(ownerOf(old, `${quotedSchema}.${quoteIdentifier(partitionName(tables, 'default'))}`));
  for (let index = 0n; index < nextPartitions; index += 1n) {
    const from = end + index * every;
    const name = quoteIdentifier(partitionName(tables, Number(index) + 2));
    await send(
      `create table ${quotedSchema}.${name} partition of ${queue} for values from (${from}) to (${from + every}) with (fillfactor = ${fillFactor})`,
      ownerOf(old, `${quotedSchema}.${name}`),
    );
  }
  if (sequence !== undefined) {
    await send(
      `alter sequence ${sequence} owned by ${queue}.id`,
      // Unlike setval this is rolled back with the rest: a table that keeps its limit would refuse ids beyond it.
      `alter sequence ${sequence} restart with ${end}`,
    );
  }
  await send(...scheduleTriggerSql(tables), ...ringTriggerSql(tables, channel), viewSql(tables));
  await copyGrants(tx, tables, old);
}

/** Those of the new table get their names. */
async function renameIndexes(tx: SqlHandle, tables: QueueTables): Promise<void> {
  const { rows } = await tx.query(
    `select c.relname::text as name from pg_index i join pg_class c on c.oid = i.indexrelid
     where i.indrelid = to_regclass($1::text) and c.relname = any($2::text[])`,
    [
      tables.queue,
      ['pkey', ...partitionedIndexes.map(({ suffix }) => suffix)].map((suffix) => ownName(tables, suffix)),
    ],
  );
  for (const row of rows) {
    const name = String(row['name']);
    const suffix = name.slice(tables.table.length + 1);
    const wanted = oldIndexName(tables, suffix);
    const { rows: taken } = await tx.query('select to_regclass($1::text) is not null as taken', [
      qualifiedIndex(tables, wanted),
    ]);
    // The unique index gives its name to the one that was built in its place.
    const free = taken[0]?.['taken'] === true ? asideName(tables, suffix) : wanted;
    await tx.query(`alter index ${qualifiedIndex(tables, name)} rename to ${quoteIdentifier(free)}`);
  }
}

async function readSequence(tx: SqlHandle, { queue }: QueueTables): Promise<string | undefined> {
  const { rows } = await tx.query(`select pg_get_serial_sequence($1::text, 'id') as name`, [queue]);
  const name = rows[0]?.['name'];
  return typeof name === 'string' ? name : undefined;
}

/** The channel that its trigger rings: workers listen there. */
async function readChannel(tx: SqlHandle, tables: QueueTables): Promise<string | undefined> {
  const { rows } = await tx.query(
    `select encode(t.tgargs, 'escape') as args from pg_trigger t
     where t.tgrelid = to_regclass($1::text) and t.tgname = $2::text`,
    [tables.queue, ownName(tables, 'ring')],
  );
  return rows[0] && String(rows[0]['args']).replace(/\\000$/, '');
}

/** Gives a table to the owner of another one. */
const ownerOf = (of: string, table: string): string => `do $do$ begin
  execute (select format('alter table %s owner to %I', $q$${table}$q$, pg_get_userbyid(c.relowner))
    from pg_class c where c.oid = $q$${of}$q$::regclass);
end $do$`;

/** Gives every role the rights on the new table that it has on the old one. */
async function copyGrants(tx: SqlHandle, { queue }: QueueTables, old: string): Promise<void> {
  await tx.query(
    `do $do$
     declare g record;
     begin
       for g in
         select a.privilege_type as privilege, a.is_grantable as grantable,
           case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end as grantee,
           null::name as attribute
         from pg_class c, aclexplode(c.relacl) a
         where c.oid = $q$${old}$q$::regclass and a.grantee <> c.relowner
         union all
         select a.privilege_type, a.is_grantable,
           case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end, t.attname
         from pg_attribute t, aclexplode(t.attacl) a
         where t.attrelid = $q$${old}$q$::regclass and t.attnum > 0
       loop
         execute format('grant %s%s on %s to %s%s', g.privilege, coalesce(' (' || quote_ident(g.attribute) || ')', ''), $q$${queue}$q$,
           g.grantee, case when g.grantable then ' with grant option' else '' end);
       end loop;
     end $do$`,
  );
}

function tooLate({ qualifiedName }: QueueTables): TarefaError {
  return new TarefaError(
    'SCHEMA_CONFLICT',
    `${qualifiedName} has used up the ids below its limit meanwhile: run the command again, which sets a higher limit`,
  );
}
