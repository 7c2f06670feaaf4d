import { expect } from 'vitest';
import type { Claim, RetryTime } from '../../../lib/storage/attempt.js';
import { isolatedRoute, topicRoute } from '../../../lib/storage/route.js';
import { failureOf } from '../../support/queue-storage.js';
import { contract, contractOfEach } from './contract-test.js';
import {
  claimAll,
  claimNew,
  complete,
  idsOf,
  insert,
  read,
  register,
  wrongClaims,
  type OpenDatabase,
  type OpenedDatabase,
} from './opened.js';

const a = topicRoute('a');
const never = { kind: 'never' } as const;
const hour = 3_600_000;

/** What every database promises of `AttemptStore`, but for publications and for what idle workers ask. */
export function exerciseAttempts(open: OpenDatabase): void {
  contract('a failed attempt that is tried again is followed by the next attempt', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker, { payload: 'text', externalKey: 'one', priority: 7 });
    const next = { kind: 'after-failure', delayMs: hour } as const;
    const failure = failureOf(claimed.id, worker.id, { next, message: 'boom', error: 'boom\n  at …' });
    const [outcome] = await database.attempts.failMany([failure]);
    expect(outcome).toMatchObject({ id: claimed.id, deadId: undefined });
    expect(outcome?.nextAttemptInMs).toBeGreaterThan(hour - 30_000);
    const [first, second, ...others] = await access.attempts(claimed.id);
    expect(others).toEqual([]);
    expect(first).toMatchObject({
      status: 'failed',
      message: 'boom (will be tried again)',
      error: 'boom\n  at …',
      retried: true,
      exhausted: false,
      nextAttemptAt: second?.dueAt,
    });
    expect(second).toMatchObject({
      status: 'scheduled',
      attempt: 2,
      firstAttemptId: claimed.id,
      firstDueAt: first?.firstDueAt,
      payload: 'text',
      externalKey: 'one',
      priority: 7,
      dead: false,
    });
  });

  contract('an attempt that is snoozed waits for its time as it is, and runs again then', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker, { payload: 'text' });
    const runAt = new Date(Date.now() + 2 * hour);
    const until = (next: RetryTime) => ({
      ...failureOf(claimed.id, worker.id, { next, message: 'not yet' }),
      reservation: claimed.reservation,
      snoozed: true as const,
    });
    expect(await database.attempts.snoozeMany([until({ kind: 'at', date: runAt })])).toEqual([
      expect.objectContaining({ id: claimed.id, snoozed: true }),
    ]);
    const [only, ...others] = await access.attempts(claimed.id);
    expect(others).toEqual([]);
    expect(only).toMatchObject({
      status: 'scheduled',
      attempt: 1,
      message: 'not yet',
      payload: 'text',
      dueAt: runAt,
      startedAt: null,
      retried: false,
      exhausted: false,
    });
    // It is nobody's now.
    expect(await database.attempts.snoozeMany([until({ kind: 'after-failure', delayMs: 0 })])).toEqual([]);
    expect(await database.attempts.failMany([failureOf(claimed.id, worker.id)])).toEqual([]);
  });

  contract('an attempt that is snoozed for no time is claimed again, with the same number', async () => {
    const { database } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    const next = { kind: 'after-failure', delayMs: 0 } as const;
    const [outcome] = await database.attempts.snoozeMany([
      { ...failureOf(claimed.id, worker.id, { next }), reservation: claimed.reservation, snoozed: true },
    ]);
    expect(outcome?.nextAttemptInMs).toBeLessThanOrEqual(0);
    await database.attempts.promote(10);
    const [again] = await claimAll(worker);
    expect(again).toMatchObject({
      id: claimed.id,
      reservation: claimed.reservation + 1,
      task: { attempt: 1 },
    });
  });

  contract('progress stands in the message of a running attempt, and in no other', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const [claimed, ended] = [await claimNew(database, worker), await claimNew(database, worker)];
    await complete(worker, ended);
    const noteOf = ({ id, reservation }: Claim) => ({ id, reservation, message: `${'é'.repeat(499)}🦄` });
    await database.attempts.noteProgress(worker.id, [noteOf(claimed), noteOf(ended)]);
    expect(await read(access, claimed.id)).toMatchObject({
      status: 'processing',
      message: noteOf(claimed).message,
    });
    expect(await read(access, ended.id)).toMatchObject({ status: 'succeeded', message: 'completed' });
    await complete(worker, claimed);
    expect(await read(access, claimed.id)).toMatchObject({ status: 'succeeded', message: 'completed' });
  });

  contract('progress does not take the place of why a running attempt was cancelled', async () => {
    const { database } = await open();
    const worker = await register(database);
    const { id, reservation } = await claimNew(database, worker);
    await database.admin.cancel({ ids: [id] }, { by: 'ann', message: 'off' });
    await database.attempts.noteProgress(worker.id, [{ id, reservation, message: 'half' }]);
    const [outcome] = await database.attempts.failMany([{ ...failureOf(id, worker.id), reservation }]);
    expect(outcome?.cancelled).toEqual({ by: 'ann', message: 'off' });
  });

  contractOfEach(wrongClaims, ({ name }) => name)('progress is not written by %s', async ({ of }) => {
    const { database, access } = await open();
    const [holder, other] = [await register(database), await register(database)];
    const claimed = await claimNew(database, holder);
    const { claim, workerId } = of(claimed, holder.id, other.id);
    await database.attempts.noteProgress(workerId, [{ ...claim, message: 'half' }]);
    expect(await read(access, claimed.id)).toMatchObject({ status: 'processing', message: null });
  });

  contractOfEach(wrongClaims, ({ name }) => name)('an attempt is not snoozed by %s', async ({ of }) => {
    const { database, access } = await open();
    const [holder, other] = [await register(database), await register(database)];
    const claimed = await claimNew(database, holder);
    const { claim, workerId } = of(claimed, holder.id, other.id);
    const next = { kind: 'after-failure', delayMs: hour } as const;
    const wrong = {
      ...failureOf(claim.id, workerId, { next }),
      reservation: claim.reservation,
      snoozed: true as const,
    };
    expect(await database.attempts.snoozeMany([wrong])).toEqual([]);
    expect((await read(access, claimed.id)).status).toBe('processing');
  });

  contract('the next attempt is due after the failure, after the attempt was due, or at a time', async () => {
    const { database } = await open();
    const worker = await register(database);
    const runAt = new Date(Date.now() - 2 * hour);
    const [failed, due, dated] = [
      await claimNew(database, worker, { runAt }),
      await claimNew(database, worker, { runAt }),
      await claimNew(database, worker, { runAt }),
    ];
    const at = { kind: 'at', date: new Date(Date.now() + 3 * hour) } as const;
    const outcomes = await database.attempts.failMany([
      failureOf(failed.id, worker.id, { next: { kind: 'after-failure', delayMs: hour } }),
      failureOf(due.id, worker.id, { next: { kind: 'after-due', delayMs: hour } }),
      failureOf(dated.id, worker.id, { next: at }),
    ]);
    const hoursOf = (id: string): number =>
      Math.round((outcomes.find((one) => one.id === id)?.nextAttemptInMs ?? Number.NaN) / hour);
    expect([failed, due, dated].map(({ id }) => hoursOf(id))).toEqual([1, -1, 3]);
  });

  contract('a task without attempts left is buried: its dead chain starts with its payload', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker, { payload: 'text', metadata: { by: 'me' } });
    const [outcome] = await database.attempts.failMany([failureOf(claimed.id, worker.id, { next: never })]);
    expect(outcome).toMatchObject({ id: claimed.id, nextAttemptInMs: undefined });
    expect(await access.attempts(claimed.id)).toMatchObject([
      {
        status: 'failed',
        message: 'boom (no attempts left)',
        retried: false,
        exhausted: true,
        nextAttemptAt: null,
      },
    ]);
    expect(await read(access, outcome?.deadId ?? '')).toMatchObject({
      status: 'pending',
      attempt: 1,
      dead: true,
      liveId: claimed.id,
      payload: 'text',
      metadata: { by: 'me' },
    });
  });

  contract('a dead chain is tried again like others, and never followed by another one', async () => {
    const { database } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    await database.attempts.failMany([failureOf(claimed.id, worker.id, { next: never })]);
    const [dead] = await claimAll(worker);
    await database.attempts.failMany([failureOf(dead?.id ?? '', worker.id)]);
    await database.attempts.promote(10);
    const [again] = await claimAll(worker);
    expect(again?.task).toMatchObject({ dead: true, attempt: 2, liveId: claimed.id });
    const last = failureOf(again?.id ?? '', worker.id, { next: never });
    expect(await database.attempts.failMany([last])).toMatchObject([{ deadId: undefined }]);
    expect(await claimAll(worker)).toEqual([]);
  });

  contract('a message is cut to 500 characters, its note is kept', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const { id } = await claimNew(database, worker);
    await database.attempts.failMany([failureOf(id, worker.id, { message: 'x'.repeat(600) })]);
    const { message } = await read(access, id);
    expect(message).toHaveLength(500);
    expect(message).toMatch(/x \(will be tried again\)$/);
  });

  contract('workers lost in a row are counted, and forgotten after another failure', async () => {
    const { database } = await open();
    const worker = await register(database);
    await insert(database);
    const seen: number[] = [];
    for (const lost of [true, false, true]) {
      const [claimed] = await claimAll(worker);
      seen.push(claimed?.losses ?? -1);
      const { id = '', losses = 0 } = claimed ?? {};
      await database.attempts.failMany([failureOf(id, worker.id, { losses, lost })]);
      await database.attempts.promote(10);
    }
    expect(seen).toEqual([0, 1, 0]);
  });

  contractOfEach(wrongClaims, ({ name }) => name)(
    '%s fails nothing, and is absent from the answer',
    async (wrong) => {
      const { database, access } = await open();
      const [holder, other] = [await register(database), await register(database)];
      const claimed = await claimNew(database, holder);
      const { claim, workerId } = wrong.of(claimed, holder.id, other.id);
      expect(await database.attempts.failMany([failureOf(claim.id, workerId, claim)])).toEqual([]);
      expect(await access.attempts(claimed.id)).toMatchObject([{ status: 'processing', message: null }]);
    },
  );

  contractOfEach(wrongClaims, ({ name }) => name)(
    '%s releases nothing, and is absent from the answer',
    async (wrong) => {
      const { database, access } = await open();
      const [holder, other] = [await register(database), await register(database)];
      const claimed = await claimNew(database, holder);
      const { claim, workerId } = wrong.of(claimed, holder.id, other.id);
      expect(await database.attempts.releaseMany(workerId, [claim])).toEqual([]);
      expect(await database.attempts.standing(holder.id, [claimed.id])).toMatchObject([holdOf(claimed)]);
      expect((await read(access, claimed.id)).status).toBe('processing');
    },
  );

  contract('what has ended is neither failed nor released', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    await complete(worker, claimed);
    expect(await database.attempts.failMany([failureOf(claimed.id, worker.id)])).toEqual([]);
    expect(await database.attempts.releaseMany(worker.id, [claimed])).toEqual([]);
    expect(await access.attempts(claimed.id)).toMatchObject([{ status: 'succeeded' }]);
  });

  contract('of failures of which some are lost, the others are written', async () => {
    const { database } = await open();
    const worker = await register(database);
    const [lost, kept] = [await claimNew(database, worker), await claimNew(database, worker)];
    await complete(worker, lost);
    const outcomes = await database.attempts.failMany([lost, kept].map(({ id }) => failureOf(id, worker.id)));
    expect(idsOf(outcomes)).toEqual([kept.id]);
  });

  contract('a released attempt waits as before, and has used none of its attempts', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const [released, kept] = [await claimNew(database, worker), await claimNew(database, worker)];
    expect(await database.attempts.releaseMany(worker.id, [released])).toEqual([released.id]);
    expect(await read(access, released.id)).toMatchObject({ status: 'pending', attempt: 1, startedAt: null });
    expect(idsOf(await database.attempts.heldBy(worker.id, 10))).toEqual([kept.id]);
    const [again] = await claimAll(await register(database));
    expect(again).toMatchObject({ id: released.id, task: { attempt: 1 } });
    expect(await database.attempts.failMany([failureOf(released.id, worker.id)])).toEqual([]);
  });

  contract('a running attempt is handed over to another worker, which has it by the same claim', async () => {
    const { database } = await open();
    const [from, to, stranger] = [
      await register(database),
      await register(database),
      await register(database),
    ];
    const claimed = await claimNew(database, from);
    const { attempts } = database;
    expect(await attempts.handOver(claimed, stranger.id, to.id)).toBe(false);
    expect(await attempts.handOver({ ...claimed, reservation: 9 }, from.id, to.id)).toBe(false);
    expect(idsOf(await attempts.heldBy(from.id, 10))).toEqual([claimed.id]);
    expect(await attempts.handOver(claimed, from.id, to.id)).toBe(true);
    // An answer that was lost is asked for again.
    expect(await attempts.handOver(claimed, from.id, to.id)).toBe(true);
    expect(await attempts.handOver({ ...claimed, reservation: 9 }, from.id, to.id)).toBe(false);
    expect([await attempts.heldBy(from.id, 10), idsOf(await attempts.heldBy(to.id, 10))]).toEqual([
      [],
      [claimed.id],
    ]);
    expect(await attempts.releaseMany(from.id, [claimed])).toEqual([]);
    await complete(to, claimed);
    expect(await attempts.readOutcome(to.id, claimed)).toBe('completed');
    expect(await attempts.handOver(claimed, from.id, to.id)).toBe(false);
  });

  contract('what has ended or was cancelled is not handed over', async () => {
    const { database } = await open();
    const [from, to] = [await register(database), await register(database)];
    const [ended, cancelled] = [await claimNew(database, from), await claimNew(database, from)];
    await complete(from, ended);
    await database.admin.cancel({ ids: [cancelled.id] }, { by: null, message: 'off' });
    for (const claimed of [ended, cancelled])
      expect(await database.attempts.handOver(claimed, from.id, to.id)).toBe(false);
    expect(idsOf(await database.attempts.heldBy(from.id, 10))).toEqual([cancelled.id]);
  });

  contract(
    'attempts that are due are made pending, the oldest first, and no more than the limit',
    async () => {
      const { database, access } = await open();
      const [third, second, first, later] = [
        await insert(database, { delayMs: 3_000 }),
        await insert(database, { delayMs: 2_000 }),
        await insert(database, { delayMs: 1_000 }),
        await insert(database, { delayMs: hour }),
      ];
      expect(await database.attempts.promote(10)).toMatchObject({ promoted: 0, earliestMs: undefined });
      await access.travel(10_000);
      expect(await database.attempts.promote(0)).toMatchObject({ promoted: 0 });
      const { promoted, nextDueInMs, isolated } = await database.attempts.promote(2);
      expect({ promoted, isolated }).toEqual({ promoted: 2, isolated: false });
      expect(nextDueInMs).toBeLessThan(0);
      const worker = await register(database);
      expect(idsOf(await claimAll(worker))).toEqual([first, second]);
      const rest = await database.attempts.promote(10);
      expect(rest.promoted).toBe(1);
      expect(rest.nextDueInMs).toBeGreaterThan(hour / 2);
      expect(idsOf(await claimAll(worker))).toEqual([third]);
      expect((await read(access, later)).status).toBe('scheduled');
    },
  );

  contract(
    'it is told since when the first promoted attempt was due, and when nothing is scheduled',
    async () => {
      const { database, access } = await open();
      await insert(database, { delayMs: 1_000 });
      const last = await insert(database, { delayMs: 2_000 });
      await access.travel(5_000);
      const { earliestMs, nextDueInMs } = await database.attempts.promote(10);
      expect(earliestMs).toBeLessThan((await read(access, last)).dueAt.getTime());
      expect(nextDueInMs).toBeUndefined();
    },
  );

  contract(
    'it is told that an attempt is to be run alone, when it becomes pending and while it waits',
    async () => {
      const { database } = await open();
      const worker = await register(database);
      const { id } = await claimNew(database, worker);
      await database.attempts.failMany([failureOf(id, worker.id, { losses: 1, lost: true })]);
      expect(await database.attempts.promote(10)).toMatchObject({ promoted: 1, isolated: true });
      expect((await database.attempts.promote(0)).isolated).toBe(true);
      await claimAll(worker, [isolatedRoute(a)]);
      expect((await database.attempts.promote(0)).isolated).toBe(false);
    },
  );

  contract('a payload is read wherever in its chain it is stored', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const { id } = await claimNew(database, worker, { payload: 'text' });
    await database.attempts.failMany([failureOf(id, worker.id)]);
    const [, second] = await access.attempts(id);
    expect(await database.attempts.loadPayload(second?.id ?? '')).toBe('text');
    expect(await database.attempts.loadPayload(await insert(database))).toBeNull();
  });

  /** One that runs, and was asked to stop. */
  async function cancelRunning({ database }: OpenedDatabase) {
    const worker = await register(database);
    const claimed = await claimNew(database, worker, { payload: 'text' });
    const cancelled = await database.admin.cancel({ ids: [claimed.id] }, { by: 'ann', message: 'off' });
    expect(cancelled).toMatchObject([{ id: claimed.id, runs: true }]);
    return { worker, claimed };
  }

  contract('a running attempt that was cancelled goes on, and its worker finds out', async () => {
    const opened = await open();
    const { database, access } = opened;
    const { worker, claimed } = await cancelRunning(opened);
    expect(await read(access, claimed.id)).toMatchObject({ status: 'processing', cancelledBy: null });
    const other = await claimNew(database, worker);
    const standing = await database.attempts.standing(worker.id, [claimed.id, other.id]);
    expect(new Map(standing.map(({ id, cancelled }) => [id, cancelled]))).toEqual(
      new Map([
        [claimed.id, true],
        [other.id, false],
      ]),
    );
    // Who was first stays.
    await database.admin.cancel({ ids: [claimed.id] }, { by: 'bob', message: 'me too' });
    const [outcome] = await database.attempts.failMany([failureOf(claimed.id, worker.id)]);
    expect(outcome?.cancelled).toEqual({ by: 'ann', message: 'off' });
  });

  const nexts = [
    ['tried again', { kind: 'after-failure', delayMs: hour }],
    ['tried again at a time', { kind: 'at', date: new Date() }],
    ['lost', never],
  ] as const;
  contractOfEach(nexts, ([name]) => name)(
    'a running attempt that was cancelled and would be %s ends cancelled: nothing follows it',
    async ([, next]) => {
      const opened = await open();
      const { database, access } = opened;
      const { worker, claimed } = await cancelRunning(opened);
      const failure = failureOf(claimed.id, worker.id, { next, message: 'boom', error: 'boom at …' });
      expect(await database.attempts.failMany([failure])).toEqual([
        {
          id: claimed.id,
          nextAttemptInMs: undefined,
          deadId: undefined,
          cancelled: { by: 'ann', message: 'off' },
        },
      ]);
      expect(await access.attempts(claimed.id)).toMatchObject([
        {
          status: 'cancelled',
          cancelledBy: 'ann',
          message: 'off',
          error: 'boom at …',
          retried: false,
          exhausted: false,
          nextAttemptAt: null,
          finishedAt: expect.any(Date) as unknown,
        },
      ]);
      expect(await database.admin.deadTasksOf(claimed.id)).toEqual([]);
    },
  );

  contract('a running attempt that was cancelled ends so when it is given back', async () => {
    const opened = await open();
    const { database, access } = opened;
    const { worker, claimed } = await cancelRunning(opened);
    expect(await database.attempts.releaseMany(worker.id, [claimed])).toEqual([claimed.id]);
    expect(await read(access, claimed.id)).toMatchObject({
      status: 'cancelled',
      cancelledBy: 'ann',
      message: 'off',
      finishedAt: expect.any(Date) as unknown,
    });
  });

  contract('a running attempt that was cancelled and succeeds anyway has succeeded', async () => {
    const opened = await open();
    const { worker, claimed } = await cancelRunning(opened);
    await complete(worker, claimed);
    expect(await read(opened.access, claimed.id)).toMatchObject({
      status: 'succeeded',
      cancelledBy: null,
      message: 'completed',
    });
  });
}

function holdOf({ id, reservation }: Claim): Claim {
  return { id, reservation };
}
