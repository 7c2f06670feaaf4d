export { QueueModule } from './queue.module.js';
export type { QueueModuleAsyncOptions, QueueModuleOptions, QueueOptionsFactory } from './queue.module.js';
export type { QueueOptions } from './queue.options.js';
export type { RecoveryOptions } from './worker/worker-options.js';
export { defaultQueueName, getQueueToken, InjectQueue } from './queue.tokens.js';
export { errorTable, hasCode, RetryAt, TarefaError, UnrecoverableError } from './queue.errors.js';
export type { TarefaErrorCode } from './queue.errors.js';
export { QueueEvents } from './queue.events.js';
export type { QueueEventMap, QueueEventName, TaskReference } from './queue.events.js';

export { QueueClient } from './client/queue-client.js';
export type { EquivalentTaskInput, InsertOptions, QueueClientOptions } from './client/queue-client.js';
export type { TaskInput } from './client/task-input.js';
export { fromKnex, fromPrisma, fromTypeOrm } from './client/transaction.js';
export type { KnexLike, PrismaLike, SqlHandle, TypeOrmLike } from './client/transaction.js';

export { DeadSubscriber, DeadTaskHandler, Subscriber, TaskHandler } from './subscribers/decorators.js';
export type { HandlerOptions } from './subscribers/decorators.js';
export type { JsonObject, Subscription, Task, TaskContext, TaskRecord, TaskStatus } from './task.js';

export { QueueWorker } from './worker/queue-worker.js';
export { RetryRoutine } from './maintenance/retry.routine.js';
export { NotifyRoutine } from './maintenance/notify.routine.js';
export { PurgeRoutine } from './maintenance/purge.routine.js';

export { startEmbeddedPostgres } from './embedded/embedded-postgres.js';
export type { EmbeddedPostgres, EmbeddedPostgresOptions } from './embedded/embedded-postgres.js';
