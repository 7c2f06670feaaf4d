import * as fc from 'fast-check';
import { expect } from 'vitest';
import { encodeTask, type TaskInput } from '../../../lib/client/task-input.js';
import type { UniqueTask } from '../../../lib/client/unique-task.js';
import type { ClaimedTask } from '../../../lib/storage/attempt.js';
import { topicRoute } from '../../../lib/storage/route.js';
import { contract, contractOfEach } from './contract-test.js';
import {
  claimAll,
  claimNew,
  complete,
  endBadly,
  idsOf,
  insert,
  read,
  register,
  type OpenDatabase,
  type OpenedDatabase,
} from './opened.js';

/** How long a key may be taken. */
const spans: readonly Partial<UniqueTask>[] = [{ while: 'live' }, { while: 'pending' }, { window: 'today' }];
const nameOf = (span: Partial<UniqueTask>): string => JSON.stringify(span);

const unique = (span: Partial<UniqueTask> = {}): UniqueTask => ({ key: 'k', onConflict: 'return', ...span });

const encode = (input: TaskInput) => encodeTask({ topic: 'a', ...input }, false, 1_000_000);

/** What every database promises of unique keys. */
export function exerciseUniqueKeys(open: OpenDatabase): void {
  contractOfEach(spans, nameOf)(
    'a second task with the key of one that waits is not inserted (%s): its id is answered, or it is refused',
    async (span) => {
      const { database, access } = await open();
      const id = await insert(database, { unique: unique(span) });
      expect(await insert(database, { unique: unique(span) })).toBe(id);
      await expect(insert(database, { unique: { ...span, key: 'k' } })).rejects.toMatchObject({
        code: 'TASK_DUPLICATE',
        id,
        key: 'k',
      });
      const other = await insert(database, { unique: unique({ ...span, key: 'K' }) });
      expect(idsOf(await access.inserted(undefined))).toEqual([id, other]);
    },
  );

  contract('a refused task leaves the transaction of the application as it was', async () => {
    const { database, access, inTransaction } = await open();
    const id = await insert(database, { unique: 'k' });
    const other = await inTransaction(async (tx) => {
      const insertIn = (input: TaskInput) => database.inserts.insert(encode(input), tx);
      await expect(insertIn({ unique: 'k' })).rejects.toMatchObject({ code: 'TASK_DUPLICATE', id });
      return insertIn({ unique: 'other' });
    });
    expect(idsOf(await access.inserted(undefined))).toEqual([id, other]);
  });

  contract('a key is free when its task has succeeded; that of a window is not', async () => {
    const { database } = await open();
    const worker = await register(database);
    for (const span of spans) {
      const claimed = await claimNew(database, worker, { unique: unique(span) });
      await complete(worker, claimed);
      const next = await insert(database, { unique: unique(span) });
      expect(next === claimed.id).toBe('window' in span);
      await claimAll(worker);
    }
  });

  contract('a running task has its key while it lives; one of a task that waits is free', async () => {
    const { database } = await open();
    const worker = await register(database);
    const live = await claimNew(database, worker, { unique: unique() });
    expect(await insert(database, { unique: unique() })).toBe(live.id);
    const started = await claimNew(database, worker, { unique: unique({ while: 'pending' }) });
    expect(await insert(database, { unique: unique({ while: 'pending' }) })).not.toBe(started.id);
  });

  contract(
    'a task that failed has its key for its next attempt, and gives it back when it gives up',
    async () => {
      const { database, access } = await open();
      const worker = await register(database);
      const claimed = await claimNew(database, worker, { unique: unique() });
      await endBadly(database, worker, claimed, { kind: 'after-failure', delayMs: 0 });
      expect(await insert(database, { unique: unique() })).toBe(claimed.id);
      expect(await database.inserts.insertMany([encode({ unique: unique() })])).toEqual([claimed.id]);
      await database.attempts.promote(10);
      const [second] = await claimAll(worker);
      if (!second) throw new Error('the next attempt is not claimed');
      await endBadly(database, worker, second);
      expect(await read(access, await insert(database, { unique: unique() }))).toMatchObject({ attempt: 1 });
    },
  );

  contract('a task that started may fail and wait again beside the next one of its key', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker, { unique: unique({ while: 'pending' }) });
    const next = await insert(database, { unique: unique({ while: 'pending' }) });
    await endBadly(database, worker, claimed, { kind: 'after-failure', delayMs: 0 });
    expect(await insert(database, { unique: unique({ while: 'pending' }) })).toBe(next);
    expect((await read(access, claimed.id)).status).toBe('failed');
  });

  contract(
    'a replay of a task that had started takes its key from none; one of a window keeps it',
    async () => {
      const { database } = await open();
      const worker = await register(database);
      const waiting = unique({ while: 'pending' });
      const started = await claimNew(database, worker, { unique: waiting });
      await endBadly(database, worker, started);
      const replayed = (await database.admin.retry(started.id)) ?? '';
      const next = await insert(database, { unique: waiting });
      expect([started.id, replayed]).not.toContain(next);
      const both = await claimAll(worker);
      // Beside the dead task that the first one has left.
      expect(idsOf(both)).toEqual(expect.arrayContaining([replayed, next]));
      const twin = await insert(database, { unique: waiting });
      await endBadly(
        database,
        worker,
        both.find(({ id }) => id === replayed)!,
      );
      const again = (await database.admin.retry(replayed)) ?? '';
      expect(again).not.toBe('');
      expect(await insert(database, { unique: waiting })).toBe(twin);
      expect(idsOf(await claimAll(worker))).toEqual(expect.arrayContaining([twin, again]));

      const periodic = unique({ key: 'w', window: 'today' });
      const failed = await claimNew(database, worker, { unique: periodic });
      await endBadly(database, worker, failed);
      expect(await insert(database, { unique: periodic })).toBe(failed.id);
      const restarted = await database.admin.retry(failed.id);
      expect(restarted).toBeDefined();
      expect(await insert(database, { unique: periodic })).toBe(failed.id);
      expect(idsOf(await claimAll(worker))).toContain(restarted);
    },
  );

  contract('a task takes the place of one that has not started, and of no other', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const replace = unique({ while: 'pending', onConflict: 'replace' });
    const id = await insert(database, { payload: 1, delayMs: 3_600_000, unique: replace });
    const runAt = new Date(Date.now() + 7_200_000);
    const changed = {
      topic: 'b',
      payload: 2,
      runAt,
      priority: 7,
      origin: 'x',
      metadata: { n: 1 },
      unique: replace,
    };
    expect(await insert(database, changed)).toBe(id);
    expect(await read(access, id)).toMatchObject({
      status: 'scheduled',
      topic: 'b',
      payload: '2',
      dueAt: runAt,
      firstDueAt: runAt,
      priority: 7,
      origin: 'x',
      metadata: { n: 1 },
    });
    expect(await insert(database, { payload: 3, unique: replace })).toBe(id);
    expect(await read(access, id)).toMatchObject({
      status: 'pending',
      topic: 'a',
      payload: '3',
      priority: 50,
    });
    expect(idsOf(await claimAll(worker))).toEqual([id]);
    const next = await insert(database, { payload: 4, unique: replace });
    expect(next).not.toBe(id);
    expect(await read(access, id)).toMatchObject({ status: 'processing', payload: '3' });
  });

  contract('among many tasks those whose keys are taken answer the others, in their places', async () => {
    const { database, access } = await open();
    const taken = await insert(database, { unique: unique({ key: 'b' }) });
    const many = ['c', undefined, 'b', 'a', undefined, 'c'].map((key) =>
      encode({ payload: key, unique: key === undefined ? null : unique({ key }) }),
    );
    const ids = await database.inserts.insertMany(many);
    expect(ids[2]).toBe(taken);
    expect(ids[5]).toBe(ids[0]);
    expect(new Set(ids).size).toBe(5);
    const payloads = await Promise.all(ids.map(async (id) => (await read(access, id)).payload));
    expect(payloads).toEqual(['c', null, null, 'a', null, 'c']);
    expect(await database.inserts.insertMany(many.filter((task) => task.unique))).toEqual(
      ids.filter((_, index) => many[index]?.unique),
    );
  });

  contract('of many that insert a key at the same time one inserts it', async () => {
    const { database, access } = await open();
    for (const span of spans) {
      const ids = await Promise.all(
        Array.from({ length: 16 }, (_, n) =>
          n % 2 === 0
            ? insert(database, { unique: unique(span) })
            : database.inserts.insertMany([encode({ unique: unique(span) })]).then(([id]) => id),
        ),
      );
      expect(new Set(ids).size).toBe(1);
    }
    expect(await access.inserted(undefined)).toHaveLength(spans.length);
  });

  contract(
    'whatever happens to tasks of a key, one that has not started is replaced, and no other',
    async () => {
      const opened = await open();
      const steps = fc.array(fc.constantFrom(...replaceSteps), { minLength: 2, maxLength: 12 });
      let run = 0;
      await fc.assert(
        fc.asyncProperty(steps, async (taken) => {
          run += 1;
          await followReplaced(opened, taken, `run-${run}`);
        }),
        { numRuns: 30 },
      );
    },
  );
}

