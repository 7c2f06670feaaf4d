import type { Bell, BellTopic } from '../coordination/bell.js';
import type { EndAnnouncer } from '../coordination/end-announcer.js';
import type { Ring } from '../coordination/ring.js';
import type { QueueEvents } from '../events.js';
import type { RecurringTasks } from '../maintenance/recurring-tasks.js';
import type { Recovery } from '../maintenance/recovery.js';
import type { UnservedWatch } from '../maintenance/unserved-watch.js';
import { errorText } from '../observability/error-text.js';
import type { WorkerId } from '../storage/attempt.js';
import { unheardPollMs } from './agenda.js';
import type { Dispatcher } from './dispatcher.js';
import type { HaltOrder } from './halt-order.js';

export interface ListeningParts {
  readonly bell: Bell;
  readonly ends: Pick<EndAnnouncer, 'expect'>;
  readonly recovery: Pick<Recovery, 'postpone'>;
  readonly unserved: Pick<UnservedWatch, 'expect'>;
  readonly recurring: Pick<RecurringTasks, 'look'>;
  readonly options: { readonly wake: 'listen' | 'kill' | 'poll' };
  readonly events: QueueEvents;
}

/** The worker that listens. */
export interface Listener {
  readonly id: WorkerId;
  readonly dispatcher: Pick<Dispatcher, 'heard' | 'hears'>;
  readonly halt: Pick<HaltOrder, 'notified'>;
  /** True when another worker of this process tells that neither hears anything. */
  readonly isSilent: boolean;
}

/** What a worker hears of others. It works without that: where it is not let, it polls, and says so. */
export class Listening {
  readonly #parts: ListeningParts;
  readonly #refused = new Set<BellTopic>();
  #stops: (() => Promise<void>)[] = [];

  constructor(parts: ListeningParts) {
    this.#parts = parts;
  }

  /** Listens, where that is possible at all. */
  async start(listener: Listener): Promise<void> {
    const { bell, ends, recovery, options } = this.#parts;
    if (!bell.canListen) return;
    const changed =
      (topic: BellTopic) =>
      (refusal: unknown): void =>
        this.#changed(topic, refusal, listener);
    if (options.wake !== 'poll') {
      const heard = (ring: Ring): void => {
        if (ring.halt) return listener.halt.notified();
        const isServed = listener.dispatcher.heard(ring);
        if (ring.changed) this.#parts.recurring.look();
        if (!isServed) this.#parts.unserved.expect();
      };
      this.#stops.push(await bell.listen('tasks', heard, changed('tasks')));
    }
    this.#stops.push(
      await bell.listen('waits', (awaited) => ends.expect(awaited), changed('waits')),
      await bell.listen(
        'looks',
        (looker) => {
          if (looker !== listener.id) recovery.postpone(Number(looker) < Number(listener.id));
        },
        changed('looks'),
      ),
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.#stops.splice(0).map((stop) => stop()));
  }

  #changed(topic: BellTopic, refusal: unknown, { dispatcher, isSilent }: Listener): void {
    const before = this.#refused.size;
    if (refusal === undefined) this.#refused.delete(topic);
    else this.#refused.add(topic);
    if (topic === 'tasks') {
      dispatcher.hears(refusal === undefined);
      // What was rung meanwhile was not heard.
      if (refusal === undefined) this.#parts.recurring.look();
    }
    const isNews = (before === 0) !== (this.#refused.size === 0);
    if (isNews && !isSilent) this.#tell(refusal);
  }

  #tell(refusal: unknown): void {
    const { events, options } = this.#parts;
    if (refusal === undefined) {
      events.emit('notice', { message: 'this worker can listen again' });
      return;
    }
    const polls =
      options.wake === 'poll'
        ? 'It polls, as it is told to'
        : `Until then it looks for tasks every ${unheardPollMs} ms at least`;
    events.emit('warning', {
      message: `this worker cannot listen, and tries again: ${errorText(refusal)}. ${polls}`,
    });
  }
}
