import { expect, test } from 'vitest';
import { encodeTask } from '../../../lib/client/task-input.js';
import { exercise } from './exercise.js';
import { usePostgres } from './open-postgres.js';
import { insert } from './opened.js';

// Of so few ids that a test's rows are in several partitions.
const open = usePostgres({ layout: { partitionIds: 20 } });
exercise(open, ['unique keys', 'keyed schedules']);

test('unique keys are refused in a queue in partitions, and nothing is inserted', async () => {
  const { database, access } = await open();
  const refused = { code: 'INPUT_INVALID', message: expect.stringContaining('partitions') as unknown };
  await expect(insert(database, { unique: 'a' })).rejects.toMatchObject(refused);
  const task = encodeTask({ unique: { key: 'a', onConflict: 'return' } }, false, 1_000);
  await expect(database.inserts.insertMany([task])).rejects.toMatchObject(refused);
  expect(await access.inserted(undefined)).toEqual([]);
});
