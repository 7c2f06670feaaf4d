import { expect } from 'vitest';
import type { QueueAdmin, TaskRecord } from '../../lib/index.js';
import {
  occurrenceKey,
  scheduleKey,
  type ScheduleStore,
  type ScheduleValues,
} from '../../lib/storage/schedules.js';

const missedRules = ['skip', 'once', 'all'] as const;

/** Declares schedules as code does at a start, with the next times that they have here. */
export async function declare(
  store: ScheduleStore,
  schedules: readonly ScheduleValues[],
): Promise<{ readonly written: readonly string[]; readonly foreign: readonly string[] }> {
  const { unwritten, foreign } = await store.compare(schedules);
  const nextAt = new Map(schedules.map((one) => [one.id, one.nextAt]));
  const values = unwritten.map((one) => ({ ...one, nextAt: nextAt.get(one.id) ?? null }));
  return { written: await store.declare(values), foreign };
}

/** As if a schedule had last been looked at so long ago; returns the time that is due since. */
export async function rewind(schedules: ScheduleStore, id: string, ms: number): Promise<number> {
  const found = await schedules.find(id);
  if (!found) throw new Error(`there is no schedule ${id}`);
  const nextMs = Math.floor(((await schedules.clock()) - ms) / 1_000) * 1_000;
  await schedules.move([{ id, revision: found.revision, nextMs, missed: 0, tasks: [], lastMs: undefined }]);
  return nextMs;
}

/** What a schedule has made, oldest first. */
export async function madeBy(admin: QueueAdmin, id: string): Promise<readonly TaskRecord[]> {
  const tasks: TaskRecord[] = [];
  let after: string | undefined;
  do {
    const page = await admin.list({}, { limit: 1_000, ...(after === undefined ? {} : { after }) });
    tasks.push(...page.tasks.filter(({ metadata }) => metadata?.[scheduleKey] === id));
    after = page.next;
  } while (after !== undefined);
  return tasks.reverse();
}

/** The times that these tasks were made for, in ms. */
export function timesOf(tasks: readonly TaskRecord[]): readonly number[] {
  return tasks.map(({ metadata }) => Date.parse(String(metadata?.[occurrenceKey])));
}

/** Adds a schedule of every second for each rule of what is missed, all from the same time on; returns that time. */
export async function addTickers({ schedules }: QueueAdmin, topic: string): Promise<number> {
  // Later than the last one is added.
  const startsAt = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 2_000);
  for (const missed of missedRules) {
    await schedules.add({ id: missed, every: 1_000, startsAt, missed, task: { topic, payload: {} } });
  }
  return startsAt.getTime();
}

/** Checks that of the times of {@link addTickers} each has made one task, or was counted as missed; returns these numbers. */
export async function ticksOf(
  admin: QueueAdmin,
  fromMs: number,
): Promise<
  Readonly<Record<(typeof missedRules)[number], { readonly made: number; readonly missed: number }>>
> {
  const counts = { skip: { made: 0, missed: 0 }, once: { made: 0, missed: 0 }, all: { made: 0, missed: 0 } };
  for (const id of missedRules) {
    const { nextAt, missed } = (await admin.schedules.find(id)) ?? { nextAt: null, missed: 0 };
    const all = Array.from(
      { length: ((nextAt?.getTime() ?? 0) - fromMs) / 1_000 },
      (_, n) => fromMs + n * 1_000,
    );
    const made = timesOf(await madeBy(admin, id));
    expect(made).toEqual(all.filter((time) => made.includes(time)));
    expect({ id, decided: made.length + missed }).toEqual({ id, decided: all.length });
    counts[id] = { made: made.length, missed };
  }
  return counts;
}
