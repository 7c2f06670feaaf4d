import type { PoolConnection as PromiseConnection } from 'mysql2/promise';
import { onTestFinished } from 'vitest';
import type { TextRow } from '../../../lib/storage/mysql/connections/answers.js';
import type { MysqlAccess } from '../../../lib/storage/mysql/mysql-access.js';
import type { MysqlDatabase } from '../../../lib/storage/mysql/mysql-database.js';
import type { MysqlFlavour } from '../../support/mysql.js';
import { until } from '../../support/waiting.js';
import { useMysql } from '../conformance/open-mysql.js';
import type { OpenedDatabase } from '../conformance/opened.js';

/** An empty database, and what else tests of these servers do to it. */
export interface OpenedMysql extends OpenedDatabase {
  readonly database: MysqlDatabase;
  readonly queue: MysqlAccess;
  /** Runs a statement beside the queue. */
  readonly ask: (text: string, values?: readonly unknown[]) => Promise<readonly TextRow[]>;
  /** A session of somebody else's, gone when the test has ended. */
  readonly openSession: () => Promise<PromiseConnection>;
  /** Resolves when a session runs a statement with that text, with its number. */
  readonly running: (text: string) => Promise<string>;
}

/** Makes a database for the file, whose tables are emptied for each test. */
export function useOpenedMysql(flavour: MysqlFlavour): () => Promise<OpenedMysql> {
  const open = useMysql(flavour);
  return async () => {
    const opened = await open();
    const database = opened.database as MysqlDatabase;
    const { own } = database.access;
    const ask = async (text: string, values?: readonly unknown[]): Promise<readonly TextRow[]> =>
      (await own.query(text, values)).rows;
    return {
      ...opened,
      database,
      queue: database.access,
      ask,
      openSession: async () => {
        const lent = await own.take();
        onTestFinished(() => lent.destroy());
        return lent.raw.promise();
      },
      running: (text) =>
        until(async () => {
          const sessions = await ask('show full processlist');
          return sessions.find(({ Info }) => Info?.includes(text))?.['Id'];
        }, `a statement runs with ${text}`),
    };
  };
}
