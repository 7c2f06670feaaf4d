import { subscriptionRoute } from '../../route.js';
import type { QueueTables } from '../identifiers.js';
import { textBytes } from '../readable-rows.js';
import { routeExpression, statement } from '../statement.js';

// The endpoints of webhooks. Every change is one statement.

type Tables = Pick<QueueTables, 'queue' | 'subscriptions' | 'webhooks' | 'paused' | 'seal'>;

/** One statement moves at most this many deliveries of an endpoint; the others wait behind them. */
const mostMoved = 1_000;

/** True when a request that took `$5` ms began before the rest, of which none is longer than `$4` ms. */
const beganBefore = `(w.open_until > clock_timestamp() - $5::float8 * interval '1 millisecond'
      and w.open_until <= clock_timestamp() + $4::float8 * interval '1 millisecond')`;

/** JSON other than a list, written by hand, holds no secrets. */
const listOf = (json: string): string =>
  `case when jsonb_typeof(${json}) = 'array' then ${json} else '[]' end`;

/**
 * True while a time of a row lies ahead, though not further than `mostMs`: what was stored lies further ahead only since the
 * server's clock was set back.
 */
const isAhead = (time: string, mostMs: string): string =>
  `(${time} > clock_timestamp() and ${time} <= clock_timestamp() + ${mostMs} * interval '1 millisecond')`;

const msUntil = (time: string): string => `extract(epoch from ${time} - clock_timestamp()) * 1000`;

/** Which subscriptions have a URL. Parameters: ids. */
export const subscriptionUrls = statement(
  'subscription_urls',
  ({ subscriptions }) => `
select s.id, s.url is not null as has_url from ${subscriptions} s where s.id = any($1::text[])`,
);

/** Where a subscription leads now. Parameters: id. */
export const subscriptionTarget = ({ subscriptions }: Tables): string => `-- name: subscription_target
select s.url, s.http_method, s.headers::text as headers from ${subscriptions} s where s.id = $1::text`;

/** The key that fan-out seals deliveries with. */
export const readSealKey = ({ seal }: Pick<Tables, 'seal'>): string => `-- name: seal_key
select encode(k.inner_key, 'base64') as inner_key, encode(k.outer_key, 'base64') as outer_key from ${seal} k`;

const rests = isAhead('w.open_until', '$2::float8');
const isProbed = isAhead('w.probing_until', '$1::float8');

/**
 * Routes whose deliveries wait: paused, of an inactive subscription, or of an endpoint that rests. After a rest one worker
 * may probe for a while: only to that worker the route is free.
 *
 * The routes are sent as bytes: one that cannot be sent as text must not stop the others.
 *
 * Parameters: ms that a probe may take, ms of the longest rest.
 */
export const webhookHolds = statement(
  'webhook_holds',
  ({ subscriptions, webhooks, paused }) => `
with rested as materialized (
  select w.subscriber_id from ${webhooks} w
  where w.open_until is not null and not ${rests} and not coalesce(${isProbed}, false)
  for update skip locked
),
probed as (
  update ${webhooks} w
  set probing_until = clock_timestamp() + $1::float8 * interval '1 millisecond', open_until = least(w.open_until, clock_timestamp())
  where w.subscriber_id = any(array(select subscriber_id from rested))
  returning w.subscriber_id
)
select ${textBytes('held.route')} as route, getdatabaseencoding() as encoding, held.for_ms
from (
select '${subscriptionRoute('')}' || w.subscriber_id as route,
  (${msUntil(`coalesce(greatest(case when ${rests} then w.open_until end, case when ${isProbed} then w.probing_until end), clock_timestamp())`)})::float8 as for_ms
from ${webhooks} w
where w.open_until is not null and w.subscriber_id <> all(array(select subscriber_id from probed))
union all
select '${subscriptionRoute('')}' || s.id, null from ${subscriptions} s where not s.ativo and s.url is not null
union all
select p.route, null from ${paused} p
) held`,
);

/** An endpoint has answered well: writes only after a change or a pause. Parameters: subscription, ms between two writes. */
export const noteSuccess = ({ webhooks }: Tables): string => `-- name: webhook_success
with before as (select w.open_until is not null as open from ${webhooks} w where w.subscriber_id = $1::text)
insert into ${webhooks} as w (subscriber_id, last_success_at) values ($1::text, clock_timestamp())
on conflict (subscriber_id) do update
set failures = 0, failing_since = null, open_until = null, probing_until = null, last_success_at = clock_timestamp()
where w.failures > 0 or w.open_until is not null or w.last_success_at is null
  or w.last_success_at not between clock_timestamp() - $2::float8 * interval '1 millisecond' and clock_timestamp()
returning coalesce((select open from before), false) as closed`;

