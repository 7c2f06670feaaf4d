import type { SuiteName } from './exercise.js';

/** A statement without one of its guards. */
export interface StatementMutant {
  readonly name: string;
  readonly suite: SuiteName;
  /** By the name in its first line. */
  readonly statement: RegExp;
  readonly from: string;
  readonly to: string;
}

/** One guard less, or another instead. */
export function without(
  name: string,
  suite: SuiteName,
  statement: RegExp,
  from: string,
  to = '',
): StatementMutant {
  return { name, suite, statement, from, to };
}

const claiming = /^settle_and_claim/;
/** Held by that worker. */
const heldBy = (worker: string): string => `f.status || '' = 'processando' and f.executor + 0 = ${worker}`;

export const statementMutants: readonly StatementMutant[] = [
  ...[/^settle$/, claiming].map((statement) =>
    without(
      `completes without reserva: ${statement.source}`,
      'claims',
      statement,
      'f.reserva = ($2::int[])[s.place]',
      '($2::int[])[s.place] is not null',
    ),
  ),
  ...[/^settle$/, claiming].flatMap((statement) => [
    without(
      `${statement.source} without executor`,
      'claims',
      statement,
      heldBy('$5::bigint'),
      `f.status = 'processando'`,
    ),
    without(
      `${statement.source} without status`,
      'claims',
      statement,
      heldBy('$5::bigint'),
      'f.executor = $5::bigint',
    ),
  ]),
  without('claims before the due time', 'claims', claiming, 'and f.data_hora <= now() '),
  without('claims what is not pending', 'claims', claiming, `f.status = 'pendente'`, `f.status <> 'sucesso'`),
  without('claims without priorities', 'claims', claiming, 'f.prioridade desc, ', ''),
  without('claims the youngest first', 'claims', claiming, 'f.data_hora, f.id', 'f.data_hora desc, f.id'),
  without('claims without a total', 'claims', claiming, 'limit $8::int', 'limit $8::int + 1'),
  without('claims live and dead alike', 'claims', claiming, ' and (r.dead is null or f.dead = r.dead)'),
  without(
    'claims without a new reserva',
    'claims',
    claiming,
    'reserva = f.reserva % 2147483647 + 1',
    'reserva = 1',
  ),
  without(
    'claims without the payload of the first attempt',
    'claims',
    claiming,
    'first.id = f.id_inicial',
    'false',
  ),
  without('keys of dead chains by themselves', 'claims', claiming, 'live.id = f.live_id', 'false'),
  without('would claim before the due time', 'claims', /^would_claim/, ' and f.data_hora <= now()'),
  without(
    'would claim live and dead alike',
    'claims',
    /^would_claim/,
    '(r.dead is null or f.dead = r.dead)',
    'true',
  ),
  without(
    'unattended in spite of a pause',
    'claims',
    /^claim_unattended/,
    'where p.route',
    'where false and p.route',
  ),
  without(
    'unattended in spite of a worker',
    'claims',
    /^claim_unattended/,
    'where w.stopped_at is null',
    'where false',
  ),
  without(
    'attended by workers that stopped',
    'claims',
    /^claim_unattended/,
    'where w.stopped_at is null',
    'where true',
  ),

  without('fails without reserva', 'attempts', /^fail$/, 'f.reserva = x.reservation and '),
  without('fails without executor', 'attempts', /^fail$/, ' and f.executor + 0 = x.worker'),
  without('fails without status', 'attempts', /^fail$/, ` and f.status || '' = 'processando'`),
  without(
    'buries dead chains too',
    'attempts',
    /^fail$/,
    'where f.estouro_tentativas and not f.dead',
    'where f.estouro_tentativas',
  ),
  without('buries without the payload', 'attempts', /^fail$/, 'select own.payload,', 'select null,'),
  without('never buries', 'attempts', /^fail$/, 'where f.estouro_tentativas and not f.dead', 'where false'),
  without('tries nothing again', 'attempts', /^fail$/, 'where f.reenfileirado and', 'where false and'),
  without(
    'swallows a next attempt',
    'refusals',
    /^fail$/,
    '\n  returning id_anterior',
    '\n  on conflict do nothing returning id_anterior',
  ),
  without(
    'swallows a dead task',
    'refusals',
    /^fail$/,
    '\n  returning id, live_id',
    '\n  on conflict do nothing returning id, live_id',
  ),
  without('counts attempts no further', 'attempts', /^fail$/, 'coalesce(f.tentativa, 1) + 1', '1'),
  without('forgets lost workers', 'attempts', /^fail$/, 'f.next_losses, f.chave_fila', '0, f.chave_fila'),
  without(
    'cuts the note',
    'attempts',
    /^fail$/,
    'left(x.message, 500 - length(x.note)) || x.note',
    'left(x.message || x.note, 500)',
  ),
  without('releases without reserva', 'attempts', /^release$/, 'f.reserva = r.reservation and '),
  without(
    'releases without executor',
    'attempts',
    /^release$/,
    heldBy('$3::bigint'),
    `f.status = 'processando'`,
  ),
  without(
    'releases without status',
    'attempts',
    /^release$/,
    heldBy('$3::bigint'),
    'f.executor = $3::bigint',
  ),
  without('promotes before the due time', 'attempts', /^promote$/, ' and f.data_hora <= now()'),
  without('promotes without a limit', 'attempts', /^promote$/, 'limit $1::int', 'limit 100 + 0 * $1::int'),
  without(
    'promotes the youngest first',
    'attempts',
    /^promote$/,
    'order by f.data_hora, f.id\n  limit',
    'order by f.id\n  limit',
  ),
  without(
    'held by whoever',
    'holders',
    /^still_held$/,
    ' and f.executor + 0 = $1::bigint',
    ' and $1::bigint is not null',
  ),
  without(
    'held when it has ended',
    'holders',
    /^still_held$/,
    heldBy('$1::bigint'),
    'f.executor + 0 = $1::bigint',
  ),
  without(
    'held by a worker that is back',
    'holders',
    /^read_held$/,
    'not ($3::boolean and',
    'not (false and',
  ),
  without('held without a limit', 'holders', /^read_held$/, 'limit $2::int', 'limit $2::int + 100'),
  without(
    'payload of the attempt alone',
    'attempts',
    /^load_payload$/,
    'coalesce(f.payload, first.payload)',
    'f.payload',
  ),
  without(
    'routes wait in spite of a pause',
    'idle looks',
    /^waiting_routes$/,
    'where p.route = waiting.route',
    'where false',
  ),
  without('routes wait before the due time', 'claims', /^waiting_routes$/, 'where places.due <= now()'),
  without('served by missing workers', 'idle looks', /^waiting_routes$/, ' and w.missed_at is null'),

  without('delivers without reserva', 'fan-out', /^fan_out/, 'f.reserva = p.reservation and '),
  without(
    'delivers without executor',
    'fan-out',
    /^fan_out/,
    heldBy('$3::bigint'),
    `f.status = 'processando'`,
  ),
  without('delivers again', 'fan-out', /^fan_out/, heldBy('$3::bigint'), 'f.executor + 0 = $3::bigint'),
  without('delivers to inactive subscriptions', 'fan-out', /^fan_out/, ' and s.ativo'),
  without(
    'delivers to other tenants',
    'fan-out',
    /^fan_out/,
    '(s.tenant is null or s.tenant = p.tenant)',
    'true',
  ),
  without(
    'delivers to other groups',
    'fan-out',
    /^fan_out/,
    '(s.grupo_empresarial is null or s.grupo_empresarial = p.grupo_empresarial)',
    'true',
  ),

  without('due for others when it is dead', 'idle looks', /^next_due$/, 'and not f.dead\n'),
  without('due in spite of a pause', 'idle looks', /^next_due$/, 'where p.route', 'where false and p.route'),
  without(
    'due in spite of another worker',
    'idle looks',
    /^next_due$/,
    'where w.stopped_at is null and coalesce',
    'where false and coalesce',
  ),

  without(
    'completes alone without reserva',
    'transactions',
    /^complete$/,
    ' and f.reserva = $3::int',
    ' and $3::int is not null',
  ),
  without(
    'completes alone without executor',
    'transactions',
    /^complete$/,
    ' and f.executor + 0 = $2::bigint',
    ' and $2::bigint is not null',
  ),
  without(
    'completes alone without status',
    'transactions',
    /^complete$/,
    heldBy('$2::bigint'),
    'f.executor + 0 = $2::bigint',
  ),
  without('raises nothing when it is lost', 'transactions', /^complete$/, '1 / count(*)', 'count(*)'),
  without(
    'completes elsewhere without reserva',
    'transactions',
    /^complete_in$/,
    ' and f.reserva = $3::int',
    ' and $3::int is not null',
  ),
  without(
    'completes elsewhere without executor',
    'transactions',
    /^complete_in$/,
    ' and f.executor + 0 = $2::bigint',
    ' and $2::bigint is not null',
  ),
  without(
    'completes a part of a group',
    'groups',
    /^complete_many$/,
    '(count(*) = cardinality($1::bigint[]))::int',
    '1',
  ),

  without(
    'retires a worker that holds attempts',
    'workers',
    /^retire_worker$/,
    'and not exists',
    'and not false and true or exists',
  ),
  without(
    'retires a worker that is back',
    'workers',
    /^retire_worker$/,
    '(w.missed_at is not null or not $2::boolean)',
    '($2::boolean or true)',
  ),
  without(
    'lost at the first look',
    'workers',
    /^confirm_lost$/,
    'w.missed_at <= clock_timestamp()',
    'w.started_at <= clock_timestamp()',
  ),
  without(
    'lost however briefly',
    'workers',
    /^confirm_lost$/,
    ` - $2::float8 * interval '1 millisecond'`,
    " - 0 * $2::float8 * interval '1 millisecond'",
  ),
  without(
    'missing for ever',
    'workers',
    /^confirm_lost$/,
    'then clock_timestamp() end',
    'then clock_timestamp() else w.missed_at end',
  ),
  without(
    'missing by the clock that was ahead',
    'workers',
    /^confirm_lost$/,
    ' or w.missed_at > clock_timestamp()',
  ),
  without(
    'leased by the clock that was ahead',
    'workers',
    /^lost_workers$/,
    ' and leased.lease_until <= clock_timestamp() + 10000',
    ' and leased.lease_until <= clock_timestamp() + 1e9',
  ),
  without('forgets at once', 'workers', /^forget_workers$/, '$1::float8', '-1 * abs($1::float8)'),

  without(
    'purges what still runs',
    'upkeep',
    /^lock_purgeable$/,
    `and f.status in ('sucesso', 'falha', 'falha_processando')`,
  ),
  without('purges parts of a task', 'upkeep', /^purge$/, 'where m.id not in', 'where false and m.id not in'),
  without('finds parts of a task', 'upkeep', /^find_purgeable$/, 'where whole.over is not false'),
  without(
    'finds young tasks',
    'upkeep',
    /^find_purgeable$/,
    `f.data_hora < now() - $1::float8 * interval '1 day'`,
    '$1::float8 is not null',
  ),

  without(
    'equivalent in spite of the tenant',
    'inserts',
    /^list_equivalent$/,
    'and f.tenant is not distinct from $6::text::bigint',
    'and ($6::text is null or true)',
  ),
  without(
    'equivalent in spite of the payload',
    'inserts',
    /^list_equivalent$/,
    `f.payload_hash = convert_to($2::text, 'UTF8')`,
    '($2::text is null or true)',
  ),

  without(
    'adds over what is there',
    'subscriptions',
    /^add_subscription$/,
    'do nothing',
    'do update set processo = excluded.processo',
  ),
  without('lists all topics', 'subscriptions', /^list_subscriptions$/, 's.processo = $1::text', 'true'),

  without(
    'rests at the first failure',
    'endpoints',
    /^webhook_failure$/,
    'w.failures + 1 >= $2::int',
    'true',
  ),
  without(
    'counts what began before the rest',
    'endpoints',
    /^webhook_failure$/,
    'failures = case when (w.open_until >',
    'failures = case when false and (w.open_until >',
  ),
  without(
    'takes a moved subscription out of service',
    'endpoints',
    /^webhook_deactivate$/,
    's.url = $3::text',
    'true',
  ),
  without(
    'every caller probes',
    'endpoints',
    /^webhook_holds$/,
    'not coalesce((w.probing_until >',
    'not coalesce((false and w.probing_until >',
  ),
  without(
    'rests by the clock that was ahead',
    'endpoints',
    /^webhook_holds$/,
    'w.open_until <= clock_timestamp() + $2::float8',
    'w.open_until <= clock_timestamp() + 1e6 * $2::float8',
  ),
  without(
    'probes by the clock that was ahead',
    'endpoints',
    /^webhook_holds$/,
    'w.probing_until <= clock_timestamp() + $1::float8',
    'w.probing_until <= clock_timestamp() + 1e6 * $1::float8',
  ),
  without(
    'counts by the clock that was ahead',
    'endpoints',
    /^webhook_failure$/,
    'w.open_until <= clock_timestamp() + $4::float8',
    'w.open_until <= clock_timestamp() + 1e6 * $4::float8',
  ),
  without(
    'old secrets sign for ever',
    'endpoints',
    /^webhook_secrets$/,
    '::timestamptz > clock_timestamp()',
    '::timestamptz is not null',
  ),
];
