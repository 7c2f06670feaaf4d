import { now } from '../../../lib/storage/mysql/sql-time.js';
import type { SuiteName } from './exercise.js';
import { without, type StatementMutant } from './statement-mutants.js';

// Statements of MySQL and MariaDB without one of their guards. Each keeps its placeholders: values are put in their places by order.

const heldIn: readonly SuiteName[] = ['attempts', 'fan-out'];

const claimMutants: readonly StatementMutant[] = [
  without('completes without executor', 'claims', /^(lock_ended|settle)$/, 'f.executor = ?', '? is not null'),
  without('completes without status', 'claims', /^(lock_ended|settle)$/, `f.status = 'processando' and `),
  without('claims before the due time', 'claims', /^(lock|see)_best$/, ` and f.data_hora <= ${now}`),
  without('claims without priorities', 'claims', /^(lock|see)_best$/, 'f.prioridade desc, ', ''),
  without(
    'claims the youngest first',
    'claims',
    /^(lock|see)_best$/,
    'f.data_hora, f.id limit',
    'f.data_hora desc, f.id limit',
  ),
  without('claims live and dead alike', 'claims', /^(lock|see)_best$/, ' and f.dead'),
  without(
    'claims without a new reserva',
    'claims',
    /^(claim|lock_best|read_locked)$/,
    'f.reserva % 2147483647 + 1',
    '1',
  ),
  without(
    'claims without the payload of the first attempt',
    'claims',
    /^(lock_best|read_locked)$/,
    'first.id = f.id_inicial',
    'false',
  ),
  without(
    'keys of dead chains by themselves',
    'claims',
    /^(lock_best|read_locked)$/,
    'live.id = f.live_id',
    'false',
  ),
  without(
    'unattended in spite of a pause',
    'claims',
    /^see_unattended$/,
    'where p.route',
    'where false and p.route',
  ),
  without(
    'unattended in spite of a worker',
    'claims',
    /^handled_dead$/,
    'where w.stopped_at is null',
    'where false',
  ),
  without(
    'attended by workers that stopped',
    'claims',
    /^handled_dead$/,
    'where w.stopped_at is null',
    'where true',
  ),
];

