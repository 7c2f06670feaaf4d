import { Injectable } from '@nestjs/common';
import { DeadTaskHandler, TaskHandler, type TaskContext } from '../../../lib/index.js';

type Work = (ctx: TaskContext) => unknown;

/** Handlers that do what a test tells them at the moment. */
@Injectable()
export class TenantWork {
  static work: Work = () => undefined;
  static deadWork: Work = () => undefined;

  @TaskHandler('work')
  work(_payload: unknown, ctx: TaskContext): unknown {
    return TenantWork.work(ctx);
  }

  @TaskHandler('hasty', { timeoutMs: 300 })
  hasty(_payload: unknown, ctx: TaskContext): unknown {
    return TenantWork.work(ctx);
  }

  @TaskHandler('grouped', { grouped: true })
  grouped(_payload: unknown, ctx: TaskContext): unknown {
    return TenantWork.work(ctx);
  }

  @DeadTaskHandler('work')
  dead(_payload: unknown, ctx: TaskContext): unknown {
    return TenantWork.deadWork(ctx);
  }
}
