import type { MemoryDatabase } from '../../../lib/storage/memory/memory-database.js';
import { replace, type MemoryMutant } from './memory-mutants.js';
import { without, type StatementMutant } from './statement-mutants.js';

// What operators read and change, without one of its guards.

/** Replaces a method of a part by one that is made of it. */
function changed<Part extends 'admin' | 'reports' | 'upkeep' | 'workers'>(
  part: Part,
  method: keyof MemoryDatabase[Part],
  change: (own: (...call: never[]) => Promise<unknown>) => (...call: never[]) => Promise<unknown>,
): MemoryMutant['breaks'] {
  return (database) => {
    const owner = database[part] as unknown as Record<PropertyKey, (...call: never[]) => Promise<unknown>>;
    const own = owner[method as string]?.bind(owner);
    if (own) replace(owner, { [method]: change(own) });
  };
}

const says = (answer: unknown) => () => async () => answer;

export const operatorMemoryMutants: readonly MemoryMutant[] = [
  {
    name: 'counts ignore the time',
    suite: 'admin',
    breaks: changed('admin', 'counts', (own) => () => own(null as never)),
  },
  {
    name: 'a list has no end',
    suite: 'admin',
    breaks: changed(
      'admin',
      'list',
      (own) => (selection: never, page: object) => own(selection, { ...page, limit: 1_000 } as never),
    ),
  },
  {
    name: 'a list begins at the newest',
    suite: 'admin',
    breaks: changed(
      'admin',
      'list',
      (own) => (selection: never, page: object) => own(selection, { ...page, greatest: 2n ** 62n } as never),
    ),
  },
  {
    name: 'a list means everything',
    suite: 'admin',
    breaks: changed('admin', 'list', (own) => (_: never, page: never) => own({} as never, page)),
  },
  {
    name: 'payloads are always read',
    suite: 'admin',
    breaks: changed('admin', 'attemptsOf', (own) => (id: never) => own(id, true as never)),
  },
  { name: 'dead tasks are not found', suite: 'admin', breaks: changed('admin', 'deadTasksOf', says([])) },
  { name: 'nothing is retried', suite: 'admin', breaks: changed('admin', 'retry', says(undefined)) },
  {
    name: 'an edited retry keeps the payload',
    suite: 'admin',
    breaks: ({ admin }) => replace(admin, { retryEdited: (id: string) => admin.retry(id) }),
  },
  { name: 'every task is run now', suite: 'admin', breaks: changed('admin', 'runNow', says(true)) },
  { name: 'every task is cancelled', suite: 'admin', breaks: changed('admin', 'cancel', says([{}])) },
  {
    name: 'a burial leaves no dead task',
    suite: 'admin',
    breaks: ({ admin }) =>
      replace(admin, {
        bury: async (id: string, message: string) =>
          (await admin.cancel({ ids: [id] }, { by: null, message })).length > 0 ? id : undefined,
      }),
  },
  { name: 'what runs is deleted', suite: 'admin', breaks: changed('admin', 'delete', says(2)) },
  {
    name: 'work of many goes on beyond what was counted',
    suite: 'admin',
    breaks: changed(
      'admin',
      'runBlock',
      (own) => (kind: never, selection: never, place: object) =>
        own(kind, selection, { ...place, lastId: '999999' } as never),
    ),
  },
  { name: 'a pause does nothing', suite: 'admin', breaks: changed('admin', 'pause', says(undefined)) },
  { name: 'a pause does not end', suite: 'admin', breaks: changed('admin', 'resume', says(undefined)) },
  {
    name: 'a halt is told to workers that have stopped',
    suite: 'admin',
    breaks: ({ workers, table }) => replace(workers, { haltAll: async () => [...table.workers.keys()] }),
  },
  {
    name: 'a status always counts what has ended',
    suite: 'reports',
    breaks: changed(
      'reports',
      'status',
      (own) => (request: object) => own({ ...request, ended: true } as never),
    ),
  },
  {
    name: 'a status always counts what can be purged',
    suite: 'reports',
    breaks: changed(
      'reports',
      'status',
      (own) => (request: object) => own({ ...request, purgeable: true } as never),
    ),
  },
  { name: 'workers that have stopped are listed', suite: 'reports', breaks: listStopped },
  {
    name: 'what comes next has no end',
    suite: 'reports',
    breaks: changed('reports', 'nextScheduled', (own) => () => own(99 as never)),
  },
  {
    name: 'a search accepts everything',
    suite: 'reports',
    breaks: changed(
      'reports',
      'search',
      (own) => (selection: never, page: object) => own(selection, { ...page, accept: undefined } as never),
    ),
  },
  {
    name: 'every payload is read',
    suite: 'reports',
    breaks: changed('reports', 'payload', (own) => (id: never) => own(id, 1_000_000 as never)),
  },
  {
    name: 'the history of a route is that of all',
    suite: 'reports',
    breaks: changed(
      'reports',
      'history',
      (own) =>
        ({ range }: { range: string }) =>
          own({ range } as never),
    ),
  },
  { name: 'nothing is measured', suite: 'reports', breaks: changed('reports', 'measure', says(new Map())) },
  { name: 'a check finds nothing', suite: 'checks', breaks: changed('reports', 'check', says([])) },
  {
    name: 'a check is of everything',
    suite: 'checks',
    breaks: changed(
      'reports',
      'check',
      (own) => (request: object) => own({ ...request, since: undefined } as never),
    ),
  },
  { name: 'nothing is described', suite: 'reports', breaks: changed('upkeep', 'describe', says([])) },
];