const attemptMutants: readonly StatementMutant[] = [
  ...heldIn.flatMap((suite) => [
    without(`${suite} without reserva`, suite, /^lock_held$/, 'f.reserva = x.reservation and '),
    without(`${suite} without executor`, suite, /^lock_held$/, ' and f.executor = x.worker'),
    without(`${suite} without status`, suite, /^lock_held$/, ` and f.status = 'processando'`),
  ]),
  without('progress of what was cancelled', 'attempts', /^note_progress$/, 'f.cancelada_por is null', 'true'),
  without(
    'buries dead chains too',
    'attempts',
    /^start_dead$/,
    'where f.estouro_tentativas and not f.dead',
    'where f.estouro_tentativas',
  ),
  without(
    'buries without the payload',
    'attempts',
    /^start_dead$/,
    'select coalesce(f.payload, o.payload),',
    'select null,',
  ),
  without(
    'never buries',
    'attempts',
    /^start_dead$/,
    'where f.estouro_tentativas and not f.dead',
    'where false',
  ),
  without('tries nothing again', 'attempts', /^insert_next$/, 'where f.reenfileirado', 'where false'),
  ...[/^insert_next$/, /^start_dead$/, /^start_anew$/, /^insert_dead$/].map((statement) =>
    without(
      `swallows what is refused: ${statement.source}`,
      'refusals',
      statement,
      'insert into',
      'insert ignore into',
    ),
  ),
  without(
    'counts attempts no further',
    'attempts',
    /^insert_next$/,
    'least(coalesce(f.tentativa, 1), 2147483646) + 1',
    '1',
  ),
  without('forgets lost workers', 'attempts', /^insert_next$/, 'x.next_losses', '0'),
  without(
    'cuts the note',
    'attempts',
    /^fail$/,
    'concat(left(x.message, 500 - char_length(x.note)), x.note)',
    'left(concat(x.message, x.note), 500)',
  ),
  without(
    'tries again what was cancelled',
    'attempts',
    /^fail$/,
    'f.reenfileirado = f.cancelada_por is null and',
    'f.reenfileirado =',
  ),
  without(
    'buries what was cancelled',
    'attempts',
    /^fail$/,
    'f.estouro_tentativas = f.cancelada_por is null and',
    'f.estouro_tentativas =',
  ),
  without('hands over without reserva', 'attempts', /^hand_over$/, 'f.reserva = ?', '? > 0'),
  without(
    'hands over without executor',
    'attempts',
    /^hand_over$/,
    'f.executor = cast(? as signed)\n',
    '? > 0\n',
  ),
  without('hands over what was cancelled', 'attempts', /^hand_over$/, '\n  and f.cancelada_por is null'),
  without(
    'gives back what was cancelled',
    'attempts',
    /^release$/,
    `if(f.cancelada_por is null, 'pendente', 'falha')`,
    `'pendente'`,
  ),
  without(
    'tells no worker what was cancelled',
    'attempts',
    /^still_held$/,
    'f.cancelada_por is not null as cancelled',
    'false as cancelled',
  ),
  without(
    'promotes before the due time',
    'attempts',
    /^lock_due$/,
    `f.agendada_em <= ${now}`,
    'f.agendada_em is not null',
  ),
  without('promotes without a limit', 'attempts', /^lock_due$/, 'limit ?', 'limit ?00'),
  without(
    'promotes the youngest first',
    'attempts',
    /^lock_due$/,
    'order by f.agendada_em, f.id',
    'order by f.agendada_em desc, f.id',
  ),
  without(
    'payload of the attempt alone',
    'attempts',
    /^load_payload$/,
    'coalesce(f.payload, o.payload)',
    'f.payload',
  ),
  without(
    'held by whoever',
    'holders',
    /^still_held$/,
    'f.executor = cast(? as signed)',
    'cast(? as signed) is not null',
  ),
  without('held when it has ended', 'holders', /^still_held$/, `f.status = 'processando' and `),
  without(
    'held by a worker that is back',
    'holders',
    /^read_held$/,
    'not (? and exists',
    'not (? and false and exists',
  ),
  without('held without a limit', 'holders', /^read_held$/, 'limit ?', 'limit ?00'),
];

const deliveryMutants: readonly StatementMutant[] = [
  without('delivers to inactive subscriptions', 'fan-out', /^fan_out/, ' and s.ativo'),
  without(
    'delivers to other tenants',
    'fan-out',
    /^fan_out/,
    '(s.tenant is null or s.tenant = f.tenant)',
    'true',
  ),
  without(
    'delivers to other groups',
    'fan-out',
    /^fan_out/,
    '(s.grupo_empresarial is null or',
    '(true or s.grupo_empresarial is null or',
  ),
  without('adds over what is there', 'subscriptions', /^add_subscription$/, 'insert into', 'replace into'),
  without(
    'lists all topics',
    'subscriptions',
    /^list_subscriptions_of_topic$/,
    's.processo = ?',
    '? is not null',
  ),
];

const transactionMutants: readonly StatementMutant[] = [
  ...[/^complete$/, /^complete_in$/].flatMap((statement) => [
    without(
      `${statement.source} without reserva`,
      'transactions',
      statement,
      'f.reserva = cast(? as signed)',
      'cast(? as signed) is not null',
    ),
    without(
      `${statement.source} without executor`,
      'transactions',
      statement,
      'f.executor = cast(? as signed)',
      'cast(? as signed) is not null',
    ),
  ]),
  without('completes what has ended', 'transactions', /^complete$/, ` and f.status = 'processando'`),
  without(
    'commits what it has not completed',
    'transactions',
    /^complete$/,
    'if(row_count() = 1, 1, (select 1 union all select 2))',
    '1',
  ),
  without(
    'completes a part of a group',
    'groups',
    /^complete_many$/,
    'if(row_count() = ?, 1, (select 1 union all select 2))',
    '? is not null',
  ),
];

