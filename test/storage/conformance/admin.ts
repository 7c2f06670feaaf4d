import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'vitest';
import { encodeTask } from '../../../lib/client/task-input.js';
import type { BulkKind, BulkPlace } from '../../../lib/storage/admin.js';
import { subscriptionRoute, topicRoute } from '../../../lib/storage/route.js';
import type { TaskSelection } from '../../../lib/storage/task-selection.js';
import { greatestId } from '../../../lib/values/attempt-id.js';
import { contract, contractOfEach } from './contract-test.js';
import {
  claimAll,
  claimNew,
  complete,
  endBadly,
  idsOf,
  insert,
  register,
  type OpenDatabase,
  type OpenedDatabase,
} from './opened.js';

const page = { greatest: greatestId, limit: 100, payload: true };

const off = { by: 'ann', message: 'off' };

/** A task in each state, by what it is. */
async function oneOfEach({ database }: OpenedDatabase) {
  const worker = await register(database);
  const succeeded = await claimNew(database, worker, { payload: 'done' });
  const [lost, retrying] = [await claimNew(database, worker), await claimNew(database, worker)];
  const processing = await claimNew(database, worker);
  await complete(worker, succeeded);
  await endBadly(database, worker, lost);
  await endBadly(database, worker, retrying, { kind: 'after-failure', delayMs: 3_600_000 });
  const cancelled = await insert(database);
  await database.admin.cancel({ ids: [cancelled] }, off);
  const scheduled = await insert(database, { delayMs: 3_600_000 });
  const pending = await insert(database);
  return {
    worker,
    ids: {
      succeeded: succeeded.id,
      failed: lost.id,
      retrying: retrying.id,
      processing: processing.id,
      cancelled,
      scheduled,
      pending,
    },
  };
}

