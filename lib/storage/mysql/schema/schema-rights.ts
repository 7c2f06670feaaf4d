import { TarefaError } from '../../../errors.js';
import { rolesLink } from '../../../values/docs-link.js';
import type { Run } from '../connections/transactions.js';
import type { QueueTables } from '../identifiers.js';
import { isRefusal } from './refusals.js';

/** What decides which rights a user needs. */
export interface RightsRequest {
  /** False for a process that only produces: it needs fewer rights. Default: true. */
  readonly works?: boolean;
  /** True when webhooks are delivered. */
  readonly webhooks: boolean;
  /** True when code declares subscriptions with a topic, whose rows a start makes. Default: false. */
  readonly declares?: boolean;
}

/** What a user may do. */
export interface Rights {
  /** True when it may read the key that deliveries are sealed with. */
  readonly seals: boolean;
  /** What works differently without some right: for the log. */
  readonly warnings: readonly string[];
}

type Privilege = 'select' | 'insert' | 'update' | 'delete';

/** A statement for each right that changes and reads nothing: only trying tells what roles and proxies add up to. */
const probes: Readonly<Record<Privilege, (table: string, column: string) => string>> = {
  select: (table) => `select 1 from ${table} where false`,
  insert: (table, column) =>
    `insert ignore into ${table} (${column}) select ${column} from ${table} where false`,
  update: (table, column) => `update ${table} set ${column} = ${column} where false`,
  delete: (table) => `delete from ${table} where false`,
};

/**
 * Reads what this user may do.
 *
 * @throws {TarefaError} `RIGHTS_MISSING` when it cannot work with these rights, with all grants that it lacks
 */
export async function checkRights(run: Run, tables: QueueTables, request: RightsRequest): Promise<Rights> {
  if (request.works === false) return { seals: false, warnings: [] };
  const lacking = await lackingOf(run, needsOf(tables, request));
  if (lacking.size > 0) {
    // Its rows may be there already: this alone refuses no start.
    const spare = request.declares ? await lackingOf(run, declarationsOf(tables)) : new Map<string, never>();
    throw await missingGrants(run, tables, together(lacking, spare));
  }
  const seals = await may(run, probes.select(tables.seal, ''));
  if (seals || tables.subscriptions === undefined) return { seals, warnings: [] };
  if (request.webhooks) throw await missingGrants(run, tables, new Map([[tables.seal, ['select']]]));
  const user = await currentUser(run);
  const warning =
    `the user ${user} may not read the key that deliveries are sealed with (\`grant select on ${tables.seal} to ${user}\`): ` +
    `webhooks that this worker delivers go to the URL that their subscription has when they are sent, not when they were published`;
  return { seals, warnings: [warning] };
}

/** What is said when the missing parts of a queue may not be made. */
export async function refusedCreation(run: Run, tables: QueueTables, error: unknown): Promise<TarefaError> {
  const user = await currentUser(run);
  const { errno, message } = error as { readonly errno?: unknown; readonly message?: unknown };
  // With a binary log triggers may only be made by users who could do anything, unless the server is told to trust them.
  const trust =
    errno === 1419
      ? ' The server writes a binary log: set global log_bin_trust_function_creators = 1, or'
      : ' Or';
  return new TarefaError(
    'RIGHTS_MISSING',
    `the user ${user} may not create what is missing of the queue ${tables.qualifiedName} (${String(message)}). It needs:\n\n` +
      `grant create, alter, drop, index, references, trigger, create view, select, insert, update, delete on ${tables.quotedDatabase}.* to ${user};\n\n` +
      `${trust.trim()} create the tables as another user with \`npx tarefa migrate\`, and grant this user what ${rolesLink()} says`,
    { cause: error },
  );
}

interface Need {
  readonly table: string;
  /** One that the probes can name. */
  readonly column: string;
  readonly privileges: readonly Privilege[];
}

function needsOf(tables: QueueTables, { webhooks }: RightsRequest): readonly Need[] {
  const all = ['select', 'insert', 'update', 'delete'] as const;
  return [
    { table: tables.queue, column: 'reserva', privileges: all },
    { table: tables.workers, column: 'pid', privileges: all },
    { table: tables.history, column: 'succeeded', privileges: all },
    ...(tables.dialect === 'mysql' ? [] : [{ table: tables.locks, column: 'holder', privileges: all }]),
    { table: tables.paused, column: 'route', privileges: ['select'] },
    { table: tables.schedules, column: 'missed', privileges: ['select', 'insert', 'update'] },
    { table: tables.migrations, column: 'version', privileges: ['select'] },
    ...(tables.subscriptions === undefined
      ? []
      : [{ table: tables.subscriptions, column: 'id', privileges: ['select'] } as const]),
    ...(webhooks
      ? [{ table: tables.webhooks, column: 'failures', privileges: ['select', 'insert', 'update'] } as const]
      : []),
    ...(webhooks && tables.subscriptions !== undefined
      ? [{ table: tables.subscriptions, column: 'ativo', privileges: ['update'] } as const]
      : []),
  ];
}

