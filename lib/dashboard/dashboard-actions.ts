import { BulkRetry } from '../admin/bulk-retry.js';
import type { Pausable, QueueAdmin } from '../admin/queue-admin.js';
import type { TaskFilter } from '../admin/task-filter.js';
import type { SqlHandle } from '../client/sql-handle.js';
import { TarefaError } from '../queue.errors.js';
import type { QueueEvents } from '../queue.events.js';
import type { QueueTables } from '../storage/postgres/identifiers.js';
import type { QueueWebhooks } from '../webhooks/queue-webhooks.js';
import type { DashboardAction, PingJson, RetryBlockJson, RetryPlanJson, SubscriptionJson } from './api.js';
import { readFilter } from './read-filter.js';
import type { SubscriptionReader } from './subscription-reader.js';

/** What {@link DashboardActions} work with. */
export interface DashboardActionsParts {
  readonly admin: QueueAdmin;
  readonly webhooks: QueueWebhooks;
  readonly subscriptions: SubscriptionReader;
  readonly handle: SqlHandle;
  readonly transaction: <T>(work: (tx: SqlHandle) => Promise<T>) => Promise<T>;
  readonly tables: QueueTables;
  readonly events: QueueEvents;
  /** What is allowed. */
  readonly allowed: readonly DashboardAction[];
}

/** Who asks, and the body of the request as it came. */
export interface ActionRequest {
  readonly actor: string | null;
  readonly body: unknown;
}

type Body = Readonly<Record<string, unknown>>;

/** Counting may read the whole table: it is given up after so many ms. */
const countTimeoutMs = 30_000;
const editable = ['topic', 'tenant', 'group', 'url', 'httpMethod', 'headers', 'active'] as const;

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

  cancel(request: ActionRequest): Promise<object> {
    return this.#do('cancel', request, idOf, async ({ id, reason }) => {
      await this.#parts.admin.cancel(textOf('id', id), reasonOf(reason, 'cancelled', request));
      return {};
    });
  }

  bury(request: ActionRequest): Promise<{ readonly id: string }> {
    return this.#do('bury', request, idOf, async ({ id, reason }) => ({
      id: await this.#parts.admin.bury(textOf('id', id), reasonOf(reason, 'buried', request)),
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

  /** Counts only: nothing is done yet. */
  async countFailed({ body }: ActionRequest): Promise<RetryPlanJson> {
    this.#mustBeAllowed('retry-all');
    const filter = failedOf(bodyOf(body)['filter']);
    const { transaction, tables } = this.#parts;
    const { total, counts, lastId } = await transaction(async (tx) => {
      await tx.query(`set local statement_timeout = ${countTimeoutMs}`);
      return new BulkRetry(tx, tables).plan(filter);
    });
    return { total, counts: counts.map(({ oldest: _oldest, ...one }) => one), lastId };
  }

  /** One block of them: whoever stops asking stops it. */
  retryBlock(request: ActionRequest): Promise<RetryBlockJson> {
    const target = ({ filter }: Body): string => JSON.stringify(filter);
    return this.#do('retry-all', request, target, async ({ filter, lastId, after }) => {
      const { handle, tables } = this.#parts;
      const plan = { filter: failedOf(filter), lastId: textOf('lastId', lastId) };
      return new BulkRetry(handle, tables).block(plan, textOf('after', after));
    });
  }

  editSubscription(request: ActionRequest): Promise<SubscriptionJson> {
    return this.#do('edit-subscription', request, idOf, async ({ id, ...changes }) => {
      for (const name of Object.keys(changes)) {
        if (!(editable as readonly string[]).includes(name)) {
          throw invalid(`${name} cannot be changed; ${editable.join(', ')} can`);
        }
      }
      const { admin, subscriptions, webhooks } = this.#parts;
      const own = textOf('id', id);
      const before = await subscriptions.find(own);
      await admin.subscriptions.update(own, changes);
      // Why it was deactivated is forgotten with that, and workers hear of it.
      if (changes['active'] === true && !before.active && before.endpoint) await webhooks.reactivate(own);
      return subscriptions.find(own);
    });
  }

  ping(request: ActionRequest): Promise<PingJson> {
    return this.#do('ping', request, idOf, async ({ id }) => {
      const { ok, status, durationMs, failure } = await this.#parts.webhooks.ping(textOf('id', id));
      return { ok, status: status ?? null, durationMs: durationMs ?? null, failure: failure ?? null };
    });
  }

  /** Somebody looks at a payload: told as an action is. */
  shown(actor: string | null, id: string): void {
    this.#parts.events.emit('dashboard.action', {
      action: 'show-payload',
      target: id,
      actor,
      refused: undefined,
    });
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
      `this dashboard may not '${action}': the option dashboard.actions does not name it`,
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

function reasonOf(reason: unknown, otherwise: string, { actor }: ActionRequest): string {
  const text = reason === undefined ? '' : textOf('reason', reason).trim();
  const who = actor === null ? '' : ` by ${actor}`;
  return text === '' ? `${otherwise}${who}` : text;
}

/** Which failed tasks are meant; that they have failed goes without saying. */
function failedOf(filter: unknown): Omit<TaskFilter, 'status' | 'latest'> {
  const { status: _status, latest: _latest, ...rest } = readFilter(bodyOf(filter));
  return rest;
}

function invalid(message: string): TarefaError {
  return new TarefaError('INPUT_INVALID', message);
}
