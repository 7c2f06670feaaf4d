import { expect, test } from 'vitest';
import { encodeTask } from '../../../lib/client/task-input.js';
import { createWithStandIns, onMariadb } from '../mysql/singlestore/on-mariadb.js';
import { exercise } from './exercise.js';
import { useMysql } from './open-mysql.js';
import { insert } from './opened.js';

// Nothing here can run SingleStore: its dialect runs on MariaDB, and every statement that is sent is held against its documentation.
const open = useMysql('mariadb', createWithStandIns, onMariadb);
exercise(
  open,
  // A group takes one task there: undoing one of several needs savepoints.
  ['groups', 'unique keys', 'schedules', 'keyed schedules'],
);

test('unique keys are refused, alone and among many tasks, and nothing is sent', async () => {
  const { database, access, inTransaction } = await open();
  const refused = { code: 'INPUT_INVALID', message: expect.stringContaining('SingleStore') as unknown };
  const task = encodeTask({ unique: { key: 'a', onConflict: 'return' } }, false, 1_000);
  const other = encodeTask({}, false, 1_000);
  await expect(insert(database, { unique: 'a' })).rejects.toMatchObject(refused);
  await expect(database.inserts.insertMany([other, task])).rejects.toMatchObject(refused);
  await inTransaction(async (tx) => {
    const sent: string[] = [];
    const watched: typeof tx = {
      query: (text, values) => {
        sent.push(text);
        return tx.query(text, values);
      },
    };
    await expect(database.inserts.insert(task, watched)).rejects.toMatchObject(refused);
    await expect(database.inserts.insertMany([other, task], watched)).rejects.toMatchObject(refused);
    expect(sent).toEqual([]);
  });
  expect(await access.inserted(undefined)).toEqual([]);
});
