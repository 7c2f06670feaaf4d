import { isMainThread } from 'node:worker_threads';
import { Injectable, type Type } from '@nestjs/common';
import {
  DeadSubscriber,
  DeadTaskHandler,
  Subscriber,
  TaskHandler,
  type TaskContext,
} from '../../../lib/index.js';
import type { IsolateKind } from '../../../lib/options/isolation-options.js';
import { leaveEffect } from '../leave-effect.js';

/** What a handler answers: where it ran, and what for. */
export interface TwinResult {
  readonly pid: number;
  readonly isMainThread: boolean;
  readonly payload: unknown;
  readonly subscription: string | undefined;
  readonly dead: boolean;
}

async function told(payload: unknown, ctx: TaskContext): Promise<TwinResult> {
  await leaveEffect(ctx);
  const { task, subscription } = ctx;
  return { pid: process.pid, isMainThread, payload, subscription: subscription?.id, dead: task.dead };
}

/** A handler and a subscriber that are isolated so, each with that of its dead tasks. Names begin with the kind. */
function twinsOf(isolate: IsolateKind): Type {
  const options = { isolate, maxAttempts: 1 } as const;
  @Injectable()
  class Twins {
    @TaskHandler(`${isolate} give up`, options)
    async giveUp(_: unknown, ctx: TaskContext): Promise<never> {
      await leaveEffect(ctx);
      const cause = Object.assign(new TypeError('the cause'), { code: 'E_CAUSE' });
      throw Object.assign(new RangeError('out of range', { cause }), { code: 'E_RANGE' });
    }

    @DeadTaskHandler(`${isolate} give up`, options)
    gaveUp(payload: unknown, ctx: TaskContext): Promise<TwinResult> {
      return told(payload, ctx);
    }

    @Subscriber(`${isolate} mail`, { ...options, topic: `${isolate} placed` })
    async mail(payload: unknown, ctx: TaskContext): Promise<TwinResult> {
      if (payload === 'fail') throw new Error('no mail');
      return told(payload, ctx);
    }

    @DeadSubscriber(`${isolate} mail`, options)
    noMail(payload: unknown, ctx: TaskContext): Promise<TwinResult> {
      return told(payload, ctx);
    }
  }
  return Twins;
}

export const twins: Readonly<Record<IsolateKind, Type>> = {
  thread: twinsOf('thread'),
  process: twinsOf('process'),
  detached: twinsOf('detached'),
};
