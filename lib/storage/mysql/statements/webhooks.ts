import { subscriptionPrefix, subscriptionRoute } from '../../route.js';
import type { QueueTables } from '../identifiers.js';
import { after, msBetween, now } from '../sql-time.js';
import { named } from '../statement.js';

// The endpoints of webhooks. What depends on what is stored is decided behind a lock on the endpoint's row.

type Tables = Pick<QueueTables, 'queue' | 'subscriptions' | 'webhooks' | 'paused' | 'seal'>;

/** One failure moves at most this many deliveries of an endpoint; the others wait behind them. */
const mostMoved = 1_000;

/** Null unless it rests now. */
const restsUntil = `case when w.open_until > ${now} then w.open_until end as open_until`;

/** Which subscriptions have a URL. Parameters: ids as JSON. */
export const subscriptionUrls = ({ subscriptions }: Tables): string =>
  named(
    'subscription_urls',
    `
select s.id, s.url is not null as has_url
from json_table(?, '$[*]' columns (id varchar(100) character set utf8mb4 path '$')) j
straight_join ${subscriptions} s force index (primary) on s.id = j.id`,
  );

/** Where a subscription leads now. Parameters: id. */
export const subscriptionTarget = ({ subscriptions }: Tables): string =>
  named(
    'subscription_target',
    `select s.url, s.http_method, s.headers from ${subscriptions} s where s.id = ?`,
  );

/** The key that fan-out seals deliveries with. */
export const readSealKey = ({ seal }: Tables): string =>
  named('seal_key', `select hex(k.inner_key) as inner_key, hex(k.outer_key) as outer_key from ${seal} k`);

/**
 * True while a time of a row lies ahead, though no further than some ms, a parameter: what was stored lies further ahead only
 * since the server's clock was set back.
 */
const isAhead = (time: string): string => `(${time} > ${now} and ${time} <= ${after('?')})`;

/** True after a rest, while no worker probes. Parameters: ms of the longest rest, ms that a probe may take. */
const isRested = `w.open_until is not null and not ${isAhead('w.open_until')} and not coalesce(${isAhead('w.probing_until')}, 0)`;

/**
 * Routes whose deliveries wait: paused, of an inactive subscription, or of an endpoint that rests or has rested; with these its
 * name, and whether it may be probed. Parameters: ms of the longest rest and ms that a probe may take, twice.
 */
export const webhookHolds = ({ subscriptions, webhooks, paused }: Tables): string =>
  named(
    'webhook_holds',
    `
select w.subscriber_id as endpoint, concat('${subscriptionRoute('')}', w.subscriber_id) as route,
  ${msBetween(now, `greatest(if(${isAhead('w.open_until')}, w.open_until, ${now}), if(${isAhead('w.probing_until')}, w.probing_until, ${now}))`)} as for_ms,
  ${isRested} as rested
from ${webhooks} w
where w.open_until is not null
union all
select null, concat('${subscriptionPrefix}', s.id), null, 0 from ${subscriptions} s where not s.ativo and s.url is not null
union all
select null, convert(p.route using utf8mb4), null, 0 from ${paused} p`,
  );

/**
 * Takes the turn to probe, unless another worker has it by now. Parameters: ms that a probe may take, subscription, ms of the
 * longest rest, ms that a probe may take.
 */
export const takeProbe = ({ webhooks }: Tables): string =>
  named(
    'webhook_probe',
    `
update ${webhooks} w set w.probing_until = ${after('?')}, w.open_until = least(w.open_until, ${now})
where w.subscriber_id = ? and ${isRested}`,
  );

/** Makes the row of an endpoint, unless there is one. Parameters: subscription. */
export const addEndpoint = ({ webhooks }: Tables): string =>
  named('webhook_add', `insert ignore into ${webhooks} (subscriber_id, secrets) values (?, '[]')`);

/** How a success is worth writing: after a change or a pause. Parameters: ms between two writes. */
const isWorthWriting = `(w.failures > 0 or w.open_until is not null or w.last_success_at is null
  or w.last_success_at not between ${after('0 - ?')} and ${now})`;

/** Since now, unless it has failed before. */
const failingSince = `coalesce(least(w.failing_since, ${now}), ${now})`;

/** Parameters: ms between two writes, subscription. */
export const readSuccess = ({ webhooks }: Tables): string =>
  named(
    'webhook_last_success',
    `select w.open_until is not null as open, ${isWorthWriting} as worth from ${webhooks} w where w.subscriber_id = ?`,
  );

/** An endpoint has answered well. Parameters: subscription. */
export const noteSuccess = ({ webhooks }: Tables): string =>
  named(
    'webhook_success',
    `
update ${webhooks} w
set w.failures = 0, w.failing_since = null, w.open_until = null, w.probing_until = null, w.last_success_at = ${now}
where w.subscriber_id = ?`,
  );

/**
 * Locks an endpoint; whether it rests since a request began. Parameters: ms that the request took, ms of the longest rest,
 * subscription.
 */
export const lockEndpoint = ({ webhooks }: Tables): string =>
  named(
    'webhook_lock',
    `
select w.failures, coalesce(w.open_until > ${after('0 - ?')} and w.open_until <= ${after('?')}, 0) as within
from ${webhooks} w where w.subscriber_id = ? for update`,
  );

/**
 * A request has failed that began before the rest: it is not counted and is not the probe that ends it, however late it fails.
 * Parameters: subscription.
 */
export const noteLateFailure = ({ webhooks }: Tables): string =>
  named(
    'webhook_late_failure',
    `update ${webhooks} w set w.failing_since = ${failingSince} where w.subscriber_id = ?`,
  );

