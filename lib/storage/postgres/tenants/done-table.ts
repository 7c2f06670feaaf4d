import { quoteIdentifier, quoteTableName } from '../identifiers.js';
import { keyOrder } from '../schema/schema.js';
import { parseTableName } from '../../../values/table-name.js';
import { defaultDedupTable } from '../../../options/tenant-options.js';

/** The statements on the table of `once()`. */
export interface DoneStatements {
  /** Makes the table; may be run again. */
  readonly create: string;
  /** Marks a task as done; no row when it was. Parameters: key, step. */
  readonly mark: string;
  /** Forgets what was done before. Parameters: seconds ago, most rows. */
  readonly purge: string;
}

/** @param name of the table, with its schema */
export function doneStatements(name: string = defaultDedupTable): DoneStatements {
  const parsed = parseTableName(name);
  const table = quoteTableName(parsed);
  const index = quoteIdentifier(`${parsed.table}_done_at`);
  return {
    create: `create table if not exists ${table} (
  key text ${keyOrder} not null,
  step text ${keyOrder} not null,
  done_at timestamptz not null default now(),
  primary key (key, step)
);
create index if not exists ${index} on ${table} (done_at)`,
    mark: `-- name: mark as done
insert into ${table} (key, step) values ($1, $2) on conflict (key, step) do nothing`,
    purge: `-- name: purge what was done
delete from ${table} where (key, step) in (
  select key, step from ${table} where done_at < now() - make_interval(secs => $1::double precision)
  order by done_at limit $2::int)`,
  };
}
