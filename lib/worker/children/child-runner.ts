import { TarefaError } from '../../errors.js';
import type { QueueDatabase } from '../../storage/database.js';
import { describeRoute, plainRoute } from '../../storage/route.js';
import { handlerOf, type Handler, type HandlerRegistry } from '../../subscribers/handler-registry.js';
import type { PropertiesOf } from '../../values/failure-text.js';
import { HandlerContext, type RunDeps, decodePayload } from '../running/handler-context.js';
import { type RunEnd, runHandler } from '../running/run-handler.js';
import { serializeError, deserializeError, type SerializedError } from './serialized-error.js';
import { LatestWord } from './latest-word.js';
import type { SerializedEnd, ChildReport, RunOrder } from './messages.js';

/** Runs attempts in a child, one at a time. */
export class ChildRunner {
  readonly #database: Pick<QueueDatabase, 'attempts'>;
  readonly #registry: Pick<HandlerRegistry, 'of'>;
  readonly #deps: Pick<RunDeps, 'database' | 'tenants' | 'maxResultBytes' | 'warn'>;
  /** Tells the parent. */
  readonly #tell: (report: ChildReport) => void;
  readonly #propertiesOf: PropertiesOf;
  #context: HandlerContext | undefined;
  /** Why the attempt is to stop. */
  #aborted: Error | undefined;

  constructor(
    database: Pick<QueueDatabase, 'attempts'>,
    registry: Pick<HandlerRegistry, 'of'>,
    deps: Pick<RunDeps, 'database' | 'tenants' | 'maxResultBytes' | 'warn'>,
    tell: (report: ChildReport) => void,
    propertiesOf: PropertiesOf,
  ) {
    this.#database = database;
    this.#registry = registry;
    this.#deps = deps;
    this.#tell = tell;
    this.#propertiesOf = propertiesOf;
  }

  /** Resolves with how the handler has ended. Never rejects. */
  async run(order: RunOrder): Promise<SerializedEnd> {
    this.#aborted = undefined;
    try {
      return serializeEnd(await this.#call(order), this.#propertiesOf);
    } catch (error) {
      return { kind: 'failed', error: serializeError(error, this.#propertiesOf) };
    } finally {
      this.#context = undefined;
    }
  }

  /** Tells the handler that runs to stop. */
  abort(reason: SerializedError): void {
    this.#aborted = deserializeError(reason) as Error;
    this.#context?.abort(this.#aborted);
  }

  /** The stored text is read and parsed here, so that a large payload keeps nobody else waiting. */
  async #call({ workerId, claimed, quiet }: RunOrder): Promise<RunEnd> {
    const handler = this.#handlerOf(claimed);
    const stored =
      claimed.payload === undefined ? await this.#database.attempts.loadPayload(claimed.id) : claimed.payload;
    const { payload, subscription } = decodePayload(stored, claimed.task, handler.rules.payload);
    // What is said after the end would be taken for a word of the next attempt.
    const tell = (report: ChildReport): void => {
      if (this.#context === context) this.#tell(report);
    };
    const progress = new LatestWord((message) => tell({ type: 'progress', message }));
    const deps: RunDeps = {
      ...this.#deps,
      workerId,
      quiet,
      notes: { add: (_, message) => progress.say(message) },
      opened: (session) => tell({ type: 'opened', session }),
      completed: (recorded) => tell({ type: 'completed', recorded }),
    };
    const context: HandlerContext = new HandlerContext(claimed, subscription, deps);
    this.#context = context;
    if (this.#aborted) context.abort(this.#aborted);
    // Without its timeout: the parent ends this child with a handler that takes too long.
    return runHandler({ handler, payload, context, deps, timeoutMs: undefined });
  }

  /** @throws {TarefaError} `HANDLER_NOT_REGISTERED` */
  #handlerOf(claimed: RunOrder['claimed']): Handler {
    const handler = handlerOf(this.#registry, claimed);
    if (handler) return handler;
    throw new TarefaError(
      'HANDLER_NOT_REGISTERED',
      `not registered: no method of isolation.module handles ${describeRoute(plainRoute(claimed.route))}`,
    );
  }
}

function serializeEnd(end: RunEnd, propertiesOf: PropertiesOf): SerializedEnd {
  switch (end.kind) {
    case 'succeeded':
    case 'committed':
    case 'undone':
      return end;
    case 'failed':
    case 'unknown':
      return { ...end, error: serializeError(end.error, propertiesOf) };
    default:
      throw new Error(`an isolated handler cannot end as '${end.kind}'`);
  }
}