const workerMutants: readonly StatementMutant[] = [
  without(
    'retires a worker that holds attempts',
    'workers',
    /^holds_attempts$/,
    'f.executor_ativo = ?',
    '? is null',
  ),
  without(
    'retires a worker that is back',
    'workers',
    /^retire_worker$/,
    '(w.missed_at is not null or not ?)',
    '? is not null',
  ),
  without('lost at the first look', 'workers', /^confirm_lost$/, 'w.missed_at <=', 'w.started_at <='),
  without('lost however briefly', 'workers', /^confirm_lost$/, '(0 - ?)', '(0 * ?)'),
  without('missing by the clock that was ahead', 'workers', /^note_missing$/, ` or w.missed_at > ${now}`),
  without(
    'missing for ever',
    'workers',
    /^note_missing$/,
    'if(missing.id is null, null,',
    'if(missing.id is null, w.missed_at,',
  ),
  without('forgets at once', 'workers', /^forget_workers$/, '(? * -86400000)', '(? * 0 + 86400000)'),
];

const insertMutants: readonly StatementMutant[] = [
  without(
    'equivalent in spite of the tenant',
    'inserts',
    /^list_equivalent$/,
    'f.tenant <=> ?',
    '(? is null or true)',
  ),
  without(
    'equivalent in spite of the payload',
    'inserts',
    /^list_equivalent$/,
    'f.payload_hash = cast(? as binary)',
    '(? is null or true)',
  ),
];

const adminMutants: readonly StatementMutant[] = [
  without('counts attempts that were retried', 'admin', /^count_tasks$/, ' and f.reenfileirado is not true'),
  without('counts whenever it ended', 'admin', /^count_tasks$/, 'f.data_hora >= ?', '? is not null'),
  without(
    'retries what was retried',
    'admin',
    /^lock_attempts$/,
    'f.reenfileirado is not true and f.status in',
    'f.status in',
  ),
  without(
    'retries what has not failed',
    'admin',
    /^lock_attempts$/,
    `f.status in ('falha', 'falha_processando')`,
    'true',
  ),
  without(
    'runs now what is not scheduled',
    'admin',
    /^lock_attempts$/,
    `f.status = 'agendada'`,
    `f.status <> 'falha'`,
  ),
  without(
    'ends what runs',
    'admin',
    /^cancel_tasks$/,
    `if(f.status in ('pendente', 'agendada'), 'falha', f.status)`,
    `'falha'`,
  ),
  without(
    'does not tell what was cancelled',
    'admin',
    /^cancel_tasks$/,
    `coalesce(f.cancelada_por, ?, '')`,
    'nullif(?, 0)',
  ),
  without('cancels dead tasks by their key', 'admin', /^open_with_key$/, ' and not f.dead'),
  without('cancels other topics', 'admin', /^open_with_key$/, 'f.processo = ?', '? is not null'),
  without('buries dead tasks', 'admin', /^lock_attempts$/, ' and not f.dead'),
  without(
    'works on many beyond the last',
    'admin',
    /^choose_/,
    ' and f.id <= cast(? as signed)',
    ' and ? is not null',
  ),
  without('a pause starts over', 'admin', /^pause_route$/, 'insert into', 'replace into'),
  without(
    'halts workers that have stopped',
    'admin',
    /^(lock_running|halt)_workers$/,
    ' where w.stopped_at is null',
  ),
];

