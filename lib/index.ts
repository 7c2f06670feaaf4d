export { QueueModule } from './queue.module.js';
export type {
  QueueModuleAsyncOptions,
  QueueModuleOptions,
  QueueOptionsFactory,
} from './options/module-options.js';
export type { DashboardAction, DashboardOptions } from './options/dashboard-options.js';
export type { IsolationOptions } from './options/isolation-options.js';
export type { QueueOptions } from './options/queue-options.js';
export { nats, redis, tcp } from './options/bell-options.js';
export type { NatsBellOptions, QueueBell, RedisBellOptions, TcpBellOptions } from './options/bell-options.js';
export type { MysqlConfig, MysqlConnection, MysqlPool, MysqlPoolConfig } from './options/mysql-connection.js';
export type { PostgresConfig, PostgresConnection, PostgresPool } from './options/postgres-connection.js';
export type { RecoveryOptions } from './options/worker-options.js';
export { getQueueToken, InjectQueue } from './client/queue-tokens.js';
export { defaultQueueName } from './options/part-token.js';
export {
  errorTable,
  hasCode,
  RetryAt,
  RetryIn,
  Snooze,
  TarefaError,
  TaskDuplicateError,
  UnrecoverableError,
} from './errors.js';
export type { TarefaErrorCode } from './errors.js';
export { QueueExceptionFilter } from './client/queue-exception.filter.js';
export { QueueLogs } from './observability/queue-logs.js';
export type { LogStats } from './observability/queue-logs.js';
export type { LokiBasicAuth, LokiOptions } from './options/loki-options.js';
export type { LokiStats } from './observability/loki/loki-sink.js';
export { QueueEvents } from './events.js';
export type { QueueEventMap, QueueEventName, TaskReference } from './events.js';

export { QueueClient } from './client/queue-client.js';
export type { EquivalentTaskInput, InsertOptions, QueueClientOptions } from './client/queue-client.js';
export type { TaskInput } from './client/task-input.js';
export type { RecurrenceInput, RecurringTask, ScheduleInput } from './client/schedule-input.js';
export type { UniqueTask } from './client/unique-task.js';
export type {
  NotJson,
  QueueResults,
  QueueSubscriptions,
  QueueTopics,
  QueueTypes,
  ReceivedPayload,
  SubscriptionName,
  TopicName,
  TopicPayload,
  TopicResult,
} from './values/queue-topics.js';
export type { DriverClient } from './storage/driver-client.js';
export type { CheckedHandle, SqlHandle } from './storage/sql-handle.js';
export { fromDrizzle, type DrizzleLike, type DrizzleSql } from './client/adapters/drizzle.js';
export { fromKnex, type KnexLike } from './client/adapters/knex.js';
export { fromKysely, type KyselyLike } from './client/adapters/kysely.js';
export { fromMysql2, type Mysql2Like } from './client/adapters/mysql2.js';
export { fromMikroOrm, type MikroOrmLike } from './client/adapters/mikro-orm.js';
export { fromPostgresJs, type PostgresJsLike } from './client/adapters/postgres-js.js';
export { fromPrisma, type PrismaLike } from './client/adapters/prisma.js';
export { fromSequelize, type SequelizeLike, type SequelizeTransaction } from './client/adapters/sequelize.js';
export { fromTypeOrm, type TypeOrmLike } from './client/adapters/typeorm.js';

export { DeadSubscriber, DeadTaskHandler, Subscriber, TaskHandler } from './subscribers/decorators.js';
export type { HandlerOptions, SubscriberOptions } from './subscribers/decorators.js';
export { Recurring, type RecurringOptions } from './subscribers/recurring.decorator.js';
export type { HandlerDecorator, HandlerMistake } from './subscribers/handler-types.js';
export type { EnhancerKind } from './options/enhancer-kinds.js';
export type { WrapHandler } from './options/wrap-handler.js';
export { OnQueueEvent, type ListenerDecorator } from './subscribers/on-queue-event.js';
export { Ctx, Payload, type Pipe } from './subscribers/handler-params.js';
export { isQueueContext } from './subscribers/queue-context.js';
export type { SchemaIssue, SchemaResult, StandardSchema } from './values/standard-schema.js';
export type {
  JsonObject,
  StoredStatus,
  Subscription,
  Task,
  TaskContext,
  TaskDb,
  TaskRecord,
  TaskState,
  TaskStatus,
} from './task.js';

