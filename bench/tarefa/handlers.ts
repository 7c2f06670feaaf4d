import { Injectable, type Type } from '@nestjs/common';
import { Pool } from 'pg';
import { Subscriber, TaskHandler, type HandlerOptions, type TaskContext } from '../../lib/index.js';
import { insertEffect, type HandlerKind, type Payload } from '../protocol.js';

/** What is handled, and how. */
export interface HandlersSetting {
  readonly url: string;
  readonly kind: HandlerKind;
  readonly topics: readonly string[];
  readonly subscriptions: readonly string[];
  readonly options: HandlerOptions;
  readonly started: (payload: Payload) => void;
}

/** Makes a provider whose one method handles all of these topics and subscriptions. */
export function makeHandlers({ url, kind, topics, subscriptions, options, started }: HandlersSetting): Type {
  const run = behaviours(url)[kind](started);

  @Injectable()
  class Handlers {
    handle(payload: Payload, ctx: TaskContext): unknown {
      return run(payload, ctx);
    }
  }

  // As if written above the method.
  const decorators = [
    ...topics.map((topic) => TaskHandler(topic, options)),
    ...subscriptions.map((id) => Subscriber(id, options)),
  ];
  const method = Object.getOwnPropertyDescriptor(Handlers.prototype, 'handle') as TypedPropertyDescriptor<
    Handlers['handle']
  >;
  for (const decorate of decorators) decorate(Handlers.prototype, 'handle', method);
  return Handlers;
}

type Handle = (payload: Payload, ctx: TaskContext) => unknown;
type Started = HandlersSetting['started'];

const behaviours = (url: string): Record<HandlerKind, (started: Started) => Handle> => ({
  empty: (started) => (payload) => started(payload),
  write: (started) => async (payload, ctx) => {
    started(payload);
    await ctx.db.query(insertEffect, [payload.i]);
  },
  'write-apart': (started) => {
    const pool = new Pool({ connectionString: url, max: 10 });
    return async (payload) => {
      started(payload);
      await pool.query(insertEffect, [payload.i]);
    };
  },
  'fail-once': (started) => (payload, ctx) => {
    started(payload);
    if (ctx.task.attempt === 1) throw new Error('the first attempt fails');
  },
});
