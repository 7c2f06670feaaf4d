import type { BulkFilter, BulkKind, BulkRun } from '../admin/bulk-run.js';
import type { BulkCancelOptions } from '../admin/cancellation.js';
import type { Pausable } from '../admin/pauses.js';
import type { QueueAdmin } from '../admin/queue-admin.js';
import type { SubscriptionInput } from '../admin/subscription-input.js';
import type { QueueClient } from '../client/queue-client.js';
import type { TaskInput } from '../client/task-input.js';
import { hasCode, TarefaError } from '../errors.js';
import type { QueueEvents } from '../events.js';
import type { QueueWebhooks } from '../webhooks/queue-webhooks.js';
import type { BulkBlockJson, BulkPlanJson, BulkScopeJson, InsertJson, PingJson } from './actions-api.js';
import type { BulkAction, SubscriptionJson } from './api.js';
import type { DashboardAction } from '../options/dashboard-options.js';
import { shownValue } from '../values/shown-value.js';
import { readFilter } from './read-filter.js';
import type { SubscriptionReader } from './subscription-reader.js';
import type { TaskReader } from './task-reader.js';

/** What {@link DashboardActions} work with. */
export interface DashboardActionsParts {
  readonly admin: QueueAdmin;
  readonly webhooks: QueueWebhooks;
  readonly subscriptions: SubscriptionReader;
  readonly tasks: TaskReader;
  readonly client: QueueClient;
  readonly events: QueueEvents;
  /** What is allowed. */
  readonly allowed: readonly DashboardAction[];
  /** False: payloads are not shown. */
  readonly showsPayloads: boolean;
}

/** Who asks, and the body of the request as it came. */
export interface ActionRequest {
  readonly actor: string | null;
  readonly body: unknown;
}

type Body = Readonly<Record<string, unknown>>;

/** Counting may read the whole table: it is given up after this time. */
const countTimeoutMs = 30_000;
const editable = ['topic', 'tenant', 'group', 'url', 'httpMethod', 'headers', 'active'] as const;
const insertable: readonly (keyof InsertJson)[] = [
  'topic',
  'payload',
  'delayMs',
  'runAt',
  'priority',
  'externalKey',
  'origin',
  'destination',
  'tenant',
  'group',
];
/** How {@link BulkScopeJson} names tasks. */
const scopes: readonly (keyof BulkScopeJson)[] = ['filter', 'ids'];

/** What each does to many tasks. */
export const bulkKinds: Readonly<Record<BulkAction, BulkKind>> = {
  'retry-all': 'retry',
  'cancel-all': 'cancel',
  'delete-all': 'delete',
};

/** What can be done from the page. Each is told in an event, also when it is refused. */
export class DashboardActions {
  readonly #parts: DashboardActionsParts;

  constructor(parts: DashboardActionsParts) {
    this.#parts = parts;
  }

