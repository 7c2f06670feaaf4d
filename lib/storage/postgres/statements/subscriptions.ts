// Every one takes the quoted subscriptions table.

const fields = `s.id, s.processo, s.tenant::text as tenant, s.grupo_empresarial, s.url, s.http_method,
  s.headers::text as headers, s.ativo, s.created_at`;

/** By id. Parameters: topic, or null for all. */
export const listSubscriptions = (table: string): string => `-- name: list_subscriptions
select ${fields} from ${table} s where $1::text is null or s.processo = $1::text order by s.id`;

/** Parameters: id. */
export const findSubscription = (table: string): string => `-- name: find_subscription
select ${fields} from ${table} s where s.id = $1::text`;

/** Returns nothing when the id is taken. Parameters: id, topic, tenant, group, URL, method, headers, active. */
export const addSubscription = (table: string): string => `-- name: add_subscription
insert into ${table} as s (id, processo, tenant, grupo_empresarial, url, http_method, headers, ativo)
values ($1::text, $2::text, $3::text::bigint, $4::text, $5::text, $6::text, $7::text::json, $8::boolean)
on conflict (id) do nothing
returning ${fields}`;

/** Changes a subscription. Parameters: those of {@link addSubscription}. */
export const changeSubscription = (table: string): string => `-- name: update_subscription
update ${table} s
set processo = $2::text, tenant = $3::text::bigint, grupo_empresarial = $4::text, url = $5::text,
  http_method = $6::text, headers = $7::text::json, ativo = $8::boolean
where s.id = $1::text
returning ${fields}`;

/** Parameters: id. */
export const removeSubscription = (table: string): string => `-- name: remove_subscription
delete from ${table} s where s.id = $1::text returning s.id`;
