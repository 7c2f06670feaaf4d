import { CronJob } from 'cron';
import type { SchedulerRegistry } from '@nestjs/schedule';
import type { QueueEvents } from '../events.js';

/** A routine and the minutes of the hour at which it runs. */
export interface ScheduledRoutine {
  readonly name: 'retry' | 'notify' | 'purge';
  readonly minutes: readonly number[];
  /** Returns how many rows it changed, undefined when another worker runs it now. */
  readonly run: () => Promise<number | undefined>;
  /** Lets a round under way end early. */
  readonly cutShort?: () => void;
}

/**
 * Runs the routines at their minutes. The jobs stand in the application's own scheduler registry where it has
 * one, so that they can be listed there; the library never imports `ScheduleModule` itself.
 */
export class RoutinesScheduler {
  readonly #registry: SchedulerRegistry;
  readonly #events: QueueEvents;
  readonly #queue: string;
  readonly #jobs = new Map<string, CronJob>();
  readonly #ticks = new Set<Promise<void>>();
  #routines: readonly ScheduledRoutine[] = [];

  constructor(registry: SchedulerRegistry, events: QueueEvents, queue: string) {
    this.#registry = registry;
    this.#events = events;
    this.#queue = queue;
  }

  start(routines: readonly ScheduledRoutine[]): void {
    this.#routines = routines;
    for (const routine of routines) if (routine.minutes.length > 0) this.#schedule(routine);
  }

  /** Stops the jobs and waits for a round under way. Idempotent. */
  async stop(): Promise<void> {
    for (const [name, job] of this.#jobs) {
      await job.stop();
      if (this.#registry.doesExist('cron', name)) this.#registry.deleteCronJob(name);
    }
    this.#jobs.clear();
    for (const { cutShort } of this.#routines) cutShort?.();
    await Promise.all(this.#ticks);
  }

  #schedule(routine: ScheduledRoutine): void {
    const name = `tarefa:${this.#queue}:${routine.name}`;
    const job = CronJob.from({
      name,
      cronTime: `0 ${routine.minutes.join(',')} * * * *`,
      onTick: () => this.#tick(routine),
      waitForCompletion: true,
    });
    this.#registry.addCronJob(name, job);
    this.#jobs.set(name, job);
    job.start();
  }

  /** A routine that fails is reported and runs again at its next turn. */
  async #tick(routine: ScheduledRoutine): Promise<void> {
    const start = performance.now();
    const tick = routine.run().then(
      (affected) => {
        if (affected === undefined) return;
        const durationMs = Math.round(performance.now() - start);
        this.#events.emit('routine.finished', { routine: routine.name, affected, durationMs });
      },
      (error: unknown) => this.#events.emit('routine.failed', { routine: routine.name, error }),
    );
    this.#ticks.add(tick);
    await tick;
    this.#ticks.delete(tick);
  }
}
