import type { SqlHandle } from '../storage/sql-handle.js';
import { TarefaError } from '../errors.js';
import { readText } from '../storage/columns.js';
import type { QueueTables } from '../storage/postgres/identifiers.js';
import { subscriptionTarget } from '../storage/postgres/statements/webhooks.js';
import type { Task } from '../task.js';
import { readDelivery } from '../worker/running/payload.js';
import type { DeliverySeal } from './delivery-seal.js';
import type { WebhookRequest } from './webhook-request.js';

/** Where a delivery goes, and what is sent there. */
export type DeliveryTarget = Required<Pick<WebhookRequest, 'url' | 'method' | 'headers' | 'body'>>;

/** What {@link DeliveryTargets} work with. */
export interface DeliveryTargetsParts {
  readonly handle: SqlHandle;
  readonly tables: QueueTables;
  readonly seal: Pick<DeliverySeal, 'fits'>;
}

/**
 * Says where a delivery goes: where its subscription led when it was published, if a worker has written that down, and
 * else where it leads now. So whoever may only insert tasks chooses no URL.
 */
export class DeliveryTargets {
  readonly #parts: DeliveryTargetsParts;

  constructor(parts: DeliveryTargetsParts) {
    this.#parts = parts;
  }

  /** @throws {TarefaError} `HANDLER_NOT_REGISTERED` when it goes nowhere */
  async of(task: Task, stored: string | null): Promise<DeliveryTarget> {
    const { publication: body, subscription } = readDelivery(stored, task);
    if (subscription.url !== null && (await this.#parts.seal.fits(stored ?? '', task))) {
      const { url, httpMethod: method, headers } = subscription;
      return { url, method, headers, body };
    }
    return { ...(await this.#present(task)), body };
  }

  async #present({ id, subscriptionId }: Task): Promise<Omit<DeliveryTarget, 'body'>> {
    const { handle, tables } = this.#parts;
    const { rows } = await handle.query(subscriptionTarget(tables), [subscriptionId]);
    const [row] = rows;
    const url = readText(row?.['url']);
    if (url !== null) {
      const headers = JSON.parse(readText(row?.['headers']) ?? 'null') as DeliveryTarget['headers'];
      return { url, method: readText(row?.['http_method']), headers };
    }
    throw new TarefaError(
      'HANDLER_NOT_REGISTERED',
      `not registered: no method of this process handles subscription '${subscriptionId}', which ` +
        `${row ? 'has no URL' : 'is not in the table'}, and no worker's seal on delivery ${id} says where it goes`,
    );
  }
}