/**
 * Explains why this user may not do what an operator does.
 *
 * @param message of the error, which names the table
 * @returns `RIGHTS_MISSING` with the grants that it lacks there, or where that is not known, all that an operator's user has
 */
export async function refusedOperator(
  run: Run,
  tables: QueueTables,
  request: RightsRequest,
  message: string,
): Promise<TarefaError> {
  const lacking = await lackingOf(run, operatorNeeds(tables, request));
  if (lacking.size === 0) {
    return new TarefaError(
      'RIGHTS_MISSING',
      `the database does not let the user ${await currentUser(run)} do this on the queue ${tables.qualifiedName}: ${message}`,
    );
  }
  const words = new Set(message.split(/[\s"'`.]+/));
  const named = new Map([...lacking].filter(([table]) => words.has(table.split('`').at(-2) ?? '')));
  return missingGrants(run, tables, named.size > 0 ? named : lacking);
}

/** What the rows of declared subscriptions need. */
function declarationsOf({ subscriptions }: QueueTables): readonly Need[] {
  return subscriptions === undefined ? [] : [{ table: subscriptions, column: 'id', privileges: ['insert'] }];
}

function operatorNeeds(tables: QueueTables, { webhooks: delivers }: RightsRequest): readonly Need[] {
  const all = ['select', 'insert', 'update', 'delete'] as const;
  const { queue, paused, subscriptions, webhooks, workers, history, migrations, view } = tables;
  return [
    { table: queue, column: 'reserva', privileges: all },
    { table: paused, column: 'route', privileges: ['select', 'insert', 'delete'] },
    ...(subscriptions === undefined
      ? []
      : [{ table: subscriptions, column: 'id', privileges: all } as const]),
    ...(delivers ? [{ table: webhooks, column: 'failures', privileges: all } as const] : []),
    { table: history, column: 'succeeded', privileges: all },
    { table: workers, column: 'halt_at', privileges: ['select', 'update', 'delete'] },
    ...[migrations, view].map((table): Need => ({ table, column: '', privileges: ['select'] })),
  ];
}

/** The rights that are lacking, by table. */
async function lackingOf(
  run: Run,
  needs: readonly Need[],
): Promise<ReadonlyMap<string, readonly Privilege[]>> {
  const lacking = new Map<string, Privilege[]>();
  for (const { table, column, privileges } of needs) {
    for (const privilege of privileges) {
      if (await may(run, probes[privilege](table, column))) continue;
      lacking.set(table, [...(lacking.get(table) ?? []), privilege]);
    }
  }
  return lacking;
}

function together(
  one: ReadonlyMap<string, readonly Privilege[]>,
  other: ReadonlyMap<string, readonly Privilege[]>,
): ReadonlyMap<string, readonly Privilege[]> {
  const all = new Map(one);
  for (const [table, privileges] of other) all.set(table, [...(all.get(table) ?? []), ...privileges]);
  return all;
}

async function may(run: Run, probe: string): Promise<boolean> {
  try {
    await run(probe);
    return true;
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
}

async function missingGrants(
  run: Run,
  tables: QueueTables,
  lacking: ReadonlyMap<string, readonly Privilege[]>,
): Promise<TarefaError> {
  const user = await currentUser(run);
  const grants = [...lacking].map(
    ([table, privileges]) => `grant ${privileges.join(', ')} on ${table} to ${user};`,
  );
  return new TarefaError(
    'RIGHTS_MISSING',
    `the user ${user} lacks rights on the queue ${tables.qualifiedName}:\n\n${grants.join('\n')}\n`,
  );
}

/** As grants name it. */
async function currentUser(run: Run): Promise<string> {
  const [answer] = await run('select current_user() as user');
  const [name = '', host = '%'] = (answer?.rows[0]?.['user'] ?? '').split(/@(?=[^@]*$)/);
  return `'${name}'@'${host}'`;
}