/**
 * An endpoint has failed. After `$2` failures in a row it rests, longer each time, and its due deliveries move to the end of
 * the rest without using an attempt, together with the time that their previous attempts name.
 *
 * A request that began before the rest is not counted and is not the probe that ends it, however late it fails.
 *
 * Parameters: subscription, failures until it rests (null: never), first rest, longest rest, what the request took (ms).
 *
 * @param moves false where the database does not let the deliveries change: they wait behind the rest anyway
 */
export const noteFailure = ({ queue, webhooks }: Tables, moves = true): string => `-- name: webhook_failure
with before as materialized (select w.open_until from ${webhooks} w where w.subscriber_id = $1::text),
noted as (
  insert into ${webhooks} as w (subscriber_id, failures, failing_since, open_until)
  values ($1::text, 1, clock_timestamp(),
    case when $2::int <= 1 then clock_timestamp() + $3::float8 * interval '1 millisecond' end)
  on conflict (subscriber_id) do update
  set failing_since = least(w.failing_since, clock_timestamp()),
    probing_until = case when ${beganBefore} then w.probing_until end,
    failures = case when ${beganBefore} then w.failures else w.failures + 1 end,
    open_until = case when ${beganBefore} then w.open_until
      when w.failures + 1 >= $2::int then clock_timestamp() + least($4::float8,
        $3::float8 * power(2, least(30, w.failures + 1 - $2::int))) * interval '1 millisecond'
      when w.open_until > clock_timestamp() then clock_timestamp()
      else w.open_until end
  returning w.failures, w.failing_since, w.open_until
),
due as materialized (
  select f.id
  from ${queue} f
  where f.status = 'pendente' and ${routeExpression('f.')} = '${subscriptionRoute('')}' || $1::text
    and f.data_hora <= now() and exists (select from noted where open_until > clock_timestamp())
  order by f.prioridade desc, f.data_hora, f.id
  limit ${moves ? mostMoved : 0}
  for no key update skip locked
),
moved as (
  update ${queue} f set status = 'agendada', data_hora = noted.open_until
  from noted where f.id = any(array(select id from due))
  returning f.id_anterior, f.data_hora
),
linked as (
  update ${queue} p set proxima_tentativa = moved.data_hora from moved where p.id = moved.id_anterior
)
select noted.failures, (${msUntil('noted.open_until')})::float8 as open_ms,
  noted.open_until is distinct from (select open_until from before) as opened,
  (-1 * ${msUntil('noted.failing_since')})::float8 as failing_ms
from noted`;

/**
 * Takes a subscription out of service. Parameters: id, why, URL that asked for it, or null. Returns nothing when it is out
 * of service already, or has another URL now.
 */
export const deactivate = ({ subscriptions, webhooks }: Tables): string => `-- name: webhook_deactivate
with changed as (
  update ${subscriptions} s set ativo = false
  where s.id = $1::text and s.ativo and ($3::text is null or s.url = $3::text)
  returning s.id
)
insert into ${webhooks} as w (subscriber_id, deactivated_at, deactivated_for)
select id, clock_timestamp(), $2::text from changed
on conflict (subscriber_id) do update set deactivated_at = clock_timestamp(), deactivated_for = excluded.deactivated_for
returning w.subscriber_id`;

/** Puts it back into service and forgets its failures. Parameters: id. */
export const reactivate = ({ subscriptions, webhooks }: Tables): string => `-- name: webhook_reactivate
with forgotten as (
  update ${webhooks} w
  set failures = 0, failing_since = null, open_until = null, probing_until = null, deactivated_at = null,
    deactivated_for = null
  where w.subscriber_id = $1::text
)
update ${subscriptions} s set ativo = true where s.id = $1::text returning s.id`;

/** Parameters: subscription. */
export const readEndpoint = ({ subscriptions, webhooks }: Tables): string => `-- name: webhook_endpoint
select s.id, s.url, s.http_method, s.headers::text as headers, s.ativo, coalesce(w.failures, 0) as failures, w.failing_since,
  w.last_success_at, case when w.open_until > clock_timestamp() then w.open_until end as open_until, w.deactivated_at,
  w.deactivated_for, coalesce(jsonb_array_length(${listOf('w.secrets')}), 0) as secrets
from ${subscriptions} s
left join ${webhooks} w on w.subscriber_id = s.id
where s.id = $1::text`;

