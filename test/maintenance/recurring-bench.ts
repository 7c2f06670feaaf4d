import type { INestApplicationContext } from '@nestjs/common';
import type { QueueCore } from '../../lib/assembly/core.js';
import type { QueueAdmin, TaskRecord } from '../../lib/index.js';
import { defaultQueueName, getPartToken } from '../../lib/options/part-token.js';
import { occurrenceKey, scheduleKey, type ScheduleStore } from '../../lib/storage/schedules.js';

/** What a queue of an application is made of. */
export function coreOf(app: Pick<INestApplicationContext, 'get'>): QueueCore {
  return app.get<QueueCore>(getPartToken(defaultQueueName, 'core'), { strict: false });
}

/** As if a schedule had last been looked at so long ago; answers the time that is due since. */
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
