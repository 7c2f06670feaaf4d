import type { SqlHandle } from '../../sql-handle.js';
import type { QueueTables } from '../identifiers.js';
import { ownName } from '../schema/schema-objects.js';
import { readLimit } from './id-limit.js';
import { partitionedIndexes, partitionName } from './partitioned-layout.js';

/** What a conversion has to know of a table. */
export interface TableSurvey {
  /** Id that was given last. */
  readonly lastId: bigint;
  /** Ids are below, when a conversion was begun. */
  readonly limit: bigint | undefined;
  readonly limitIsValid: boolean;
  /** Names of ours that are unique and will not be. */
  readonly uniqueIndexes: ReadonlySet<string>;
  /** Names of unique indexes of the first partition, whose table it was. */
  readonly leftOvers: readonly string[];
  /** What a new table under the same name would not have, in words. */
  readonly obstacles: readonly string[];
}

/** Reads it. */
export async function surveyTable(tx: SqlHandle, tables: QueueTables): Promise<TableSurvey> {
  const { queue, quotedSchema } = tables;
  const { rows: ends } = await tx.query(
    `select greatest(coalesce(pg_sequence_last_value(pg_get_serial_sequence($1::text, 'id')::regclass), 0),
       coalesce((select max(id) from ${queue}), 0))::text as last`,
    [queue],
  );
  const limit = await readLimit(tx, tables);
  const { rows: unique } = await tx.query(
    `select c.relname::text as name, t.relname::text as table
     from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
     where i.indisunique and not i.indisprimary and t.relnamespace = to_regnamespace($1::text)
       and t.relname = any($2::text[])`,
    [quotedSchema, [tables.table, partitionName(tables, 1)]],
  );
  const own = new Set(partitionedIndexes.map(({ suffix }) => ownName(tables, suffix)));
  return {
    lastId: BigInt(String(ends[0]?.['last'])),
    limit: limit?.end,
    limitIsValid: limit?.isValid === true,
    uniqueIndexes: new Set(
      unique
        .filter((row) => row['table'] === tables.table && own.has(String(row['name'])))
        .map((row) => String(row['name'])),
    ),
    leftOvers: unique.filter((row) => row['table'] !== tables.table).map((row) => String(row['name'])),
    obstacles: await readObstacles(tx, tables),
  };
}

/** The library's own triggers, which are made again. */
const ownTriggers = ['schedule', 'ring'];

async function readObstacles(tx: SqlHandle, tables: QueueTables): Promise<readonly string[]> {
  const { rows } = await tx.query(
    `with q as (select to_regclass($1::text)::oid as oid)
     select 'the trigger ' || t.tgname as what from q, pg_trigger t
     where t.tgrelid = q.oid and not t.tgisinternal and t.tgname <> all($2::text[])
     union all
     select 'the foreign key ' || c.conname || ' of ' || c.conrelid::regclass from q, pg_constraint c
     where c.contype = 'f' and (c.conrelid = q.oid or c.confrelid = q.oid)
     union all
     select distinct 'the view ' || v.oid::regclass from q, pg_depend d
     join pg_rewrite r on r.oid = d.objid
     join pg_class v on v.oid = r.ev_class
     where d.classid = 'pg_rewrite'::regclass and d.refobjid = q.oid and v.oid is distinct from to_regclass($3::text)::oid
       and v.oid <> q.oid
     union all
     select 'the policy ' || p.polname from q, pg_policy p where p.polrelid = q.oid
     union all
     select 'the publication ' || p.pubname || ' of logical replication' from q, pg_publication_rel r
     join pg_publication p on p.oid = r.prpubid where r.prrelid = q.oid
     union all
     select 'the unique index ' || c.relname from q, pg_index i join pg_class c on c.oid = i.indexrelid
     where i.indrelid = q.oid and i.indisunique and not i.indisprimary and c.relname <> all($4::text[])
     union all
     select 'the identity of the column ' || a.attname from q, pg_attribute a
     where a.attrelid = q.oid and a.attidentity <> ''
     union all
     select 'its parent ' || i.inhparent::regclass from q, pg_inherits i where i.inhrelid = q.oid
     order by 1`,
    [
      tables.queue,
      ownTriggers.map((suffix) => ownName(tables, suffix)),
      tables.view,
      partitionedIndexes.map(({ suffix }) => ownName(tables, suffix)),
    ],
  );
  return rows.map((row) => String(row['what']));
}
