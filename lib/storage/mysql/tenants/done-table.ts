import { defaultDedupTable } from '../../../options/tenant-options.js';
import { parseTableName } from '../../../values/table-name.js';
import { quoteIdentifier, quoteTableName } from '../identifiers.js';
import { exactText } from '../schema/schema.js';
import { named } from '../statement.js';

/** The statements on the table of `once()`. */
export interface DoneStatements {
  /** Makes the table; may be run again. */
  readonly create: string;
  /** Marks a task as done; fails with a duplicate key when it was. Parameters: key, step. */
  readonly mark: string;
  /** Forgets what was done before. Parameters: seconds ago, most rows. */
  readonly purge: string;
}

/** The default name has a schema of PostgreSQL; a database there is what a schema is here. */
const ownDefault = 'tarefa_done';

/** @param name of the table, with its database unless it is the tenant's own */
export function doneStatements(name: string = defaultDedupTable): DoneStatements {
  const parsed = parseTableName(name === defaultDedupTable ? ownDefault : name);
  const table = quoteTableName(parsed);
  const index = quoteIdentifier(`${parsed.table}_done_at`);
  return {
    create: named(
      'create_done_table',
      `create table if not exists ${table} (
  \`key\` ${exactText(500)} not null,
  step ${exactText(250)} not null,
  done_at datetime(6) not null default (utc_timestamp(6)),
  primary key (\`key\`, step),
  index ${index} (done_at)
) engine = InnoDB`,
    ),
    mark: named('mark_as_done', `insert into ${table} (\`key\`, step) values (?, ?)`),
    purge: named(
      'purge_what_was_done',
      `delete from ${table} where done_at < timestampadd(second, -?, utc_timestamp(6)) order by done_at limit ?`,
    ),
  };
}