/** What every database promises of `TaskAdmin`. */
export function exerciseAdmin(open: OpenDatabase): void {
  const idsOfTasks = (tasks: readonly { readonly firstAttemptId: string }[]): readonly string[] =>
    tasks.map(({ firstAttemptId }) => firstAttemptId).toSorted();
  const statusOf = async ({ database }: Pick<OpenedDatabase, 'database'>, id: string) =>
    (await database.admin.attemptsOf(id, false)).at(-1)?.status;

  contract('tasks are counted as they stand, by topic and state', async () => {
    const opened = await open();
    await oneOfEach(opened);
    const counts = await opened.database.admin.counts(null);
    expect(counts.map(({ topic, status, count }) => [topic, status, count])).toEqual(
      expect.arrayContaining(
        ['cancelled', 'failed', 'pending', 'processing', 'retrying', 'scheduled', 'succeeded'].map(
          (status) => [
            'a',
            status,
            // The dead task of the lost one is pending as well.
            status === 'pending' ? 2 : 1,
          ],
        ),
      ),
    );
    expect(counts).toHaveLength(7);
  });

  contract('what ended before a time is not counted, what waits is', async () => {
    const opened = await open();
    await oneOfEach(opened);
    await opened.access.travel(7_200_000);
    const { at } = await opened.database.reports.status({ purgeMaxAgeDays: 1 });
    const since = new Date(at.getTime() - 3_600_000).toISOString();
    const statuses = (await opened.database.admin.counts(since)).map(({ status }) => status);
    expect(statuses).not.toContain('succeeded');
    expect(statuses).toEqual(expect.arrayContaining(['pending', 'processing']));
  });

  contract('the oldest pending task is the one that has been due for longest', async () => {
    const { database, access } = await open();
    const oldest = await insert(database, { priority: 1 });
    await access.travel(60_000);
    await insert(database, { priority: 99 });
    const found = await database.admin.oldestPending();
    expect(found?.task.id).toBe(oldest);
    expect(found?.waitingMs).toBeGreaterThanOrEqual(60_000);
  });

  const states = ['succeeded', 'failed', 'cancelled', 'retrying', 'processing', 'scheduled'] as const;
  contractOfEach(states, (state) => state)('a list of %s tasks has no others', async (state) => {
    const opened = await open();
    const { ids } = await oneOfEach(opened);
    const listed = await opened.database.admin.list({ states: [state], latest: true, dead: false }, page);
    expect(listed.map(({ firstAttemptId }) => firstAttemptId)).toEqual([ids[state]]);
  });

  const selections: readonly (readonly [name: string, TaskSelection])[] = [
    ['topic', { topic: 'wanted' }],
    ['external key', { externalKey: 'key 7' }],
    ['tenant', { tenant: '70' }],
    ['group', { group: 'north' }],
    ['message', { message: 'SOLD out' }],
    ['payload', { payload: 'ApPle' }],
    ['ids', { ids: [] }],
  ];
  contractOfEach(selections, ([name]) => name)('a list by %s has that task only', async ([, selection]) => {
    const { database } = await open();
    const worker = await register(database);
    await insert(database, { topic: 'other', externalKey: 'key', tenant: 7, payload: 'pear' });
    const input = { topic: 'wanted', externalKey: 'key 7', tenant: 70, group: 'north', payload: 'an apple' };
    const claimed = await claimNew(database, worker, input);
    await endBadly(database, worker, claimed, undefined, 'sold OUT today');
    const selected = selection.ids ? { ids: [claimed.id] } : selection;
    const listed = await database.admin.list({ dead: false, ...selected }, page);
    expect(idsOf(listed)).toEqual([claimed.id]);
  });

  contract('a list is the newest first, a page at a time, and tells that there is another page', async () => {
    const { database } = await open();
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) ids.push(await insert(database));
    const first = await database.admin.list({}, { ...page, limit: 2 });
    expect(idsOf(first)).toEqual(ids.toReversed().slice(0, 3));
    const greatest = BigInt(ids[1] ?? 0);
    expect(idsOf(await database.admin.list({}, { ...page, greatest, limit: 2 }))).toEqual([ids[1], ids[0]]);
  });

  contract('payloads are left out where they are not asked for', async () => {
    const { database } = await open();
    const id = await insert(database, { payload: 'secret' });
    expect((await database.admin.attemptsOf(id, false))[0]?.payload).toBeNull();
    expect((await database.admin.attemptsOf(id, true))[0]?.payload).toBe('secret');
  });

  contract('a lost task is found by its attempts, with its dead task', async () => {
    const opened = await open();
    const { ids } = await oneOfEach(opened);
    const [dead, ...others] = await opened.database.admin.deadTasksOf(ids.failed);
    expect(others).toEqual([]);
    expect((await opened.database.admin.attemptsOf(dead ?? '', false))[0]).toMatchObject({ dead: true });
    expect(await opened.database.admin.attemptsOf('999999', true)).toEqual([]);
  });

  contract('only a failed task is retried: by a new attempt with its payload', async () => {
    const opened = await open();
    const { database } = opened;
    const { ids, worker } = await oneOfEach(opened);
    for (const id of [ids.pending, ids.scheduled, ids.processing, ids.succeeded, ids.retrying]) {
      expect(await database.admin.retry(id)).toBeUndefined();
    }
    const claimed = await claimNew(database, worker, { topic: 'b', payload: 'kept' });
    await endBadly(database, worker, claimed);
    const retried = (await database.admin.retry(claimed.id)) ?? '';
    expect(await database.admin.attemptsOf(retried, true)).toMatchObject([
      { id: claimed.id, retried: true },
      { id: retried, attempt: 1, status: 'pending', payload: 'kept' },
    ]);
    expect(await database.admin.retry(claimed.id)).toBeUndefined();
  });

  contract('an edited retry has the other payload, and its metadata tells who did it', async () => {
    const { database } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker, { payload: 'bad', metadata: { of: 'before' } });
    await endBadly(database, worker, claimed);
    const edited = { payload: 'good', hash: '', by: 'ann', reason: 'typo' };
    const id = (await database.admin.retryEdited(claimed.id, edited)) ?? '';
    const [before, after] = await database.admin.attemptsOf(id, true);
    expect(before?.payload).toBe('bad');
    expect(after).toMatchObject({
      payload: 'good',
      metadata: {
        of: 'before',
        'tarefa:edits': [{ by: 'ann', reason: 'typo', after: claimed.id, at: expect.any(String) }],
      },
    });
    expect(await database.attempts.loadPayload(id)).toBe('good');
  });

  contract('only a scheduled task is made due now', async () => {
    const opened = await open();
    const { ids } = await oneOfEach(opened);
    const { admin } = opened.database;
    for (const id of [ids.pending, ids.processing, ids.succeeded, ids.failed]) {
      expect(await admin.runNow(id)).toBe(false);
    }
    for (const id of [ids.scheduled, ids.retrying]) {
      expect(await admin.runNow(id)).toBe(true);
      expect(await statusOf(opened, id)).toBe('pending');
    }
  });

  contract(
    'a task that waits is cancelled: it leaves no dead task, and tells who, when and why',
    async () => {
      const opened = await open();
      const { ids } = await oneOfEach(opened);
      const { admin } = opened.database;
      for (const id of [ids.succeeded, ids.failed, ids.cancelled]) {
        expect(await admin.cancel({ ids: [id] }, off)).toEqual([]);
      }
      for (const id of [ids.pending, ids.scheduled, ids.retrying]) {
        expect(await admin.cancel({ ids: [id] }, off)).toMatchObject([
          { firstAttemptId: id, topic: 'a', dead: false, runs: false },
        ]);
        expect((await admin.attemptsOf(id, false)).at(-1)).toMatchObject({
          status: 'cancelled',
          cancelledBy: 'ann',
          message: 'off',
          finishedAt: expect.any(Date) as unknown,
          exhausted: false,
        });
        expect(await admin.deadTasksOf(id)).toEqual([]);
      }
    },
  );

  contract('a task that is cancelled by nobody in particular is cancelled anyway', async () => {
    const { database } = await open();
    const id = await insert(database);
    await database.admin.cancel({ ids: [id] }, { by: null, message: 'off' });
    expect(await database.admin.attemptsOf(id, false)).toMatchObject([
      { status: 'cancelled', cancelledBy: null },
    ]);
  });

  contract('of several tasks those that have not ended are cancelled, and told', async () => {
    const opened = await open();
    const { ids } = await oneOfEach(opened);
    const all = [...Object.values(ids), '999999'];
    const cancelled = await opened.database.admin.cancel({ ids: all }, off);
    expect(idsOfTasks(cancelled)).toEqual(
      [ids.pending, ids.retrying, ids.scheduled, ids.processing].toSorted(),
    );
    const running = cancelled.filter(({ runs }) => runs);
    expect(idsOfTasks(running)).toEqual([ids.processing]);
    expect(await statusOf(opened, ids.processing)).toBe('processing');
    expect(idsOfTasks(await opened.database.admin.cancel({ ids: all }, off))).toEqual([ids.processing]);
    expect(await opened.database.admin.cancel({ ids: [] }, off)).toEqual([]);
  });

  contract('tasks are cancelled by topic and external key, dead ones and those of others not', async () => {
    const { database } = await open();
    const { admin } = database;
    const worker = await register(database);
    const key = { topic: 'a', externalKey: 'order 7' };
    const retrying = await claimNew(database, worker, { ...key, payload: 'other' });
    await endBadly(database, worker, retrying, { kind: 'after-failure', delayMs: 3_600_000 });
    const running = await claimNew(database, worker, { ...key, payload: 'runs' });
    const lost = await claimNew(database, worker, key);
    await endBadly(database, worker, lost);
    const [dead] = await admin.deadTasksOf(lost.id);
    const waiting = [await insert(database, key), await insert(database, { ...key, delayMs: 3_600_000 })];
    const others = [
      await insert(database, { ...key, topic: 'b' }),
      await insert(database, { ...key, externalKey: 'order 77' }),
      await insert(database, { ...key, topic: null }),
      await insert(database),
    ];
    const cancelled = await admin.cancel(key, off);
    expect(idsOfTasks(cancelled)).toEqual([retrying.id, running.id, ...waiting].toSorted());
    for (const id of [...others, dead ?? '']) {
      expect(await statusOf({ database }, id)).toBe('pending');
    }
    expect(idsOfTasks(await admin.cancel({ ...key, topic: null }, off))).toEqual([others[2]]);
  });

  contract('what is cancelled in a transaction is so when that commits', async () => {
    const opened = await open();
    const { database, inTransaction } = opened;
    const { admin } = database;
    const [one, other] = [await insert(database), await insert(database, { externalKey: 'k' })];
    const undone = inTransaction(async (tx) => {
      expect(await admin.cancel({ ids: [one] }, off, tx)).toHaveLength(1);
      throw new Error('changed my mind');
    });
    await expect(undone).rejects.toThrow('changed my mind');
    expect(await statusOf(opened, one)).toBe('pending');
    await inTransaction(async (tx) => {
      const own = await database.inserts.insert(
        encodeTask({ topic: 'a', externalKey: 'k' }, false, 1_000),
        tx,
      );
      const cancelled = await admin.cancel({ topic: 'a', externalKey: 'k' }, off, tx);
      expect(idsOfTasks(cancelled)).toEqual([other, own].toSorted());
    });
    expect(await statusOf(opened, other)).toBe('cancelled');
  });

  contract('a cancelled task is retried by its id: its next attempt is not cancelled', async () => {
    const opened = await open();
    const { ids } = await oneOfEach(opened);
    const { admin } = opened.database;
    const id = (await admin.retry(ids.cancelled)) ?? '';
    expect(await admin.attemptsOf(id, false)).toMatchObject([
      { id: ids.cancelled, status: 'cancelled', retried: true },
      { id, status: 'pending', cancelledBy: null },
    ]);
  });

  contract('only a task that waits is buried, and no dead one: its dead task starts', async () => {
    const opened = await open();
    const { ids } = await oneOfEach(opened);
    const { admin } = opened.database;
    for (const id of [ids.processing, ids.succeeded, ids.failed]) {
      expect(await admin.bury(id, 'enough')).toBeUndefined();
    }
    const dead = (await admin.bury(ids.pending, 'enough')) ?? '';
    expect(await admin.deadTasksOf(ids.pending)).toEqual([dead]);
    expect(await admin.bury(dead, 'enough')).toBeUndefined();
    expect(await admin.list({ buried: true, ids: [ids.pending] }, page)).toHaveLength(1);
  });

  contract('a task is deleted with its dead task, unless one of them runs', async () => {
    const opened = await open();
    const { database } = opened;
    const { ids, worker } = await oneOfEach(opened);
    expect(await database.admin.delete(ids.processing)).toBe(0);
    expect(await database.admin.delete(ids.failed)).toBe(2);
    expect(await database.admin.attemptsOf(ids.failed, false)).toEqual([]);
    const lost = await claimNew(database, worker, { topic: 'b' });
    await endBadly(database, worker, lost);
    await claimAll(worker, [topicRoute('b')]);
    expect(await database.admin.delete(lost.id)).toBe(0);
  });

  const kinds: readonly (readonly [BulkKind, readonly string[], TaskSelection?])[] = [
    ['retry', ['failed'], { states: ['failed'] }],
    ['retry', ['cancelled'], { states: ['cancelled'] }],
    ['retry', ['cancelled', 'failed'], { states: ['cancelled', 'failed'] }],
    ['cancel', ['pending', 'pending', 'retrying', 'scheduled']],
    ['delete', ['cancelled', 'failed', 'pending', 'pending', 'retrying', 'scheduled', 'succeeded']],
  ];
  contractOfEach(kinds, ([kind, , selection]) => [kind, ...(selection?.states ?? [])].join(' '))(
    'work of many with %s means what it can do, and does it',
    async ([kind, meant, selection = {}]) => {
      const opened = await open();
      await oneOfEach(opened);
      const { admin } = opened.database;
      const { counts, lastId } = await admin.countMeant(kind, selection, 0);
      expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(meant.length);
      const later = await insert(opened.database);
      const place: BulkPlace = { after: '0', lastId, rows: 2, cancellation: off };
      let done = 0;
      for (let after: string | null = place.after; after !== null;) {
        const block = await admin.runBlock(kind, selection, { ...place, after });
        done += block.done;
        ({ after } = block);
      }
      // A dead task goes with its task.
      expect(done).toBeGreaterThanOrEqual(kind === 'delete' ? meant.length - 1 : meant.length);
      expect((await admin.countMeant(kind, selection, 0)).counts.map(({ count }) => count)).toEqual(
        kind === 'retry' ? [] : [1],
      );
      expect(await statusOf(opened, later)).toBe('pending');
    },
  );

  contract('a pause holds from its beginning, once, to its end', async () => {
    const { database } = await open();
    const [topic, subscription] = [topicRoute('a'), subscriptionRoute('s')];
    await database.admin.pause(topic);
    const [first] = await database.admin.paused();
    // A pause that started over within the same millisecond could not be told from the first one.
    const read = Date.now();
    while (Date.now() <= read) await nextTurn();
    await database.admin.pause(topic);
    await database.admin.pause(subscription);
    expect(await database.admin.paused()).toEqual(
      expect.arrayContaining([first, { subscriptionId: 's', since: expect.any(Date) }]),
    );
    expect(await database.attempts.pausedRoutes()).toHaveLength(2);
    await database.admin.resume(topic);
    expect(await database.attempts.pausedRoutes()).toEqual([subscription]);
  });

  contract('a halt is told to the workers that run, and to no other', async () => {
    const { database } = await open();
    const [stopped, running] = [await register(database), await register(database)];
    await database.workers.retire(stopped.id, 'stopped');
    expect(await database.workers.haltAll()).toEqual([running.id]);
    expect(await database.workers.isHalted(running.id)).toBe(true);
    expect(await database.workers.isHalted((await register(database)).id)).toBe(false);
  });
}
