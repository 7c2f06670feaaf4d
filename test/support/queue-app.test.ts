import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { afterAll, expect, test } from 'vitest';
import { createDatabase } from './database.js';
import { startApp, type QueueAppOptions } from './queue-app.js';

const database = await createDatabase();

afterAll(() => database.drop());

test.each<readonly [string, QueueAppOptions, readonly string[]]>([
  ['none by default', {}, []],
  ['one whose minutes are given', { notifyMinutes: [7] }, ['notify']],
  ['all of them where they are asked for', { routines: true }, ['notify', 'purge', 'retry']],
])('routines that run by the clock: %s', async (_, options, expected) => {
  const { app, close } = await startApp(database, { imports: [ScheduleModule.forRoot()], ...options });
  const jobs = [...app.get(SchedulerRegistry).getCronJobs().keys()];
  expect(jobs.sort()).toEqual(expected.map((routine) => `tarefa:default:${routine}`));
  await close();
});
