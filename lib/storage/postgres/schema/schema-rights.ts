import type { SqlHandle } from '../../sql-handle.js';
import { rolesLink } from '../../../values/docs-link.js';
import { TarefaError } from '../../../errors.js';
import { quoteIdentifier, type QueueTables } from '../identifiers.js';

/** What decides which rights a role needs. */
export interface RightsRequest {
  /** False for a process that only produces: it needs fewer rights. Default: true. */
  readonly works?: boolean;
  /** True when webhooks are delivered. */
  readonly webhooks: boolean;
  /** True when code declares subscriptions with a topic, whose rows a start makes. Default: false. */
  readonly declares?: boolean;
}

/** What a role may do. */
export interface Rights {
  /** True when it may read the key that deliveries are sealed with. */
  readonly seals: boolean;
  /** What works differently without some right: for the log. */
  readonly warnings: readonly string[];
}

/** One privilege on one table, or on some of its columns. */
interface Need {
  readonly table: string;
  readonly privilege: 'select' | 'insert' | 'update' | 'delete';
  readonly column?: string;
  /** True where the queue works without it; granted along with the rest. */
  readonly spare?: true;
}

/** True when this role may read a table, whose name is quoted, as a whole. */
export async function mayRead(tx: SqlHandle, table: string): Promise<boolean> {
  const { rows } = await tx.query(`select has_table_privilege($1::text, 'select') as readable`, [table]);
  return rows[0]?.['readable'] === true;
}

/**
 * Reads what this role may do beyond the rights that every worker needs.
 *
 * @throws {TarefaError} `RIGHTS_MISSING` when it cannot work with these rights, with all grants that it lacks
 */
export async function checkRights(
  tx: SqlHandle,
  tables: QueueTables,
  request: RightsRequest,
): Promise<Rights> {
  if (request.works === false) return { seals: false, warnings: [] };
  const grants = await lackingGrants(tx, tables, request);
  if (grants.length > 0) throw await lacking(tx, tables, grants);
  const seals = await mayRead(tx, tables.seal);
  if (seals || tables.subscriptions === undefined) return { seals, warnings: [] };
  const role = await currentRole(tx);
  const warning =
    `the role ${role} may not read the key that deliveries are sealed with (\`grant select on ${tables.seal} to ${role}\`): ` +
    `webhooks that this worker delivers go to the URL that their subscription has when they are sent, not when they were published`;
  return { seals, warnings: [warning] };
}

/**
 * Refuses a role that may not look into the schema of a queue: nothing in it can be named without that right.
 *
 * @throws {TarefaError} `RIGHTS_MISSING`, with whatever else is lacking
 */
export async function refuseHiddenSchema(
  tx: SqlHandle,
  tables: QueueTables,
  request: RightsRequest,
): Promise<void> {
  const { rows } = await tx.query(
    `select from pg_namespace where nspname = $1::text and not has_schema_privilege(oid, 'usage')`,
    [tables.schema],
  );
  if (rows.length === 0) return;
  const usage = `grant usage on schema ${tables.quotedSchema} to ${await currentRole(tx)};`;
  throw await lacking(tx, tables, [usage, ...(await lackingGrants(tx, tables, request))]);
}

/**
 * Refuses a role that may not make the missing parts of a queue.
 *
 * @param existing quoted names of its tables that are there and would be changed
 * @throws {TarefaError} `RIGHTS_MISSING`, with all grants that it lacks
 */
export async function refuseWithoutCreation(
  tx: SqlHandle,
  tables: QueueTables,
  { request, existing }: { readonly request: RightsRequest; readonly existing: readonly string[] },
): Promise<void> {
  const role = await currentRole(tx);
  const creation = await lackingCreation(tx, tables, role);
  const owners = await foreignOwners(tx, existing);
  if (creation.length === 0 && owners.length === 0) return;
  const grants = [...creation, ...(await lackingGrants(tx, tables, request))];
  const belongs = owners.map(({ table, owner }) => `${table} belongs to ${owner}`).join(', ');
  const how =
    owners.length > 0
      ? `${belongs}: run \`npx tarefa migrate\` as that role`
      : `or create the tables as another role with \`npx tarefa migrate\`, and grant this role what ${rolesLink()} says`;
  throw new TarefaError(
    'RIGHTS_MISSING',
    `the role ${role} may not create what is missing of the queue ${tables.qualifiedName}.` +
      (grants.length > 0
        ? ` To grant what it lacks, run as a superuser or the owner:\n\n${grants.join('\n')}\n`
        : '') +
      `\n${how}`,
  );
}

