import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, type Type } from '@nestjs/common';
import { Pool } from 'pg';
import { Subscriber, TaskHandler, type HandlerOptions, type TaskContext } from '../../lib/index.js';
import { compute, insertEffect, slowMs, type HandlerKind, type Payload } from '../protocol.js';

/** What is handled, and how. */
export interface HandlersSetting {
  readonly url: string;
  readonly kind: HandlerKind;
  /** These, or every topic by one handler. */
  readonly topics: readonly string[] | 'every';
  readonly subscriptions: readonly string[];
  readonly options: HandlerOptions;
  /** Connections of handlers that write by themselves. */
  readonly writers: number;
  readonly started: (payload: Payload) => void;
}

/** Makes a provider whose one method handles all of these topics and subscriptions. */
export function makeHandlers(setting: HandlersSetting): Type {
  const { kind, topics, subscriptions, options, started } = setting;
  const run = behaviours(setting)[kind](started);

  @Injectable()
  class Handlers {
    handle(payload: Payload, ctx: TaskContext): unknown {
      return run(payload, ctx);
    }
  }

  // As if written above the method.
  const decorators = [
    ...(topics === 'every' ? [TaskHandler(options)] : topics.map((topic) => TaskHandler(topic, options))),
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

const behaviours = ({
  url,
  writers,
}: HandlersSetting): Record<HandlerKind, (started: Started) => Handle> => ({
  empty: (started) => (payload) => started(payload),
  write: (started) => async (payload, ctx) => {
    started(payload);
    await ctx.db.query(insertEffect, [payload.i]);
  },
  'write-apart': (started) => {
    const pool = new Pool({ connectionString: url, max: writers });
    return async (payload) => {
      started(payload);
      await pool.query(insertEffect, [payload.i]);
    };
  },
  slow: (started) => async (payload) => {
    started(payload);
    await pause(slowMs);
  },
  compute: (started) => (payload) => {
    started(payload);
    compute('compute');
  },
  'compute-long': (started) => (payload) => {
    started(payload);
    compute('compute-long');
  },
  'fail-once': (started) => (payload, ctx) => {
    started(payload);
    if (ctx.task.attempt === 1) throw new Error('the first attempt fails');
  },
});