/** Endpoints that rest or were taken out of service. Parameters: how many at most. */
export const failingEndpoints = ({ subscriptions, webhooks }: Tables): string => `-- name: webhook_failures
select s.id, w.failures, case when w.open_until > clock_timestamp() then w.open_until end as open_until, w.deactivated_for
from ${webhooks} w
join ${subscriptions} s on s.id = w.subscriber_id
where w.open_until > clock_timestamp() or (w.deactivated_at is not null and not s.ativo)
order by w.open_until nulls first, s.id
limit $1::int`;

/** What is known of all endpoints. */
export const readEndpoints = ({ webhooks }: Tables): string => `-- name: webhook_endpoints
select w.subscriber_id as id, w.failures, w.failing_since, w.last_success_at,
  case when w.open_until > clock_timestamp() then w.open_until end as open_until, w.deactivated_at, w.deactivated_for,
  jsonb_array_length(${listOf('w.secrets')}) as secrets
from ${webhooks} w`;

/** True while a secret, a row `s` of `secrets`, signs. Text other than a time counts as over. */
const signsStill = `case when s.value ->> 'until' is null then true
  when s.value ->> 'until' ~ '^([0-9]{4}-[01][0-9]-[0-3][0-9][T ][0-9:.]+([+-][0-9:]+|Z)?|infinity)$'
    then (s.value ->> 'until')::timestamptz > clock_timestamp()
  else false end`;

/**
 * Secrets that sign now, the newest first, and the origin each is for: one made while the subscription led nowhere is for
 * where it leads. Parameters: subscription.
 */
export const readSecrets = ({ subscriptions, webhooks }: Tables): string => `-- name: webhook_secrets
select s.value ->> 'secret' as secret, coalesce(s.value ->> 'origin', (select u.url from ${subscriptions} u where u.id = w.subscriber_id)) as origin
from ${webhooks} w, jsonb_array_elements(${listOf('w.secrets')}) with ordinality s
where w.subscriber_id = $1::text and ${signsStill}
order by s.ordinality`;

/**
 * Adds a secret; older ones go on signing for a while. Parameters: subscription, secret, ms that the older ones sign,
 * origin that it is for.
 */
export const addSecret = ({ webhooks }: Tables): string => `-- name: webhook_add_secret
insert into ${webhooks} as w (subscriber_id, secrets)
values ($1::text, jsonb_build_array(jsonb_strip_nulls(jsonb_build_object('secret', $2::text, 'origin', $4::text))))
on conflict (subscriber_id) do update
set secrets = excluded.secrets || coalesce((
  select jsonb_agg(s.value || jsonb_build_object('until',
    least(coalesce((s.value ->> 'until')::timestamptz, 'infinity'), now() + $3::float8 * interval '1 millisecond'))
    order by s.ordinality)
  from jsonb_array_elements(${listOf('w.secrets')}) with ordinality s
  where ${signsStill}
), '[]')
returning subscriber_id`;

/** How many secrets sign for a subscription. Parameters: subscription. */
export const countSecrets = ({
  webhooks,
}: Pick<Tables, 'webhooks'>): string => `-- name: webhook_count_secrets
select count(*)::int as n
from ${webhooks} w, jsonb_array_elements(${listOf('w.secrets')}) s
where w.subscriber_id = $1::text and ${signsStill}`;

/**
 * A subscription is about to lead to another origin: secrets without an origin are for the old one from now on, and the new
 * origin gets a secret unless it has one. A subscription without secrets stays without. Repeating it changes nothing.
 *
 * Parameters: subscription, old origin (null: none), new origin (null: none), secret.
 */
export const moveSecrets = ({ webhooks }: Tables): string => `-- name: webhook_move_secrets
update ${webhooks} w
set secrets = moved.fresh || moved.kept
from (
  select o.subscriber_id,
    case when $3::text is null or bool_or(${signsStill} and coalesce(s.value ->> 'origin', $2::text, $3::text) = $3::text)
      then '[]' else jsonb_build_array(jsonb_build_object('secret', $4::text, 'origin', $3::text)) end as fresh,
    jsonb_agg(jsonb_strip_nulls(jsonb_build_object('origin', coalesce($2::text, $3::text))) || s.value order by s.ordinality) as kept
  from ${webhooks} o, jsonb_array_elements(${listOf('o.secrets')}) with ordinality s
  where o.subscriber_id = $1::text
  group by o.subscriber_id
  having bool_or(${signsStill})
) moved
where w.subscriber_id = moved.subscriber_id`;

/** Parameters: subscription. */
export const forgetEndpoint = ({ webhooks }: Tables): string => `-- name: webhook_forget
delete from ${webhooks} where subscriber_id = $1::text`;
