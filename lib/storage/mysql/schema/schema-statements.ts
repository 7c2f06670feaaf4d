import { quoteIdentifier, type QueueTables } from '../identifiers.js';
import {
  historyTableSql,
  locksTableSql,
  migrationsTableSql,
  ownName,
  pausedTableSql,
  queueTableSql,
  schedulesTableSql,
  scheduleTriggerSql,
  sealTableSql,
  subscriptionsSql,
  viewSql,
  webhooksTableSql,
  workersTableSql,
} from './schema-objects.js';
import { schemaVersion } from './schema.js';

/** Statements that make the tables of a queue that are missing; each may be run again. */
export function tableStatements(tables: QueueTables, webhooks: boolean): readonly string[] {
  return [
    queueTableSql(tables),
    ...(tables.subscriptions === undefined ? [] : [subscriptionsSql(tables.subscriptions)]),
    workersTableSql(tables),
    pausedTableSql(tables),
    schedulesTableSql(tables),
    historyTableSql(tables),
    sealTableSql(tables),
    ...(tables.dialect === 'mysql' ? [] : [locksTableSql(tables)]),
    ...(webhooks ? [webhooksTableSql(tables)] : []),
    migrationsTableSql(tables),
    viewSql(tables),
  ];
}

/** The trigger in place of an existing one; none where there are no triggers. */
export function triggerStatements(tables: QueueTables): readonly string[] {
  if (tables.dialect === 'singlestore') return [];
  const name = `${tables.quotedDatabase}.${quoteIdentifier(ownName(tables, 'schedule'))}`;
  return [`drop trigger if exists ${name}`, scheduleTriggerSql(tables)];
}

/** Makes the key that deliveries are sealed with, unless there is one. Parameters: its inner and its outer half. */
export function insertSealSql({ seal }: QueueTables): string {
  return `insert into ${seal} (single, inner_key, outer_key) values (1, ?, ?) on duplicate key update single = 1`;
}

/** Records this library's version for a queue's tables; a recorded queue keeps its identity. Parameters: table, identity. */
export function recordQueueSql({ migrations }: QueueTables): string {
  return `insert into ${migrations} (table_name, version, identity) values (?, ${schemaVersion}, ?)
on duplicate key update version = greatest(version, ${schemaVersion})`;
}
