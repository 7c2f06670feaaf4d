import { expect, test } from 'vitest';
import { QueueAdmin, type EquivalentTaskInput } from '../../lib/index.js';
import { handleOf, useDatabase } from '../support/database.js';
import { useApp } from '../support/queue-app.js';
import { onPostgres } from '../support/run-database.js';
import { withClient } from '../support/with-client.js';

const database = await useDatabase();
const { app, queue } = await useApp(database, { worker: false });
const admin = app.get(QueueAdmin);

/** What an application may have set in the session in which it inserts, each as far from what is usual as can be. */
const settings = onPostgres
  ? `set timezone = 'Pacific/Kiritimati'; set datestyle = 'German, DMY'; set intervalstyle = 'sql_standard';
     set bytea_output = 'escape'; set extra_float_digits = -10; set array_nulls = off; set transform_null_equals = on;
     set standard_conforming_strings = off; set escape_string_warning = off; set quote_all_identifiers = on;
     set default_transaction_isolation = 'serializable'; set search_path = ''; set client_min_messages = 'error'`
  : `set session sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,HIGH_NOT_PRECEDENCE,PAD_CHAR_TO_FULL_LENGTH';
     set session time_zone = '+13:00', sql_safe_updates = 1, sql_auto_is_null = 1, auto_increment_increment = 3;
     set session collation_connection = 'utf8mb4_general_ci', div_precision_increment = 0, group_concat_max_len = 4`;

const task = {
  topic: 'charge',
  payload: { note: String.raw`it's "ç" \ 🍵 %s` },
  externalKey: String.raw`o'rder \7`,
  tenant: '9007199254740993',
} as const satisfies EquivalentTaskInput;

test('in a session with other formats, modes and a path of its own the caller’s transaction inserts, finds and cancels as anywhere', async () => {
  const runAt = new Date('2126-01-02T03:04:05.678Z');
  const [id, ids, publication, found, cancelled] = await withClient(database, async (client) => {
    await client.query(settings);
    await client.query('begin');
    const tx = handleOf(client);
    const made = await queue.insertTask({ ...task, runAt }, { tx });
    const more = await queue.insertTasks(
      [1, 2, 3].map((n) => ({ topic: 'more', payload: n, delayMs: 3_600_000 })),
      { tx },
    );
    const published = await queue.insertTaskPubSub({ topic: 'paid' }, { tx });
    const equal = await queue.listEquivalentTask(task, { tx });
    const ended = await admin.cancel([more[1] ?? '', '999999'], {
      tx,
      by: 'ana',
      reason: String.raw`o'k \ ç`,
    });
    await client.query('commit');
    return [made, more, published, equal, ended] as const;
  });
  expect(found).toMatchObject([
    { id, dueAt: runAt, firstDueAt: runAt, payload: JSON.stringify(task.payload) },
  ]);
  expect(await queue.listEquivalentTask(task)).toEqual(found);
  expect(cancelled).toEqual({ cancelled: [ids[1]], stopping: [] });
  const states = await Promise.all(
    [id, ...ids, publication].map(async (one) => (await admin.find(one))?.current),
  );
  expect(states).toMatchObject([
    { id, status: 'scheduled', externalKey: task.externalKey, tenant: task.tenant },
    { payload: '1', status: 'scheduled' },
    { payload: '2', status: 'cancelled', cancelledBy: 'ana', message: String.raw`o'k \ ç` },
    { payload: '3', status: 'scheduled' },
    { publication: true, status: 'pending' },
  ]);
  // A zone that is taken for another one is hours away.
  const inMs = (states[1]?.dueAt.getTime() ?? 0) - Date.now();
  expect(Math.abs(inMs - 3_600_000)).toBeLessThan(1_800_000);
});
