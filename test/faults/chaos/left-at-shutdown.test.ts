import { expect, test } from 'vitest';
import { TarefaError } from '../../../lib/errors.js';
import { QueueEvents } from '../../../lib/events.js';
import type { ClaimedTask, HeldTask } from '../../../lib/storage/attempt.js';
import type { QueueDatabase } from '../../../lib/storage/database.js';
import type { HandlerRegistry } from '../../../lib/subscribers/handler-registry.js';
import { Executor } from '../../../lib/worker/running/executor.js';
import { Reconciler } from '../../../lib/worker/reconciler.js';
import { RunningTasks } from '../../../lib/worker/running/running-tasks.js';
import { Settler } from '../../../lib/worker/running/settler.js';
import { Signal } from '../../../lib/timing/signal.js';
import type { WorkerOptions } from '../../../lib/options/worker-options.js';
import { deferred } from '../../support/waiting.js';

// Found by a chaos run: the server was down while a worker left, and came back before it was gone.
test.each(['transaction', 'completeIn'])(
  'an attempt that ran is not given back as unstarted when a leaving worker cannot read its end (%s)',
  async (way) => {
    const asked = deferred();
    const released: string[] = [];
    const lost = () => Promise.reject(new TarefaError('CONNECTION_LOST', 'the server is down'));
    const claimed = {
      id: '7',
      reservation: 1,
      route: 't:work',
      payload: null,
      payloadBytes: null,
      task: {
        id: '7',
        firstAttemptId: '7',
        attempt: 1,
        topic: 'work',
        subscriptionId: null,
        dead: false,
        metadata: null,
      },
    } as unknown as ClaimedTask;
    const database = {
      transactions: {
        begin: () => ({
          opened: true,
          query: () => Promise.resolve({ rows: [] }),
          complete: lost,
          rollback: () => Promise.resolve(),
        }),
        completeIn: () => Promise.resolve(),
      },
      attempts: {
        readOutcome: () => {
          asked.resolve();
          return lost();
        },
        heldBy: () => Promise.resolve([claimed as unknown as HeldTask]),
        releaseMany: (_: string, claims: readonly { readonly id: string }[]) => {
          released.push(...claims.map(({ id }) => id));
          return Promise.resolve([]);
        },
      },
    } as unknown as QueueDatabase;
    const live = {
      name: 'work',
      rules: { payload: 'parse' },
      invoke: (_: unknown, ctx: { db: { query(text: string): unknown }; completeIn(tx: object): unknown }) =>
        way === 'transaction'
          ? ctx.db.query('select 1')
          : ctx.completeIn({ query: () => Promise.reject(new Error('nobody asks it')) }),
    };
    const registry = { of: () => ({ live, dead: undefined }) } as unknown as HandlerRegistry;
    const events = new QueueEvents();
    const settler = new Settler('1', { database, events, signal: new Signal() });
    const options = { maxPayloadBytes: 1_000, maxAttempts: 1 } as WorkerOptions;
    const tenants = { open: () => Promise.reject(new Error('nobody asks for it')) };
    const bell = { ring: () => Promise.resolve() };
    const executor = new Executor('1', { database, bell, settler, registry, tenants, options, events });

    const ended = executor.run({ claimed, context: undefined, isReplaced: false });
    await asked.promise;
    executor.stop();
    await ended;
    // The server is back: the table says that this worker holds the row, and nothing runs here.
    const served = {} as never;
    const reconciler = new Reconciler('1', { database, bell, settler, served, events });
    reconciler.requireFull();
    await reconciler.compare(new RunningTasks());
    expect(released).toEqual([]);
    expect(settler.pending).toBe(0);
  },
);