const endpointMutants: readonly StatementMutant[] = [
  without(
    'counts what began before the rest',
    'endpoints',
    /^webhook_lock$/,
    'coalesce(w.open_until >',
    'coalesce(null and w.open_until >',
  ),
  without(
    'takes a moved subscription out of service',
    'endpoints',
    /^webhook_deactivate$/,
    '(? is null or s.url = ?)',
    '(? is null or ? is not null)',
  ),
  without(
    'every caller probes',
    'endpoints',
    /^webhook_(holds|probe)$/,
    'not coalesce((w.probing_until >',
    'not coalesce((false and w.probing_until >',
  ),
  without(
    'rests by the clock that was ahead',
    'endpoints',
    /^webhook_(holds|probe)$/,
    'w.open_until <= ',
    'true or w.open_until <= ',
  ),
  without(
    'counts by the clock that was ahead',
    'endpoints',
    /^webhook_lock$/,
    'w.open_until <= ',
    'true or w.open_until <= ',
  ),
];

const idleMutants: readonly StatementMutant[] = [
  without('due for others when it is dead', 'idle looks', /^idle_look$/, ' and not f.dead'),
  without(
    'due in spite of a pause',
    'idle looks',
    /^dead_for_us$/,
    'where p.route',
    'where false and p.route',
  ),
  without(
    'due in spite of another worker',
    'idle looks',
    /^handled_dead$/,
    'where w.stopped_at is null',
    'where false',
  ),
  without('served by missing workers', 'idle looks', /^served_routes$/, ' and w.missed_at is null'),
];

const upkeepMutants: readonly StatementMutant[] = [
  without(
    'purges what still runs',
    'upkeep',
    /^lock_purgeable$/,
    `f.status in ('sucesso', 'falha', 'falha_processando')`,
    'true',
  ),
  without(
    'finds parts of a task',
    'upkeep',
    /^family_members$/,
    ` in ('sucesso', 'falha', 'falha_processando')`,
    ' is not null',
  ),
  without('finds young tasks', 'upkeep', /^find_purgeable$/, '(? * -86400000)', '(? * 0 + 86400000)'),
];

const reportMutants: readonly StatementMutant[] = [
  without('reads the oldest attempts', 'reports', /^last_attempts$/, 'order by f.id desc', 'order by f.id'),
  without('reads large payloads', 'reports', /^search_payload$/, '<= ?', '<= ? + 1000000'),
  without(
    'takes for treated what the default treatment ended',
    'reports',
    /^status_buried$/,
    ` and coalesce(d.mensagem, '') not like 'manual intervention is needed%'`,
  ),
  without(
    'counts tasks that were retried since',
    'reports',
    /^status_buried$/,
    'sum(one.buried) as',
    'count(*) as',
  ),
  without(
    'counts no tasks that have no dead task',
    'reports',
    /^status_buried$/,
    ' is null\n  ) as alone',
    ' is null and false\n  ) as alone',
  ),
  without(
    'reads the history of all routes',
    'reports',
    /^history_rows$/,
    ` and h.route in (?, '')`,
    ' and ? is not null',
  ),
  without('checks what ended before', 'checks', /^check$/, '(? is null or', '(? is null or true or'),
  without('misses what has a next attempt', 'checks', /^check$/, ' and n.id is null'),
  without('misses dead tasks of retried rounds', 'checks', /^check$/, ' and d.rodada = f.rodada'),
  without('misses purged deliveries', 'checks', /^check$/, '(? * -86400000)', '((? + 1000) * -86400000)'),
  without('counts attempts of workers that stopped', 'checks', /^check$/, ' and w.stopped_at is null'),
  without('checks all for the newest', 'checks', /^before_newest$/, 'max(f.id) - ?', '? * 0'),
  without('finds next attempts that are there', 'checks', /^find_unfollowed$/, ' and n.id is null'),
  without('puts back what was due', 'checks', /^lock_unfollowed$/, `and f.proxima_tentativa > ${now}`),
  without('puts back what is there', 'checks', /^insert_next$/, ' and n.id is null'),
];

export const mysqlMutants: readonly StatementMutant[] = [
  ...claimMutants,
  ...attemptMutants,
  ...deliveryMutants,
  ...transactionMutants,
  ...workerMutants,
  ...insertMutants,
  ...adminMutants,
  ...endpointMutants,
  ...idleMutants,
  ...upkeepMutants,
  ...reportMutants,
];