  retry(request: ActionRequest): Promise<{ readonly id: string }> {
    return this.#do('retry', request, idOf, async ({ id }) => ({
      id: await this.#parts.admin.retry(textOf('id', id)),
    }));
  }

  cancel(request: ActionRequest): Promise<{ readonly stopping: boolean }> {
    return this.#do('cancel', request, idOf, async ({ id, reason }) => {
      const { stopping } = await this.#parts.admin.cancel(textOf('id', id), cancelOf(reason, request));
      return { stopping: stopping.length > 0 };
    });
  }

  bury(request: ActionRequest): Promise<{ readonly id: string }> {
    return this.#do('bury', request, idOf, async ({ id, reason }) => ({
      id: await this.#parts.admin.bury(textOf('id', id), reasonOf(reason) ?? buriedBy(request)),
    }));
  }

  runNow(request: ActionRequest): Promise<object> {
    return this.#do('run-now', request, idOf, async ({ id }) => {
      await this.#parts.admin.runNow(textOf('id', id));
      return {};
    });
  }

  pause(request: ActionRequest): Promise<object> {
    const target = ({ topic, subscriptionId, paused }: Body): string =>
      `${paused === false ? 'resume ' : ''}${nameOf('subscription', subscriptionId) ?? nameOf('topic', topic) ?? 'nothing'}`;
    return this.#do('pause', request, target, async ({ paused, ...what }) => {
      if (typeof paused !== 'boolean') throw invalid('paused must be true or false');
      const { admin } = this.#parts;
      await (paused ? admin.pause(what as Pausable) : admin.resume(what as Pausable));
      return {};
    });
  }

  runSchedule(request: ActionRequest): Promise<{ readonly id: string }> {
    return this.#do('run-schedule', request, idOf, async ({ id }) => ({
      id: await this.#parts.admin.schedules.run(textOf('id', id)),
    }));
  }

  pauseSchedule(request: ActionRequest): Promise<object> {
    const target = ({ id, paused }: Body): string => `${paused === false ? 'resume ' : ''}${idOf({ id })}`;
    return this.#do('pause-schedule', request, target, async ({ id, paused }) => {
      if (typeof paused !== 'boolean') throw invalid('paused must be true or false');
      const { schedules } = this.#parts.admin;
      await (paused ? schedules.pause(textOf('id', id)) : schedules.resume(textOf('id', id)));
      return {};
    });
  }

  /** What is left out of the redacted payload that was edited is put back before it is stored. */
  retryEdited(request: ActionRequest): Promise<{ readonly id: string }> {
    return this.#do('retry-edited', request, idOf, async ({ id, payload, reason }) => {
      const { admin, tasks, showsPayloads } = this.#parts;
      if (!showsPayloads) {
        throw new TarefaError(
          'ACTION_FORBIDDEN',
          'this dashboard does not show payloads (dashboard.payloads is false), so they cannot be edited',
        );
      }
      const whole = await tasks.restored(textOf('id', id), textOf('payload', payload));
      const note = { by: request.actor, reason: reason === undefined ? null : textOf('reason', reason) };
      return { id: await admin.retryEdited(textOf('id', id), whole, note) };
    });
  }

  delete(request: ActionRequest): Promise<{ readonly attempts: number }> {
    return this.#do('delete', request, idOf, async ({ id }) => ({
      attempts: await this.#parts.admin.delete(textOf('id', id)),
    }));
  }

  insert(request: ActionRequest): Promise<{ readonly id: string }> {
    const target = ({ topic }: Body): string => nameOf('topic', topic) ?? '';
    return this.#do('insert', request, target, async ({ publication = false, ...given }) => {
      if (typeof publication !== 'boolean') throw invalid('publication must be true or false');
      refuseOthers(given, insertable, 'a new task');
      const { client } = this.#parts;
      if (given['payload'] !== undefined && given['payload'] !== null) textOf('payload', given['payload']);
      const id = publication
        ? await client.insertTaskPubSub(given as unknown as TaskInput & { readonly topic: string })
        : await client.insertTask(given);
      return { id };
    });
  }

  /** Counts only: nothing is done yet. */
  async count(action: BulkAction, { body }: ActionRequest): Promise<BulkPlanJson> {
    this.#mustBeAllowed(action);
    const filter = scopeOf(bodyOf(body));
    const { total, counts, lastId } = await this.#bulk(action).plan(filter, {
      timeoutMs: countTimeoutMs,
    });
    return { total, counts: counts.map(({ oldest: _oldest, ...one }) => one), lastId };
  }

  /** One block of them: a client that stops asking stops it. */
  block(action: BulkAction, request: ActionRequest): Promise<BulkBlockJson> {
    const target = ({ filter, ids }: Body): string => JSON.stringify(filter ?? { ids });
    return this.#do(action, request, target, async ({ lastId, after, reason, ...scope }) => {
      const run = this.#bulk(action, cancelOf(reason, request));
      const plan = { filter: scopeOf(scope), lastId: textOf('lastId', lastId) };
      return run.block(plan, textOf('after', after));
    });
  }

  addSubscription(request: ActionRequest): Promise<SubscriptionJson> {
    return this.#do('add-subscription', request, idOf, async (given) => {
      refuseOthers(given, ['id', ...editable], 'a subscription');
      const { admin, subscriptions } = this.#parts;
      const { id } = await admin.subscriptions.add(given as unknown as SubscriptionInput);
      return subscriptions.find(id);
    });
  }

  removeSubscription(request: ActionRequest): Promise<object> {
    return this.#do('remove-subscription', request, idOf, async ({ id }) => {
      const { admin, subscriptions } = this.#parts;
      const own = textOf('id', id);
      if (subscriptions.isDeclared(own)) {
        throw new TarefaError(
          'SUBSCRIPTION_DECLARED',
          `a handler of this application declares the subscription ${shownValue(own)} and would create it again at the next start: deactivate it instead, or remove the handler first`,
        );
      }
      await admin.subscriptions.remove(own);
      return {};
    });
  }

  editSubscription(request: ActionRequest): Promise<SubscriptionJson> {
    return this.#do('edit-subscription', request, idOf, async ({ id, ...changes }) => {
      refuseOthers(changes, editable, 'a change of a subscription');
      const { admin, subscriptions, webhooks } = this.#parts;
      const own = textOf('id', id);
      const before = await subscriptions.find(own);
      await admin.subscriptions.update(own, changes);
      // Why it was deactivated is forgotten with that, and workers hear of it.
      if (changes['active'] === true && !before.active && before.endpoint) await webhooks.reactivate(own);
      return subscriptions.find(own);
    });
  }

  createSecret(request: ActionRequest): Promise<{ readonly secret: string }> {
    return this.#do('create-secret', request, idOf, async ({ id }) => ({
      secret: await this.#parts.webhooks.createSecret(textOf('id', id)),
    }));
  }

  ping(request: ActionRequest): Promise<PingJson> {
    return this.#do('ping', request, idOf, async ({ id }) => {
      const { ok, status, durationMs, failure } = await this.#parts.webhooks.ping(textOf('id', id));
      return { ok, status: status ?? null, durationMs: durationMs ?? null, failure: failure ?? null };
    });
  }

  /** A payload is looked at, or many are searched: reported as an action is. */
  shown(action: 'show-payload' | 'search-payloads', actor: string | null, target: string): void {
    this.#parts.events.emit('dashboard.action', { action, target, actor, refused: undefined });
  }

  #bulk(action: BulkAction, options?: BulkCancelOptions): BulkRun {
    return this.#parts.admin.bulk(bulkKinds[action], options);
  }

  /** What a refused action was about, for the page to say it in its language. */
  async valuesOf(cause: unknown, action: string, body: unknown): Promise<Readonly<Record<string, string>>> {
    const id = idOf((body ?? {}) as Body);
    if (!hasCode(cause, 'TASK_STATE')) return { action, id };
    // It may have gone on, or away, since.
    const task = await this.#parts.admin.find(id).catch(() => undefined);
    return { action, id, ...(task && { status: task.current.status }) };
  }

  async #do<T>(
    action: DashboardAction,
    { actor, body }: ActionRequest,
    targetOf: (body: Body) => string,
    act: (body: Body) => Promise<T>,
  ): Promise<T> {
    const read = bodyOf(body);
    const tell = (refused: string | undefined): void =>
      this.#parts.events.emit('dashboard.action', {
        action,
        target: targetOf(read).slice(0, 500),
        actor,
        refused,
      });
    try {
      this.#mustBeAllowed(action);
      const answer = await act(read);
      tell(undefined);
      return answer;
    } catch (error) {
      tell(error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  #mustBeAllowed(action: DashboardAction): void {
    if (this.#parts.allowed.includes(action)) return;
    throw new TarefaError(
      'ACTION_FORBIDDEN',
      `this dashboard does not allow '${action}': the option dashboard.actions does not include it`,
    );
  }
}

function bodyOf(body: unknown): Body {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Body;
  throw invalid('the body must be a JSON object');
}

function idOf({ id }: Body): string {
  return typeof id === 'string' ? id : '';
}

/** `topic mail`; undefined when it is neither text nor null. */
function nameOf(kind: string, value: unknown): string | undefined {
  return typeof value === 'string' || value === null ? `${kind} ${value ?? '(none)'}` : undefined;
}

function textOf(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw invalid(`${name} must be text`);
}

/** What somebody wrote; nothing where it was left empty. */
function reasonOf(reason: unknown): string | undefined {
  return (reason === undefined ? '' : textOf('reason', reason).trim()) || undefined;
}

function buriedBy({ actor }: ActionRequest): string {
  return actor === null ? 'buried' : `buried by ${actor}`;
}

function cancelOf(reason: unknown, { actor }: ActionRequest): BulkCancelOptions {
  return { by: actor, reason: reasonOf(reason) };
}

/** Which tasks are meant; in which state goes without saying. */
function scopeOf(scope: Body): BulkFilter {
  refuseOthers(scope, scopes, 'the selection of tasks');
  const { filter, ids } = scope;
  if ((filter === undefined) === (ids === undefined)) throw invalid('pass either a filter or ids');
  if (ids !== undefined) return { ids: ids as readonly string[] };
  const { latest: _latest, payload, ...rest } = readFilter(bodyOf(filter));
  // What is redacted could be found out by counting.
  if (payload === undefined) return rest;
  throw invalid('tasks cannot be selected in bulk by their payloads: search for them and pass their ids');
}

/** A field that is mistyped must not be passed over. */
function refuseOthers(body: Body, names: readonly string[], what: string): void {
  const other = Object.keys(body).find((name) => !names.includes(name));
  if (other === undefined) return;
  throw invalid(`${what} has no field '${other.slice(0, 100)}'; its fields are ${names.join(', ')}`);
}

function invalid(message: string): TarefaError {
  return new TarefaError('INPUT_INVALID', message);
}
