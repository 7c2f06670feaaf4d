import 'reflect-metadata';
import { setTimeout } from 'node:timers/promises';
import { Injectable, Module } from '@nestjs/common';
import { Cron, Interval, ScheduleModule, SchedulerRegistry, Timeout } from '@nestjs/schedule';
import { QueueModule, TaskHandler } from '../../../lib/index.js';

/** An isolated handler beside jobs, which run in the application and not here. */
@Injectable()
export class Scheduled {
  private ticks = 0;

  constructor(private readonly registry: SchedulerRegistry) {}

  @Cron('* * * * * *', { name: 'report' })
  report(): void {}

  @Cron('* * * * * *', { name: 'later report', initialDelay: 3_600_000 })
  laterReport(): void {}

  @Interval('tick', 1)
  tick(): void {
    this.ticks += 1;
  }

  @Timeout('once', 3_600_000)
  once(): void {}

  /** What is left of them here, and how often the shortest one has run meanwhile. */
  @TaskHandler('jobs', { isolate: 'thread', maxAttempts: 1 })
  async jobs(): Promise<object> {
    const before = this.ticks;
    for (let waited = 0; waited < 5; waited += 1) await setTimeout(1);
    const { registry } = this;
    const listed = [...registry.getCronJobs().keys(), ...registry.getIntervals(), ...registry.getTimeouts()];
    return { listed, ticked: this.ticks - before };
  }
}

@Module({
  imports: [
    ScheduleModule.forRoot(),
    QueueModule.forRootAsync({
      useFactory: () => ({ connection: process.env['ISOLATED_URL'] ?? '', queue: 'tasks' }),
    }),
  ],
  providers: [Scheduled],
})
export class ScheduledModule {}
