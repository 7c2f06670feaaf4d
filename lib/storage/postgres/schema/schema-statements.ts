import { quoteLiteral, type QueueTables } from '../identifiers.js';
import { insertFunctionSql } from './insert-function.js';
import {
  addColumnsSql,
  historyTableSql,
  indexSql,
  migrationsTableSql,
  pausedTableSql,
  queueTableSql,
  ringFunctionSql,
  ringTriggerSql,
  scheduleFunctionSql,
  schedulesTableSql,
  scheduleTriggerSql,
  sealTableSql,
  subscriptionsSql,
  viewSql,
  webhooksTableSql,
  workersTableSql,
} from './schema-objects.js';
import { ownColumns, queueIndexes, schemaVersion, type IndexDefinition } from './schema.js';

/** Which parts of a queue to make. */
export interface SchemaParts {
  /** False keeps the trigger that rings as it is, and with it its channel. */
  readonly rings: boolean;
  readonly webhooks: boolean;
  /** How the queue table itself is laid out. */
  readonly layout?: TableLayout;
}

/** The queue table and its indexes: as one plain table, or some other way with the same columns. */
export interface TableLayout {
  readonly indexes: readonly IndexDefinition[];
  /** Statements that make the table and its indexes; each may be run again. */
  statements(tables: QueueTables): readonly string[];
}

/** One plain table: the default. */
export const plainLayout: TableLayout = {
  indexes: queueIndexes,
  statements: (tables) => [
    queueTableSql(tables),
    addColumnsSql(tables.queue, ownColumns),
    ...queueIndexes.map((index) => indexSql(tables, index)),
  ],
};

/** Statements that make the missing parts of a queue; each may be run again. */
export function schemaStatements(
  tables: QueueTables,
  channel: string,
  { rings, webhooks, layout = plainLayout }: SchemaParts,
): readonly string[] {
  return [
    ...layout.statements(tables),
    scheduleFunctionSql(tables),
    ...scheduleTriggerSql(tables),
    ringFunctionSql(tables),
    ...(rings ? ringTriggerSql(tables, channel) : []),
    insertFunctionSql(tables),
    ...(tables.subscriptions ? subscriptionsSql(tables, tables.subscriptions) : []),
    workersTableSql(tables),
    pausedTableSql(tables),
    ...schedulesTableSql(tables),
    historyTableSql(tables),
    ...sealTableSql(tables),
    ...(webhooks ? [webhooksTableSql(tables)] : []),
    migrationsTableSql(tables),
    viewSql(tables),
  ];
}

/** Records this library's version for a queue's tables; a recorded queue keeps its identity. */
export function recordQueueSql({ migrations, table }: QueueTables): string {
  return `insert into ${migrations} as m (table_name, version) values (${quoteLiteral(table)}, ${schemaVersion})
on conflict (table_name) do update set version = excluded.version, applied_at = clock_timestamp()
where m.version < excluded.version`;
}

/**
 * The complete script of a queue, with its schema: for `psql`, and for a `pg` client in one query. It holds no
 * transaction of its own, so that a migration tool may put its own around it. Running it again changes nothing.
 */
export function schemaScript(
  tables: QueueTables,
  channel: string,
  parts: Omit<SchemaParts, 'rings'>,
): string {
  const statements = [
    createSchemaSql(tables),
    ...schemaStatements(tables, channel, { ...parts, rings: true }),
    recordQueueSql(tables),
  ];
  return `${statements.join(';\n\n')};\n`;
}

/** `create schema if not exists` asks for the right to create one even where it exists. */
function createSchemaSql({ quotedSchema }: QueueTables): string {
  return `do $$ begin
  if to_regnamespace(${quoteLiteral(quotedSchema)}) is null then
    create schema ${quotedSchema};
  end if;
end $$`;
}
