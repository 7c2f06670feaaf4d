import type { SqlHandle } from '../sql-handle.js';
import { ownSettings, taskSettings } from './connections/mysql-config.js';

/** Whose SQL is spoken: that of MySQL and MariaDB, or what SingleStore has of it by its documentation. */
export type DialectName = 'mysql' | 'singlestore';

/** A text and the values of its parameters. */
export interface Sent {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** How a server is spoken to. What it does in another way altogether is among its `OtherWays`. */
export interface Dialect {
  readonly name: DialectName;
  /** What connections begin with: those on which handlers work, and all others. */
  readonly settings: { readonly tasks: string; readonly own: string };
  /** Writes a text of the library's, which is in MySQL's SQL, in the server's. Texts of handlers are sent as they are. */
  write(text: string, values: readonly unknown[]): Sent;
}

/** MySQL and MariaDB take the library's texts as they are. */
export const mysqlDialect: Dialect = {
  name: 'mysql',
  settings: { tasks: taskSettings, own: ownSettings },
  write: (text, values) => ({ text, values }),
};

/** A handle of the application's for texts of the library's. */
export function translated(tx: SqlHandle, dialect: Dialect): SqlHandle {
  if (dialect === mysqlDialect) return tx;
  return {
    query: (text, values = []) => {
      const sent = dialect.write(text, values);
      return tx.query(sent.text, [...sent.values]);
    },
  };
}
