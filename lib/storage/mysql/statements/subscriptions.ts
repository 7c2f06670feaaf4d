import { named } from '../statement.js';

// Every one takes the quoted subscriptions table.

const fields = `s.id, s.processo, s.tenant, s.grupo_empresarial, s.url, s.http_method, s.headers, s.ativo, s.created_at`;

/** By id. */
export const listSubscriptions = (table: string): string =>
  named('list_subscriptions', `select ${fields} from ${table} s order by s.id`);

/** By id. Parameters: topic. */
export const listOfTopic = (table: string): string =>
  named('list_subscriptions_of_topic', `select ${fields} from ${table} s where s.processo = ? order by s.id`);

/** Parameters: id. */
export const findSubscription = (table: string): string =>
  named('find_subscription', `select ${fields} from ${table} s where s.id = ?`);

/** Parameters: topic, tenant, group, URL, method, headers, active, id. */
export const addSubscription = (table: string): string =>
  named(
    'add_subscription',
    `
insert into ${table} (processo, tenant, grupo_empresarial, url, http_method, headers, ativo, id)
values (?, ?, ?, ?, ?, ?, ?, ?)`,
  );

/** Changes a subscription. Parameters: those of {@link addSubscription}. */
export const changeSubscription = (table: string): string =>
  named(
    'update_subscription',
    `
update ${table} s
set s.processo = ?, s.tenant = ?, s.grupo_empresarial = ?, s.url = ?, s.http_method = ?, s.headers = ?, s.ativo = ?
where s.id = ?`,
  );

/** Parameters: id. */
export const removeSubscription = (table: string): string =>
  named('remove_subscription', `delete from ${table} where id = ?`);

/** Parameters: ids as JSON. */
export const declaredSubscriptions = (table: string): string =>
  named(
    'declared_subscriptions',
    `
select s.id, s.processo
from json_table(?, '$[*]' columns (id varchar(100) character set utf8mb4 path '$')) j
straight_join ${table} s force index (primary) on s.id = j.id
order by s.id`,
  );

/** Parameters: id, topic. */
export const declareSubscription = (table: string): string =>
  named('declare_subscriptions', `insert into ${table} (id, processo) values (?, ?)`);
