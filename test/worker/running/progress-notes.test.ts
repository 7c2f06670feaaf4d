import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import type { QueueEvents } from '../../../lib/events.js';
import type { ProgressNote } from '../../../lib/storage/attempt.js';
import { ProgressNotes, type NotedAttempt } from '../../../lib/worker/running/progress-notes.js';
import { holdTimers } from '../../support/held-timers.js';

function openNotes(write: (notes: readonly ProgressNote[]) => Promise<void> = async () => {}) {
  const timers = holdTimers((ms) => ms === 0 || ms === 1_000);
  const written: string[][] = [];
  const warnings: string[] = [];
  const events = new EventEmitter();
  events.on('warning', ({ message }: { message: string }) => void warnings.push(message));
  const attempts = {
    noteProgress: (_: string, notes: readonly ProgressNote[]) => {
      written.push(notes.map(({ id, reservation, message }) => `${id}/${reservation} ${message}`));
      return write(notes);
    },
  };
  const database = { attempts } as unknown as ConstructorParameters<typeof ProgressNotes>[1];
  const notes = new ProgressNotes('9', database, events as unknown as QueueEvents);
  const ring = async (): Promise<void> => {
    timers.ringFirst();
    await new Promise(setImmediate);
  };
  return { notes, timers, written, warnings, ring };
}

function attemptOf(id: string): NotedAttempt & { ended: boolean } {
  return { claimed: { id, reservation: 2 }, ended: false };
}

test('the first word is written at once, of those that follow the last one of each attempt a second later', async () => {
  const { notes, timers, written, ring } = openNotes();
  const [one, other] = [attemptOf('1'), attemptOf('2')];
  expect(timers.waiting).toBe(0);
  notes.add(one, 'a');
  await ring();
  for (const word of ['b', 'c', 'd']) notes.add(one, word);
  notes.add(other, 'x');
  expect(timers.waiting).toBe(1);
  await ring();
  expect(written).toEqual([['1/2 a'], ['1/2 d', '2/2 x']]);
  await ring();
  expect([timers.waiting, timers.asked]).toEqual([0, [0, 1_000, 1_000]]);
  notes.add(one, 'e');
  await ring();
  expect(written.at(-1)).toEqual(['1/2 e']);
});

test('nothing is written of a handler that has ended', async () => {
  const { notes, timers, written, ring } = openNotes();
  const attempt = attemptOf('1');
  notes.add(attempt, 'a');
  attempt.ended = true;
  await ring();
  notes.add(attempt, 'b');
  expect([written, timers.waiting]).toEqual([[], 0]);
});

test('a write that fails is told once, and the next one follows', async () => {
  let isRefused = true;
  const { notes, warnings, written, ring } = openNotes(async () => {
    if (isRefused) throw new Error('no');
  });
  const attempt = attemptOf('1');
  for (const word of ['a', 'b']) {
    notes.add(attempt, word);
    await ring();
  }
  expect(warnings).toEqual([
    'the progress of handlers could not be saved: no. They keep running, and later progress will still be saved',
  ]);
  isRefused = false;
  notes.add(attempt, 'c');
  await ring();
  isRefused = true;
  notes.add(attempt, 'd');
  await ring();
  expect([written.length, warnings.length]).toEqual([4, 2]);
});
