import { readTenant } from '../client/task-input.js';
import { TarefaError } from '../queue.errors.js';
import { statusColumn, statusTexts } from '../storage/columns.js';
import type { TaskStatus } from '../task.js';

/** Which attempts to list; what is left out is not asked for. */
export interface TaskFilter {
  readonly status?: TaskStatus | readonly TaskStatus[];
  /** Null: tasks without one. */
  readonly topic?: string | null;
  readonly subscriptionId?: string;
  readonly externalKey?: string;
  readonly tenant?: string | number | bigint;
  readonly group?: string;
  /** Deliveries of this publication. */
  readonly publicationId?: string;
  /** Due at that time or later. */
  readonly since?: Date;
  /** Due before that time. */
  readonly until?: Date;
  /** True for attempts of dead chains only, false for the others only. */
  readonly dead?: boolean;
  /** Text that the message holds, in any case. */
  readonly message?: string;
  /** True for the last attempt of each task only: as the task stands now. */
  readonly latest?: boolean;
}

/** The conditions of a filter in SQL, and their parameters. */
export interface FilterSql {
  readonly conditions: readonly string[];
  readonly values: readonly unknown[];
}

/**
 * @param first number of the first parameter
 * @throws {TarefaError} `INPUT_INVALID`
 */
export function filterSql(filter: TaskFilter, first: number): FilterSql {
  const conditions: string[] = [];
  const values: unknown[] = [];
  const add = (condition: (parameter: string) => string, value: unknown): void => {
    conditions.push(condition(`$${first + values.length}`));
    values.push(value);
  };
  const {
    status,
    topic,
    subscriptionId,
    externalKey,
    tenant,
    group,
    publicationId,
    since,
    until,
    dead,
    message,
    latest,
  } = filter;
  refuseUnknown(filter);
  if (status !== undefined) {
    const texts = [status].flat().flatMap((one) => statusTexts(readStatus(one)));
    // Literals, so that the planner can use the partial indexes.
    conditions.push(`f.status in (${texts.map((text) => `'${text}'`).join(', ') || 'null'})`);
  }
  if (topic === null) conditions.push(`coalesce(f.processo, '') = ''`);
  else if (topic !== undefined) add((parameter) => `f.processo = ${parameter}::text`, topic);
  if (subscriptionId !== undefined)
    add((parameter) => `f.subscriber_id = ${parameter}::text`, subscriptionId);
  if (externalKey !== undefined) add((parameter) => `f.chave_externa = ${parameter}::text`, externalKey);
  if (tenant !== undefined) add((parameter) => `f.tenant = ${parameter}::text::bigint`, readTenant(tenant));
  if (group !== undefined) add((parameter) => `f.grupo_empresarial = ${parameter}::text`, group);
  if (publicationId !== undefined) {
    add((parameter) => `f.publication_id = ${parameter}::text::bigint`, readId(publicationId));
  }
  if (since !== undefined)
    add((parameter) => `f.data_hora >= ${parameter}::text::timestamptz`, readTime('since', since));
  if (until !== undefined)
    add((parameter) => `f.data_hora < ${parameter}::text::timestamptz`, readTime('until', until));
  if (dead !== undefined) conditions.push(dead ? 'f.dead' : 'not f.dead');
  if (message !== undefined) {
    const pattern = `%${message.replace(/[\\%_]/g, '\\$&')}%`;
    add((parameter) => `f.mensagem ilike ${parameter}::text`, pattern);
  }
  if (latest === true) conditions.push('f.reenfileirado is not true');
  return { conditions, values };
}

/** @throws {TarefaError} `INPUT_INVALID` */
export function readId(id: string): string {
  if (typeof id === 'string' && /^\d{1,19}$/.test(id) && BigInt(id) < 2n ** 63n) return id;
  throw new TarefaError(
    'INPUT_INVALID',
    `${JSON.stringify(id)} is no id of an attempt: ids are whole numbers as text`,
  );
}

const known: Readonly<Record<keyof TaskFilter, true>> = {
  status: true,
  topic: true,
  subscriptionId: true,
  externalKey: true,
  tenant: true,
  group: true,
  publicationId: true,
  since: true,
  until: true,
  dead: true,
  message: true,
  latest: true,
};

function readTime(name: string, time: Date): string {
  if (time instanceof Date && !Number.isNaN(time.getTime())) return time.toISOString();
  throw new TarefaError('INPUT_INVALID', `${name} must be a Date, not ${String(time)}`);
}

/** A condition that is mistyped must not list everything. */
function refuseUnknown(filter: TaskFilter): void {
  for (const name of Object.keys(filter)) {
    if (Object.hasOwn(known, name)) continue;
    throw new TarefaError(
      'INPUT_INVALID',
      `tasks cannot be listed by '${name}'; they can by ${Object.keys(known).join(', ')}`,
    );
  }
}

function readStatus(status: TaskStatus): TaskStatus {
  if (Object.hasOwn(statusColumn, status)) return status;
  throw new TarefaError(
    'INPUT_INVALID',
    `${JSON.stringify(status)} is no status; the statuses are ${Object.keys(statusColumn).join(', ')}`,
  );
}
