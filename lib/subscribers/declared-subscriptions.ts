import { TarefaError } from '../errors.js';
import type { QueueEvents } from '../events.js';
import type { DeclaredSubscription, SubscriptionRow } from '../storage/subscriptions.js';
import type { QueueDatabase } from '../storage/database.js';
import type { FoundHandler } from './subscriber.explorer.js';

/** A method decorated with `@Subscriber`. */
interface DeclaredHandler extends DeclaredSubscription {
  /** `Class.method`. */
  readonly name: string;
}

/** The queue that subscriptions are made in. */
export interface PreparedQueue {
  readonly database: Pick<QueueDatabase, 'subscriptions'>;
  readonly events: QueueEvents;
}

/** The subscriptions that handlers of this application declare, and their rows. */
export class DeclaredSubscriptions {
  readonly #queue: PreparedQueue;
  #all: readonly DeclaredHandler[] = [];

  constructor(queue: PreparedQueue) {
    this.#queue = queue;
  }

  /** True of a subscription whose row is made here. */
  has(id: string): boolean {
    return this.#all.some((one) => one.id === id && one.topic !== undefined);
  }

  /** Ids of those that are declared with that topic. */
  of(topic: string | null): readonly string[] {
    return topic === null ? [] : this.#all.flatMap((one) => (one.topic === topic ? [one.id] : []));
  }

  /**
   * Makes the missing rows of subscriptions that methods handle and give a topic for, and warns of handled subscriptions
   * without a row.
   *
   * @param found handlers of this queue
   * @throws {TarefaError} `HANDLER_INVALID` when a row has another topic than its method says; `RIGHTS_MISSING` with the
   * grant, when this role may not make a row; `SUBSCRIPTIONS_UNAVAILABLE`
   */
  async prepare(found: readonly FoundHandler[]): Promise<void> {
    const { database, events } = this.#queue;
    const declared = found.flatMap(({ metadata: { target, options }, name }): readonly DeclaredHandler[] =>
      target.kind === 'subscriber' ? [{ id: target.id, topic: options.topic, name }] : [],
    );
    this.#all = declared;
    if (declared.length === 0) return;
    const existing = await database.subscriptions.declare(declared);
    if (!existing) return;
    const rows = new Map(existing.map((row) => [row.id, row]));
    refuseOtherTopics(declared, rows);
    const made = listMade(existing);
    if (made !== '') events.emit('notice', { message: `subscribed ${made}` });
    const rowless = declared.filter(({ id }) => !rows.has(id));
    if (rowless.length > 0) {
      const names = rowless.map(({ id, name }) => `@Subscriber('${id}') on ${name}`).join(', ');
      events.emit('warning', {
        message:
          `no subscription has the id of ${names}, so nothing is delivered there. Give the topic, as in ` +
          `@Subscriber('${rowless[0]?.id}', { topic: '…' }), and the row is created at start; or run \`npx tarefa subscriptions add\``,
      });
    }
  }

  /**
   * Makes the rows again that were deleted since the start, as by tests that empty all tables. Rows that are there stay as they
   * are, whatever they say.
   *
   * @throws {TarefaError} `RIGHTS_MISSING`
   */
  async restore(): Promise<void> {
    const { database, events } = this.#queue;
    const withTopic = this.#all.filter(({ topic }) => topic !== undefined);
    if (withTopic.length === 0) return;
    const made = listMade((await database.subscriptions.declare(withTopic)) ?? []);
    if (made === '') return;
    events.emit('notice', {
      message:
        `subscribed ${made} again: its row was deleted while this application, which declares it, was running. To stop ` +
        `deliveries, deactivate the subscription`,
    });
  }
}

function listMade(rows: readonly SubscriptionRow[]): string {
  const made = rows.filter((row) => row.made);
  return made.map(({ id, topic }) => `'${id}' to topic '${topic}'`).join(', ');
}

/** Either the code or the row may be right, so a difference refuses the start. */
function refuseOtherTopics(
  declared: readonly DeclaredHandler[],
  rows: ReadonlyMap<string, SubscriptionRow>,
): void {
  const others = declared.filter(({ id, topic }) => {
    const row = rows.get(id);
    return topic !== undefined && row !== undefined && row.topic !== topic;
  });
  if (others.length === 0) return;
  const problems = others.map(
    ({ id, topic, name }) =>
      `@Subscriber('${id}', { topic: '${topic}' }) on ${name}, but the row '${id}' has the topic '${rows.get(id)?.topic}'`,
  );
  throw new TarefaError(
    'HANDLER_INVALID',
    `${problems.join('; ')}. An existing row is never changed: correct the topic in the code or in the row ` +
      `(\`npx tarefa subscriptions\`), or give the method another id`,
  );
}
