import { Inject, type InjectionToken, type Type } from '@nestjs/common';
import { defaultQueueName } from '../options/part-token.js';
import { QueueClient } from './queue-client.js';

/**
 * Token of a part of a named queue: its client, or another class that `QueueModule` provides
 * (`QueueAdmin`, `QueueWorker`, `QueueEvents`, `QueueLogs`, `RetryRoutine`, `NotifyRoutine`, `PurgeRoutine`). For the default queue the
 * class itself is the token.
 *
 * @example const purge = app.get(getQueueToken('billing', PurgeRoutine));
 */
export function getQueueToken<T = QueueClient>(
  name: string = defaultQueueName,
  part: Type<T> | typeof QueueClient = QueueClient,
): InjectionToken<T> {
  return name === defaultQueueName ? part : `tarefa:${name}:${part.name}`;
}

/**
 * Injects the client of a named queue.
 *
 * @example constructor(@InjectQueue('billing') private readonly billing: QueueClient) {}
 */
export function InjectQueue(name: string = defaultQueueName): ParameterDecorator & PropertyDecorator {
  return Inject(getQueueToken(name));
}
