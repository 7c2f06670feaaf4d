import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { QueueEvents, QueueModule, QueueWorker, TaskHandler } from '../../../lib/index.js';
import { withoutRoutines } from '../queue-app.js';

/**
 * Starts a worker on the queue `tasks` in `DATABASE_URL` and measures itself until as many tasks have ended, or as
 * many have been claimed, as the arguments say: `completed 10000` or `claimed 10`.
 */
const [what = '', count = ''] = process.argv.slice(2);
const event = what === 'completed' ? 'task.completed' : 'task.claimed';

class Handlers {
  @TaskHandler('nothing')
  nothing(): void {}

  @TaskHandler('never ends')
  neverEnds(): Promise<void> {
    return new Promise(() => undefined);
  }
}

@Module({ providers: [Handlers] })
class HandlersModule {}

@Module({
  imports: [
    HandlersModule,
    QueueModule.forRoot({
      connection: process.env['DATABASE_URL'],
      queue: 'tasks',
      autoStart: false,
      shutdownTimeoutMs: 0,
      ...withoutRoutines,
    }),
  ],
})
class DrainApp {}

const app = await NestFactory.createApplicationContext(DrainApp, { logger: ['error'] });
const peakBefore = peakBytes();
let left = Number(count);
const finished = new Promise<void>((resolve) => {
  app.get(QueueEvents).on(event, () => {
    left -= 1;
    if (left === 0) resolve();
  });
});
const turns = measureTurns();
await app.get(QueueWorker, { strict: false }).start();
await finished;
// A claim of everything would go on for a while.
await new Promise((resolve) => setTimeout(resolve, 500));
process.send?.({
  type: 'measured',
  ...turns.stop(),
  grownBytes: peakBytes() - peakBefore,
});
process.once('disconnect', () => process.exit());

function peakBytes(): number {
  return process.resourceUsage().maxRSS * 1024;
}

/**
 * How long the event loop keeps a timer waiting at most, and how long it works in all: in processor time, so that what the machine
 * gives to others meanwhile does not count.
 */
function measureTurns(): { readonly stop: () => { readonly longestMs: number; readonly totalMs: number } } {
  const began = process.cpuUsage();
  let before = began;
  let longest = 0;
  const note = (): void => {
    const now = process.cpuUsage();
    longest = Math.max(longest, now.user + now.system - before.user - before.system);
    before = now;
  };
  const timer = setInterval(note, 5);
  return {
    stop: () => {
      clearInterval(timer);
      note();
      const { user, system } = process.cpuUsage(began);
      return { longestMs: longest / 1e3, totalMs: (user + system) / 1e3 };
    },
  };
}