/** Stopping leaves no trace. */
function listStopped({ workers }: MemoryDatabase): void {
  replace(workers, { retire: async () => undefined });
}

export const operatorStatementMutants: readonly StatementMutant[] = [
  without(
    'counts attempts that were retried',
    'admin',
    /^count_tasks/,
    'f.reenfileirado is not true',
    'true',
  ),
  without('counts whenever it ended', 'admin', /^count_tasks/, '$1::text is null or', 'true or'),
  without('retries what was retried', 'admin', /^retry_task/, 'f.reenfileirado is not true', 'true'),
  without(
    'retries what has not failed',
    'admin',
    /^retry_task/,
    `f.status in ('falha', 'falha_processando')`,
    'true',
  ),
  ...[/^retry_task/, /^retry_edited/].map((statement) =>
    without(
      `swallows what is refused: ${statement.source}`,
      'refusals',
      statement,
      '\n  returning id, id_anterior',
      '\n  on conflict do nothing returning id, id_anterior',
    ),
  ),
  without(
    'swallows a dead task that is refused',
    'refusals',
    /^bury_task/,
    '\n  returning id\n',
    '\n  on conflict do nothing returning id\n',
  ),
  without(
    'runs now what is not scheduled',
    'admin',
    /^run_task_now/,
    `f.status = 'agendada'`,
    `f.status <> 'falha'`,
  ),
  without(
    'does not tell what was cancelled',
    'admin',
    /^cancel_tasks/,
    `coalesce(f.cancelada_por, $3::text, '')`,
    'nullif($3::text, $3::text)',
  ),
  without('cancels dead tasks by their key', 'admin', /^cancel_tasks/, ' and not f.dead'),
  without('cancels other topics', 'admin', /^cancel_tasks/, 'f.processo = $6::text', '$6::text is not null'),
  without(
    'ends what runs',
    'admin',
    /^cancel_tasks/,
    `case when f.status in ('pendente', 'agendada') then 'falha' else f.status end`,
    `'falha'`,
  ),
  without('buries dead tasks', 'admin', /^bury_task/, ' and not f.dead'),
  without('deletes what runs', 'admin', /^delete_tasks/, `status = 'processando'`, 'false'),
  without(
    'cancels many beyond the last',
    'admin',
    /^cancel_many/,
    ' and f.id <= $2::text::bigint',
    ' and $2::text is not null',
  ),
  without(
    'a pause begins anew',
    'admin',
    /^pause_route/,
    'on conflict (route) do nothing',
    'on conflict (route) do update set paused_at = clock_timestamp()',
  ),
  without('halts workers that have stopped', 'admin', /^halt_workers/, 'where w.stopped_at is null '),
  without('reads the oldest attempts', 'reports', /^last_attempts/, 'order by f.id desc', 'order by f.id'),
  without('reads large payloads', 'reports', /^search_payload/, '<= $2::int', '<= $2::int + 1000000'),
  without(
    'takes for treated what the default treatment ended',
    'reports',
    /^status_buried/,
    ` and coalesce(d.mensagem, '') not like 'manual intervention is needed%'`,
  ),
  without(
    'counts tasks that were retried since',
    'reports',
    /^status_buried/,
    'count(*) filter (where one.buried)::int',
    'count(*)::int',
  ),
  without(
    'counts no tasks that have no dead task',
    'reports',
    /^status_buried/,
    ' is null\n  ) as alone',
    ' is null and false\n  ) as alone',
  ),
  without(
    'reads the history of all routes',
    'reports',
    /^history_(counts|durations)/,
    '$3::text is null or',
    'true or',
  ),
  without('checks what ended before', 'checks', /^check$/, '$1::text is null or', 'true or'),
  without(
    'misses what has a next attempt',
    'checks',
    /^check$/,
    'where n.id_anterior = f.id',
    'where false and n.id_anterior = f.id',
  ),
  without('misses dead tasks of retried rounds', 'checks', /^check$/, ' and d.rodada = f.rodada'),
  without('misses purged deliveries', 'checks', /^check$/, '$2::float8', '(1000 + $2::float8)'),
  without('counts attempts of workers that stopped', 'checks', /^check$/, ' and w.stopped_at is null'),
  without('checks all for the newest', 'checks', /^before_newest$/, 'max(f.id) - $1::int', '$1::int * 0'),
  without(
    'finds next attempts that are there',
    'checks',
    /^find_unfollowed$/,
    'where n.id_anterior = f.id',
    'where false and n.id_anterior = f.id',
  ),
  without(
    'puts back what was due',
    'checks',
    /^lock_unfollowed$/,
    ' and f.proxima_tentativa > clock_timestamp()',
  ),
  without(
    'puts back what is there',
    'checks',
    /^insert_unfollowed$/,
    'limit 1) is null',
    'limit 1) is null or true',
  ),
];
