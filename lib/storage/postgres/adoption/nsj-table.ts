import type { SqlHandle } from '../../sql-handle.js';
import { TarefaError } from '../../../errors.js';
import { wrongColumns } from '../schema/inspect-schema.js';
import type { Survey } from '../migration/migration-steps.js';
import { ownName } from '../schema/schema-objects.js';
import { contractColumns, ownColumns, subscriptionColumns, type ColumnDefinition } from '../schema/schema.js';
import { channelOf } from './channel-of.js';

/** The state of a table of nsj-queue-lib. */
export interface NsjTable {
  readonly survey: Survey;
  /** Bytes of the table with its indexes, and of its rows alone. */
  readonly totalBytes: number;
  readonly rowBytes: number;
  /** Times without zone, as old versions made them. */
  readonly zoneless: readonly string[];
  readonly zonelessSubscriptions: readonly string[];
  readonly hasPriority: boolean;
  readonly hasFillFactor: boolean;
  /** The indexes that nsj-queue-lib makes, which this library does not use. */
  readonly oldIndexes: readonly string[];
  /** Triggers that notify after an insert, other than ours. */
  readonly bells: readonly Bell[];
  /** What users have added, which stays. */
  readonly added: { readonly columns: readonly string[]; readonly triggers: readonly string[] };
  /** Views made of times without zone: those cannot be converted under them. */
  readonly views: readonly { readonly name: string; readonly column: string }[];
}

/** A trigger that notifies. */
export interface Bell {
  readonly name: string;
  readonly definition: string;
  /** Undefined when the function's text does not show it. */
  readonly channel: string | undefined;
}

const zoneless = 'timestamp without time zone';
const withZone = 'timestamp with time zone';

/** Columns of the four indexes of nsj-queue-lib. */
const oldKeys: ReadonlySet<string> = new Set([
  'status',
  'status, tentativa, data_hora',
  'data_hora',
  'chave_externa, payload_hash, status',
]);

/**
 * Looks at a table that is to be adopted.
 *
 * @throws {TarefaError} `SCHEMA_CONFLICT` without a table, or when it is not a table of nsj-queue-lib
 */
export async function readNsjTable(sql: SqlHandle, survey: Survey): Promise<NsjTable> {
  const { tables, found, shape } = survey;
  const { queueColumns } = found;
  if (queueColumns.size === 0) {
    throw new TarefaError(
      'SCHEMA_CONFLICT',
      `the table ${tables.qualifiedName} does not exist: give its name with its schema, or create a new queue with \`npx tarefa migrate\``,
    );
  }
  const zonelessColumns = withoutZone(queueColumns, contractColumns);
  const zonelessSubscriptions = withoutZone(found.subscriptionColumns, subscriptionColumns);
  refuseOthers(survey, zonelessColumns, zonelessSubscriptions);
  const known = new Set([...contractColumns, ...ownColumns].map(({ name }) => name));
  const bells = await readBells(sql, survey);
  const { rows } = await sql.query(
    `select pg_total_relation_size(c.oid)::float8 as total, pg_table_size(c.oid)::float8 as rows,
       exists (select from unnest(c.reloptions) o where o like 'fillfactor=%') as filled
     from pg_class c where c.oid = to_regclass($1::text)`,
    [tables.queue],
  );
  const { rows: triggers } = await sql.query(
    `select tgname::text as name from pg_trigger where tgrelid = to_regclass($1::text) and not tgisinternal`,
    [tables.queue],
  );
  const notAdded = new Set([...bells.map(({ name }) => name), ...shape.triggers.keys()]);
  const ours = new Set(['schedule', 'ring'].map((suffix) => ownName(tables, suffix)));
  return {
    survey,
    totalBytes: Number(rows[0]?.['total'] ?? 0),
    rowBytes: Number(rows[0]?.['rows'] ?? 0),
    hasFillFactor: rows[0]?.['filled'] === true,
    zoneless: zonelessColumns,
    zonelessSubscriptions,
    hasPriority: queueColumns.has('prioridade'),
    oldIndexes: await readOldIndexes(sql, tables.queue),
    bells,
    added: {
      columns: [...queueColumns.keys()].filter((name) => !known.has(name)),
      triggers: triggers
        .map((row) => String(row['name']))
        .filter((name) => !notAdded.has(name) && !ours.has(name)),
    },
    views: await readViews(sql, tables.queue, zonelessColumns),
  };
}