const replaceSteps = ['replace', 'replace', 'claim', 'release', 'complete', 'fail'] as const;

/** Takes steps with tasks of one key and topic; after each the table says what is known of them. */
async function followReplaced(
  { database, access }: OpenedDatabase,
  steps: readonly (typeof replaceSteps)[number][],
  topic: string,
): Promise<void> {
  const worker = await register(database);
  const payloads = new Map<string, string>();
  let waiting: string | undefined;
  let running: readonly ClaimedTask[] = [];
  for (const [index, step] of steps.entries()) {
    const [first, ...others] = running;
    if (step === 'replace') {
      const payload = `${index}`;
      const replacing = unique({ key: topic, while: 'pending', onConflict: 'replace' });
      const id = await insert(database, { topic, payload, unique: replacing });
      if (waiting === undefined) expect([...payloads.keys()]).not.toContain(id);
      else expect(id).toBe(waiting);
      payloads.set(id, payload);
      waiting = id;
    } else if (step === 'claim') {
      const claimed = await claimAll(worker, [topicRoute(topic)]);
      if (waiting !== undefined) expect(idsOf(claimed)).toContain(waiting);
      for (const { id, payload } of claimed) if (payloads.has(id)) expect(payload).toBe(payloads.get(id));
      running = [...running, ...claimed];
      waiting = undefined;
    } else if (first) {
      running = others;
      if (step === 'release') await database.attempts.releaseMany(worker.id, [first]);
      else if (step === 'complete') await complete(worker, first);
      else await endBadly(database, worker, first, { kind: 'after-failure', delayMs: 0 });
    }
    for (const [id, payload] of payloads) expect((await read(access, id)).payload).toBe(payload);
  }
}
