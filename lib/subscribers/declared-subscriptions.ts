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
interface PreparedQueue {
  readonly database: Pick<QueueDatabase, 'subscriptions'>;
  readonly events: QueueEvents;
  /** Receives the ids of subscriptions whose rows are made. */
  readonly declared: Set<string>;
}

/**
 * Makes the missing rows of subscriptions that methods handle and give a topic for, and warns of handled subscriptions
 * without a row.
 *
 * @param found handlers of one queue
 * @throws {TarefaError} `HANDLER_INVALID` when a row has another topic than its method says; `RIGHTS_MISSING` with the
 * grant, when this role may not make a row; `SUBSCRIPTIONS_UNAVAILABLE`
 */
export async function prepareSubscriptions(
  found: readonly FoundHandler[],
  { database, events, declared: rememberedIds }: PreparedQueue,
): Promise<void> {
  const declared = found.flatMap(({ metadata: { target, options }, name }): readonly DeclaredHandler[] =>
    target.kind === 'subscriber' ? [{ id: target.id, topic: options.topic, name }] : [],
  );
  if (declared.length === 0) return;
  for (const { id, topic } of declared) if (topic !== undefined) rememberedIds.add(id);
  const existing = await database.subscriptions.declare(declared);
  if (!existing) return;
  const rows = new Map(existing.map((row) => [row.id, row]));
  refuseOtherTopics(declared, rows);
  const made = [...rows.values()].filter((row) => row.made);
  if (made.length > 0) {
    const names = made.map(({ id, topic }) => `'${id}' to topic '${topic}'`).join(', ');
    events.emit('notice', { message: `subscribed ${names}` });
  }
  const rowless = declared.filter(({ id }) => !rows.has(id));
  if (rowless.length > 0) {
    const names = rowless.map(({ id, name }) => `@Subscriber('${id}') on ${name}`).join(', ');
    events.emit('warning', {
      message:
        `no subscription has the id of ${names}: nothing is delivered there. Say the topic, as ` +
        `@Subscriber('${rowless[0]?.id}', { topic: '…' }), and the row is made at start; or run \`npx tarefa subscriptions add\``,
    });
  }
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
    `${problems.join('; ')}. A row that is there is never changed: correct the topic in the code, or that of the row ` +
      `(\`npx tarefa subscriptions\`), or give the method another id`,
  );
}