function withoutZone(
  found: ReadonlyMap<string, string>,
  columns: readonly ColumnDefinition[],
): readonly string[] {
  return columns
    .filter(({ name, type }) => type === withZone && found.get(name) === zoneless)
    .map(({ name }) => name);
}

/** An old table is right without the priority, and with times without zone. */
function refuseOthers(
  { tables, found }: Survey,
  zonelessColumns: readonly string[],
  zonelessSubscriptions: readonly string[],
): void {
  const aged = (columns: readonly ColumnDefinition[], names: readonly string[]): ColumnDefinition[] =>
    columns.map((column) => (names.includes(column.name) ? { ...column, type: zoneless } : column));
  const contract = contractColumns.filter(
    ({ name }) => name !== 'prioridade' || found.queueColumns.has('prioridade'),
  );
  const problems = [
    ...wrongColumns(found.queueColumns, aged(contract, zonelessColumns), ownColumns, tables.queue),
    ...(tables.subscriptions
      ? wrongColumns(
          found.subscriptionColumns,
          aged(subscriptionColumns, zonelessSubscriptions),
          [],
          tables.subscriptions,
        )
      : []),
  ];
  if (problems.length === 0) return;
  throw new TarefaError(
    'SCHEMA_CONFLICT',
    `${tables.qualifiedName} is not a table of nsj-queue-lib: ${problems.join('; ')}. Give the right table, or change these columns.`,
  );
}

async function readOldIndexes(sql: SqlHandle, queue: string): Promise<readonly string[]> {
  const { rows } = await sql.query(
    `select c.relname::text as name,
       (select string_agg(pg_get_indexdef(i.indexrelid, k, true), ', ' order by k) from generate_series(1, i.indnatts) k) as keys
     from pg_index i join pg_class c on c.oid = i.indexrelid
     where i.indrelid = to_regclass($1::text) and not i.indisunique and i.indpred is null and i.indisvalid
       and c.relam = (select oid from pg_am where amname = 'btree')
     order by c.relname`,
    [queue],
  );
  return rows.filter((row) => oldKeys.has(String(row['keys']))).map((row) => String(row['name']));
}

async function readBells(sql: SqlHandle, { tables }: Survey): Promise<readonly Bell[]> {
  const { rows } = await sql.query(
    `select t.tgname::text as name, pg_get_triggerdef(t.oid) as definition, p.prosrc as body, encode(t.tgargs, 'escape') as args
     from pg_trigger t join pg_proc p on p.oid = t.tgfoid
     where t.tgrelid = to_regclass($1::text) and not t.tgisinternal and t.tgname <> $2::text
       -- After an insert.
       and t.tgtype & 4 = 4 and t.tgtype & 66 = 0 and p.prosrc ilike '%notify%'
     order by t.tgname`,
    [tables.queue, ownName(tables, 'ring')],
  );
  return rows.map((row) => ({
    name: String(row['name']),
    definition: String(row['definition']),
    channel: channelOf(String(row['body']), {
      args: String(row['args']).split('\\000'),
      table: tables.table,
    }),
  }));
}

async function readViews(
  sql: SqlHandle,
  queue: string,
  columns: readonly string[],
): Promise<NsjTable['views']> {
  if (columns.length === 0) return [];
  const { rows } = await sql.query(
    `select distinct v.oid::regclass::text as name, a.attname::text as column
     from pg_depend d
     join pg_rewrite r on r.oid = d.objid
     join pg_class v on v.oid = r.ev_class and v.oid <> d.refobjid
     join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
     where d.classid = 'pg_rewrite'::regclass and d.refobjid = to_regclass($1::text) and a.attname = any($2::text[])
     order by 1, 2`,
    [queue, [...columns]],
  );
  return rows.map((row) => ({ name: String(row['name']), column: String(row['column']) }));
}