export { QueueAdmin } from './admin/queue-admin.js';
export type { BulkCancelOptions, Cancellable, CancelledTasks, CancelOptions } from './admin/cancellation.js';
export type { CheckOptions } from './admin/check-options.js';
export type { PageOptions } from './admin/page-options.js';
export type { Pausable, Pause } from './admin/pauses.js';
export type {
  EndedTask,
  TaskCount,
  TaskHistory,
  TaskPage,
  UnservedRoute,
  WaitingTask,
} from './admin/task-answers.js';
export type { QueueProblem } from './admin/problems.js';
export type { QueueStatus, StatusOptions } from './admin/queue-status.js';
export type { WaitOptions } from './admin/wait-for-end.js';
export type {
  BuriedCounts,
  CappedCount,
  NextTask,
  PendingTask,
  RunningTask,
  SnapshotHolder,
  StatusCount,
  StatusReport,
  StatusTask,
  TableSize,
  UnheardSubscription,
  UnknownSection,
  UnservedCount,
  WaitingRoute,
  WorkerStall,
  WorkerStatus,
} from './storage/status-report.js';
export type { Inconsistency, InconsistencyKind } from './storage/inconsistencies.js';
export type { Schedule, ScheduleAdmin } from './admin/schedule-admin.js';
export type { ScheduleRule } from './storage/schedules.js';
export type { SubscriptionAdmin } from './admin/subscription-admin.js';
export type { SubscriptionInput } from './admin/subscription-input.js';
export type { SubscriptionRecord } from './storage/subscriptions.js';
export type {
  BulkBlock,
  BulkFilter,
  BulkKind,
  BulkPlan,
  BulkRun,
  MeantCount,
  RefusedTask,
} from './admin/bulk-run.js';
export type { BuriedChoice, TaskFilter, TaskStateName } from './admin/task-filter.js';
export { QueueWebhooks } from './webhooks/queue-webhooks.js';
export type { DeliveryFilter, PingResult, WebhookEndpoint } from './webhooks/queue-webhooks.js';
export type { CircuitOptions, WebhookOptions } from './options/webhook-options.js';
export type { ServerOptions } from './options/server-options.js';
export { SubscriberWebhook } from './subscribers/subscriber-webhook.decorator.js';
export {
  WebhookGuard,
  type SignedRequest,
  type WebhookGuardOptions,
  type WebhookSecrets,
} from './webhooks/receiver/webhook.guard.js';
export {
  verifySignature,
  WebhookSignatureError,
  type HeaderFields,
  type SignatureProblem,
  type VerifiedWebhook,
  type VerifyOptions,
} from './webhooks/signature.js';
export { TenantDatabases } from './tenants/tenant-databases.js';
export type { Once, OnceOptions, TenantAnswer, TenantDb, TenantSql } from './storage/tenant-db.js';
export type {
  TenantDatabaseOptions,
  TenantResolver,
  TenantServiceOptions,
} from './options/tenant-options.js';
export type { TenantPoolStats } from './tenants/tenant-pools.js';
export { QueueWorker } from './worker/queue-worker.js';
export type { LoopDelay } from './worker/loop-monitor.js';
export { RetryRoutine } from './maintenance/retry.routine.js';
export { NotifyRoutine } from './maintenance/notify.routine.js';
export { PurgeRoutine } from './maintenance/purge.routine.js';

export { startEmbeddedPostgres } from './embedded/embedded-postgres.js';
export type { EmbeddedPostgres, EmbeddedPostgresOptions } from './embedded/embedded-options.js';
