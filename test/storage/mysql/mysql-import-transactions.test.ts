import { expect, test } from 'vitest';
import { encodeTask, type TaskInput } from '../../../lib/client/task-input.js';
import type { OwnPool } from '../../../lib/storage/mysql/connections/own-pool.js';
import { MysqlImportTransactions } from '../../../lib/storage/mysql/import-transactions.js';
import { insert } from '../conformance/opened.js';
import { useOpenedMysql, type OpenedMysql } from './mysql-opened.js';

const open = useOpenedMysql('mariadb');

const unique = (key: string) => ({ unique: { key, onConflict: 'return' as const } });

/** Imports tasks in one transaction, whose COMMIT is never answered, whether the server did it or not. */
async function importUnanswered(
  { database, queue }: OpenedMysql,
  isDone: boolean,
  inputs: readonly TaskInput[],
): Promise<void> {
  const own: Pick<OwnPool, 'take' | 'use'> = {
    use: (work) => queue.own.use(work),
    take: async () => {
      const lent = await queue.own.take();
      return {
        ...lent,
        ask: async (text, values) => {
          if (text !== 'commit') return lent.ask(text, values);
          if (isDone) await lent.ask(text);
          throw Object.assign(new Error('Connection lost'), { code: 'PROTOCOL_CONNECTION_LOST' });
        },
      };
    },
  };
  const access = { own: own as OwnPool, tables: queue.tables };
  const transactions = await MysqlImportTransactions.open(access, database.inserts);
  try {
    await transactions.insert(
      inputs.map((input, index) => ({ line: index + 1, task: encodeTask(input, false, 1_000_000) })),
    );
    await transactions.commit();
  } finally {
    await transactions.close();
  }
}

const lines = [{ topic: 'new' }, { topic: 'new', ...unique('other') }, { topic: 'new', ...unique('taken') }];

async function openTaken(): Promise<{
  readonly opened: OpenedMysql;
  readonly topics: () => Promise<unknown>;
}> {
  const opened = await open();
  await insert(opened.database, { topic: 'old', ...unique('taken') });
  const topics = async (): Promise<unknown> =>
    (await opened.access.inserted(undefined)).map(({ topic }) => topic);
  return { opened, topics };
}

test('a COMMIT that was done and not answered is one, also where the last key was taken before', async () => {
  const { opened, topics } = await openTaken();
  await importUnanswered(opened, true, lines);
  expect(await topics()).toEqual(['old', 'new', 'new']);
});

test('a COMMIT that was not done is none, though the task that has the last key is there', async () => {
  const { opened, topics } = await openTaken();
  await expect(importUnanswered(opened, false, lines)).rejects.toMatchObject({
    code: 'CONNECTION_LOST',
    message: 'the connection was lost at the end of the transaction; it was not committed',
  });
  expect(await topics()).toEqual(['old']);
});

test('where every task has a key, what became of them is not known, and that is said', async () => {
  const { opened } = await openTaken();
  await expect(importUnanswered(opened, true, lines.slice(1))).rejects.toMatchObject({
    code: 'CONNECTION_LOST',
    message: expect.stringContaining('whether it was committed is unknown') as unknown,
  });
});
