import { mysqlDialect, type Dialect, type DialectName } from '../dialect.js';
import { inSingleStore, lockWait } from './singlestore-sql.js';

/** It has one level of isolation, that of committed reads, and one zone, which `inspectServer` looks at. */
const commonSettings = `set session sql_mode = 'STRICT_ALL_TABLES'`;

/** SingleStore, by its documentation: nothing of this was run on it. See `docs/guides/singlestore.md`. */
export const singleStoreDialect: Dialect = {
  name: 'singlestore',
  settings: {
    tasks: commonSettings,
    own: `${commonSettings};\nset session ${lockWait};\nset session group_concat_max_len = 16777216`,
  },
  write: inSingleStore,
};

/** A dialect by its name: only names reach a thread. */
export function dialectOf(name: DialectName): Dialect {
  return name === 'singlestore' ? singleStoreDialect : mysqlDialect;
}