/** An endpoint has failed. Parameters: failures in a row, rest in ms (null: it goes on as it is), subscription. */
export const noteFailure = ({ webhooks }: Tables): string =>
  named(
    'webhook_failure',
    `
update ${webhooks} w
set w.failing_since = ${failingSince}, w.probing_until = null, w.failures = ?,
  w.open_until = coalesce(${after('?')}, least(w.open_until, ${now}))
where w.subscriber_id = ?`,
  );

/** How it stands since. Parameters: subscription. */
export const readFailure = ({ webhooks }: Tables): string =>
  named(
    'webhook_failures',
    `
select w.failures, w.open_until, ${msBetween(now, 'w.open_until')} as open_ms, ${msBetween('w.failing_since', now)} as failing_ms
from ${webhooks} w where w.subscriber_id = ?`,
  );

/** Deliveries that are due, locked. Parameters: route. */
export const lockDue = ({ queue }: Tables): string =>
  named(
    'webhook_due',
    `
select f.id from ${queue} f force index (ready)
where f.rota_pronta = ? and f.data_hora <= ${now}
order by f.rota_pronta, f.prioridade desc, f.data_hora, f.id
limit ${mostMoved}
for update skip locked`,
  );

/** Moves them to the end of a rest, without an attempt. Parameters: ids, time. */
export const moveDue = ({ queue }: Tables): string =>
  named(
    'webhook_move',
    `
update json_table(?, '$[*]' columns (id bigint path '$')) j
straight_join ${queue} f force index (primary) on f.id = j.id
set f.status = 'agendada', f.data_hora = ?`,
  );

/** Takes a subscription out of service. Parameters: id, URL that asked for it, or null, twice. */
export const deactivate = ({ subscriptions }: Tables): string =>
  named(
    'webhook_deactivate',
    `update ${subscriptions} s set s.ativo = 0 where s.id = ? and s.ativo and (? is null or s.url = ?)`,
  );

/** Why it was taken out of service. Parameters: id, why. */
export const noteDeactivation = ({ webhooks }: Tables): string =>
  named(
    'webhook_deactivated',
    `
insert into ${webhooks} (subscriber_id, secrets, deactivated_at, deactivated_for) values (?, '[]', ${now}, ?)
on duplicate key update deactivated_at = values(deactivated_at), deactivated_for = values(deactivated_for)`,
  );

/** Puts it back into service. Parameters: id. */
export const reactivate = ({ subscriptions }: Tables): string =>
  named('webhook_reactivate', `update ${subscriptions} s set s.ativo = 1 where s.id = ?`);

/** Forgets its failures. Parameters: id. */
export const forgetFailures = ({ webhooks }: Tables): string =>
  named(
    'webhook_forget_failures',
    `
update ${webhooks} w
set w.failures = 0, w.failing_since = null, w.open_until = null, w.probing_until = null, w.deactivated_at = null, w.deactivated_for = null
where w.subscriber_id = ?`,
  );

const health = `coalesce(w.failures, 0) as failures, w.failing_since, w.last_success_at, ${restsUntil}, w.deactivated_at,
  w.deactivated_for, w.secrets`;

/** Parameters: subscription. */
export const readEndpoint = ({ subscriptions, webhooks }: Tables): string =>
  named(
    'webhook_endpoint',
    `
select s.id, s.url, s.http_method, s.headers, s.ativo, ${health}
from ${subscriptions} s left join ${webhooks} w on w.subscriber_id = s.id
where s.id = ?`,
  );

/** What is known of all endpoints. */
export const readEndpoints = ({ webhooks }: Tables): string =>
  named('webhook_endpoints', `select w.subscriber_id as id, ${health} from ${webhooks} w`);

/** Endpoints that rest or were taken out of service. Parameters: how many at most. */
export const failingEndpoints = ({ subscriptions, webhooks }: Tables): string =>
  named(
    'webhook_failures',
    `
select s.id, w.failures, ${restsUntil}, w.deactivated_for
from ${webhooks} w join ${subscriptions} s on s.id = w.subscriber_id
where w.open_until > ${now} or (w.deactivated_at is not null and not s.ativo)
order by w.open_until, s.id
limit ?`,
  );

/** The secrets of an endpoint, the server's time, and where the subscription leads. Parameters: subscription. */
export const readSecrets = ({ subscriptions, webhooks }: Tables): string =>
  named(
    'webhook_secrets',
    `
select w.secrets, ${now} as now, (select s.url from ${subscriptions} s where s.id = w.subscriber_id) as url
from ${webhooks} w where w.subscriber_id = ?`,
  );

/** Locks the secrets of an endpoint, to change them. Parameters: subscription. */
export const lockSecrets = ({ webhooks }: Tables): string =>
  named(
    'webhook_lock_secrets',
    `select w.secrets, ${now} as now from ${webhooks} w where w.subscriber_id = ? for update`,
  );

/** Parameters: secrets as JSON, subscription. */
export const writeSecrets = ({ webhooks }: Tables): string =>
  named('webhook_write_secrets', `update ${webhooks} w set w.secrets = ? where w.subscriber_id = ?`);

/** Parameters: subscription. */
export const forgetEndpoint = ({ webhooks }: Tables): string =>
  named('webhook_forget', `delete from ${webhooks} where subscriber_id = ?`);

/** True when a table is there. Parameters: database, table. */
export const tableIsThere = named(
  'table_is_there',
  'select count(*) as n from information_schema.tables where table_schema = ? and table_name = ?',
);
