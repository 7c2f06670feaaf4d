import type { SqlHandle } from '../../sql-handle.js';
import { TarefaError } from '../../../errors.js';
import type { QueueTables } from '../identifiers.js';
import type { Statement } from '../statement.js';
import { currentRole, type RightsRequest } from './schema-rights.js';

/**
 * Which of some tables have policies that hold for this role. It can bypass those of its own tables, unless they are forced on it.
 * By oid, as a role may not name every table. Parameters: quoted names.
 */
export const securedTables: Statement = {
  name: 'tarefa_secured_tables',
  text: `-- name: secured_tables
select n.name from unnest($1::text[]) with ordinality as n(name, place)
cross join lateral (select parse_ident(n.name) as parts) p
join pg_namespace s on s.nspname = p.parts[1]
join pg_class c on c.relnamespace = s.oid and c.relname = p.parts[2]
where row_security_active(c.oid)
order by n.place`,
};

/** The tables of a queue that its statements read: what is hidden in one of them is missed. */
export function readTables(
  tables: QueueTables,
  { webhooks }: Pick<RightsRequest, 'webhooks'>,
): readonly string[] {
  const { queue, subscriptions, workers, paused, schedules, history, seal, migrations } = tables;
  return [
    queue,
    ...(subscriptions === undefined ? [] : [subscriptions]),
    workers,
    paused,
    schedules,
    history,
    seal,
    migrations,
    ...(webhooks ? [tables.webhooks] : []),
  ];
}

/** What hides rows, in words. */
export function describeSecured(secured: readonly string[]): string {
  return `row-level security decides which rows of ${secured.join(', ')} it may see`;
}

/**
 * Looks whether policies would hide rows of a queue from this role.
 *
 * @param tx its connection heeds them from then on, where they are not refused
 * @returns what to warn of in a process that only produces: they may be meant for it
 * @throws {TarefaError} `RIGHTS_MISSING` where it is a worker's
 */
export async function refuseRowSecurity(
  tx: SqlHandle,
  tables: QueueTables,
  request: RightsRequest,
): Promise<readonly string[]> {
  const { rows } = await tx.query(securedTables.text, [readTables(tables, request)]);
  if (rows.length === 0) return [];
  const secured = rows.map((row) => String(row['name']));
  const role = await currentRole(tx);
  const problem = `the role ${role} would silently miss rows of the queue ${tables.qualifiedName}: ${describeSecured(secured)}`;
  const remedies =
    `Run as the owner of these tables:\n\n` +
    `${secured.map((table) => `alter table ${table} disable row level security;`).join('\n')}\n\n` +
    `or as a superuser:\n\nalter role ${role} bypassrls;\n`;
  if (request.works !== false) throw new TarefaError('RIGHTS_MISSING', `${problem}. ${remedies}`);
  await tx.query('set row_security to default');
  return [
    `${problem}. This process inserts only what the policies allow, and reports only the rows that it may see`,
  ];
}