/** @throws {TarefaError} `RIGHTS_MISSING` when this role may not read which version the tables have */
export async function refuseHiddenVersion(
  tx: SqlHandle,
  { isVersionHidden }: { readonly isVersionHidden: boolean },
  tables: QueueTables,
): Promise<void> {
  if (!isVersionHidden) return;
  throw await lacking(tx, tables, [`grant select on ${tables.migrations} to ${await currentRole(tx)};`]);
}

async function lacking(tx: SqlHandle, tables: QueueTables, grants: readonly string[]): Promise<TarefaError> {
  return new TarefaError(
    'RIGHTS_MISSING',
    `the role ${await currentRole(tx)} lacks rights on the queue ${tables.qualifiedName}. ` +
      `Run as the owner of its tables:\n\n${grants.join('\n')}\n`,
  );
}

/**
 * Explains why this role may not do what an operator does.
 *
 * @param message of the error, which names the table in any language
 * @returns `RIGHTS_MISSING` with the grants that it lacks there, or where that is not known, all that an operator's role has
 */
export async function refusedOperator(
  tx: SqlHandle,
  tables: QueueTables,
  message: string,
): Promise<TarefaError> {
  const { queue, paused, subscriptions, webhooks, workers, history, migrations, view } = tables;
  const changed = [queue, history, webhooks, ...(subscriptions === undefined ? [] : [subscriptions])];
  const needs: readonly Need[] = [
    ...changed.flatMap(all),
    ...all(paused).filter(({ privilege }) => privilege !== 'update'),
    { table: workers, privilege: 'select' },
    { table: workers, privilege: 'update', column: 'halt_at' },
    { table: workers, privilege: 'delete' },
    ...[migrations, view].map((table): Need => ({ table, privilege: 'select' })),
  ];
  const grants = await grantsFor(tx, tables, needs);
  if (grants.length === 0) {
    return new TarefaError(
      'RIGHTS_MISSING',
      `the database does not let the role ${await currentRole(tx)} do this on the queue ${tables.qualifiedName}, though it has ` +
        `all grants for it: a row-level security policy or a trigger of yours refuses it`,
    );
  }
  const words = new Set(message.split(/[\s"'«»“”„]+/));
  const named = grants.filter(({ name }) => words.has(name));
  return lacking(
    tx,
    tables,
    (named.length > 0 ? named : grants).map(({ sql }) => sql),
  );
}

/** Every grant that a worker lacks on existing tables, as SQL; empty when it can work. */
async function lackingGrants(
  tx: SqlHandle,
  tables: QueueTables,
  request: RightsRequest,
): Promise<readonly string[]> {
  if (request.works === false) return [];
  return (await grantsFor(tx, tables, needsOf(tables, request))).map(({ sql }) => sql);
}

/** The grants that are lacking of some, each for a table or sequence; none when only spare ones are. */
async function grantsFor(
  tx: SqlHandle,
  tables: QueueTables,
  needs: readonly Need[],
): Promise<readonly { readonly name: string; readonly sql: string }[]> {
  const role = await currentRole(tx);
  const { rows } = await tx.query(lackingPrivileges, [
    needs.map(({ table }) => table),
    needs.map(({ privilege }) => privilege),
    needs.map(({ column }) => column ?? null),
    needs.map(({ spare }) => spare === true),
  ]);
  const sequences = await tx.query(lackingSequences, [tables.queue]);
  if (rows.every((row) => row['spare'] === true) && sequences.rows.length === 0) return [];
  return [
    ...rows.map((row) => ({
      name: String(row['name']),
      sql: `grant ${String(row['privileges'])} on ${String(row['relation'])} to ${role};`,
    })),
    ...sequences.rows.map((row) => ({
      name: String(row['name']),
      sql: `grant usage on sequence ${String(row['sequence'])} to ${role};`,
    })),
  ];
}

/** All that one may do with a table. */
function all(table: string): readonly Need[] {
  return (['select', 'insert', 'update', 'delete'] as const).map((privilege) => ({ table, privilege }));
}

function needsOf(tables: QueueTables, { webhooks, declares = false }: RightsRequest): readonly Need[] {
  const read = (table: string): Need => ({ table, privilege: 'select' });
  const { queue, workers, history, paused, schedules, migrations, subscriptions, seal } = tables;
  return [
    ...all(queue),
    ...all(workers),
    ...all(history).map((need) => ({ ...need, spare: true as const })),
    read(paused),
    ...all(schedules).filter(({ privilege }) => privilege !== 'delete'),
    read(migrations),
    ...(subscriptions === undefined ? [] : [read(subscriptions)]),
    // Its rows may be there already.
    ...(declares && subscriptions !== undefined
      ? [{ table: subscriptions, privilege: 'insert', spare: true } as const]
      : []),
    webhooks || subscriptions === undefined ? read(seal) : { ...read(seal), spare: true },
    ...(webhooks ? all(tables.webhooks).filter(({ privilege }) => privilege !== 'delete') : []),
    ...(webhooks && subscriptions !== undefined
      ? [{ table: subscriptions, privilege: 'update', column: 'ativo' } as const]
      : []),
  ];
}

/** By oid: a role without usage of the schema may not even name its tables. Missing tables need no grants. */
const lackingPrivileges = `
select n.relation, min(c.relname) as name, bool_and(n.spare) as spare,
  string_agg(n.privilege || coalesce(' (' || quote_ident(n.column_name) || ')', ''), ', ' order by n.place) as privileges
from unnest($1::text[], $2::text[], $3::text[], $4::boolean[]) with ordinality
  as n(relation, privilege, column_name, spare, place)
cross join lateral (select parse_ident(n.relation) as parts) p
join pg_namespace s on s.nspname = p.parts[1]
join pg_class c on c.relnamespace = s.oid and c.relname = p.parts[2]
where not case when n.column_name is null then has_table_privilege(c.oid, n.privilege)
  else exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = n.column_name
    and has_column_privilege(c.oid, a.attnum, n.privilege)) end
group by n.relation
order by min(n.place)`;

/** The sequence that ids come from. */
const lackingSequences = `
select q.relname as name, format('%I.%I', s.nspname, q.relname) as sequence
from (select parse_ident($1::text) as parts) p
join pg_namespace n on n.nspname = p.parts[1]
join pg_class c on c.relnamespace = n.oid and c.relname = p.parts[2]
join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = c.oid and d.refobjsubid > 0 and d.deptype = 'a'
join pg_class q on q.oid = d.objid
join pg_namespace s on s.oid = q.relnamespace
where case when q.relkind = 'S' then not has_sequence_privilege(q.oid, 'usage') end`;

async function lackingCreation(
  tx: SqlHandle,
  { schema, quotedSchema }: QueueTables,
  role: string,
): Promise<readonly string[]> {
  const { rows } = await tx.query(
    `select quote_ident(current_database()) as database, n.oid is null as absent,
       case when n.oid is null then has_database_privilege(current_database(), 'create')
         else has_schema_privilege(n.oid, 'create') end as creates
     from (select) one left join pg_namespace n on n.nspname = $1::text`,
    [schema],
  );
  const { database, absent, creates } = rows[0] ?? {};
  if (creates === true) return [];
  return [
    absent === true
      ? `grant create on database ${String(database)} to ${role};`
      : `grant create on schema ${quotedSchema} to ${role};`,
  ];
}

/** Tables that this role does not own, and whose definitions it may not change. */
async function foreignOwners(
  tx: SqlHandle,
  existing: readonly string[],
): Promise<readonly { readonly table: string; readonly owner: string }[]> {
  const { rows } = await tx.query(
    `select t.name, quote_ident(pg_get_userbyid(c.relowner)) as owner
     from unnest($1::text[]) t(name) join pg_class c on c.oid = to_regclass(t.name)
     where not pg_has_role(c.relowner, 'usage')`,
    [existing],
  );
  return rows.map((row) => ({ table: String(row['name']), owner: String(row['owner']) }));
}

/** The role that statements run as, quoted. */
export async function currentRole(tx: SqlHandle): Promise<string> {
  const { rows } = await tx.query('select current_user::text as role', []);
  return quoteIdentifier(String(rows[0]?.['role']));
}
