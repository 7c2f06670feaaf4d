import type { ArmedPoint, moments } from './failpoints.js';

export type Moment = (typeof moments)[number];

/** A boundary of a transition, and how a worker is brought there. */
export interface FailpointScenario {
  /** What the worker was about to do; scenarios of one name share their point's method with others. */
  readonly name: string;
  readonly method: string;
  /** Which call of the method, in a process that has nothing else to do. Default: the first. */
  readonly hit?: number;
  /** Moments that differ: a call that only reads is as good as not made until its answer is there. */
  readonly moments?: readonly Moment[];
  /** Kind of the task that is inserted, and its payload; undefined when it needs none of its own. */
  readonly kind?: string;
  readonly payload?: object;
  /** The task is due, but filed for later. */
  readonly scheduled?: true;
  /** The task is not there yet: a schedule is due, and makes it. */
  readonly recurring?: true;
  /** The task is held by a worker that nobody knows any more. */
  readonly orphaned?: true;
  /** Workers of nsj-queue-lib serve the table too; one of them was killed with the task, when that is `abandoned`. */
  readonly interop?: 'beside' | 'abandoned';
  /** The worker is told to purge once there is something old. */
  readonly purges?: true;
  /** Another fault that leads there. */
  readonly first?: ArmedPoint;
  /** Status of the task's first attempt when the process died before and after: the point is where it should be. */
  readonly from?: string;
  readonly to?: string;
}

const answered = ['after'] as const;
const claimed = { from: 'processando' } as const;

/** Groups that run at the same time, each on a database of its own. */
export const scenarioGroups: readonly (readonly FailpointScenario[])[] = [
  [
    { name: 'claim', method: 'claims.settleAndClaim', kind: 'plain', from: 'pendente', to: 'processando' },
    { name: 'settle', method: 'claims.settleAndClaim', hit: 2, kind: 'plain', ...claimed, to: 'sucesso' },
    { name: 'start', method: 'transaction.query', kind: 'transaction', ...claimed, to: 'processando' },
    { name: 'complete', method: 'transaction.complete', kind: 'transaction', ...claimed, to: 'sucesso' },
    {
      name: 'complete elsewhere',
      method: 'transactions.completeIn',
      kind: 'elsewhere',
      ...claimed,
      to: 'processando',
    },
    {
      name: 'load the payload',
      method: 'attempts.loadPayload',
      moments: answered,
      kind: 'large',
      to: 'processando',
    },
    { name: 'prepare', method: 'database.prepare', moments: answered },
    { name: 'register', method: 'workers.register' },
  ],
  [
    { name: 'fail', method: 'attempts.failMany', kind: 'flaky transaction', ...claimed, to: 'falha' },
    {
      name: 'roll back',
      method: 'transaction.rollback',
      kind: 'flaky transaction',
      ...claimed,
      to: 'processando',
    },
    // The failures of attempts 1 and 2 come before.
    { name: 'bury', method: 'attempts.failMany', hit: 3, kind: 'doomed', from: 'falha', to: 'falha' },
    { name: 'fan out', method: 'attempts.fanOutMany', kind: 'publication', ...claimed, to: 'sucesso' },
    {
      name: 'promote',
      method: 'attempts.promote',
      kind: 'plain',
      scheduled: true,
      from: 'agendada',
      to: 'pendente',
    },
    {
      name: 'move a schedule',
      method: 'schedules.move',
      kind: 'plain',
      recurring: true,
      from: 'none',
      to: 'pendente',
    },
    {
      name: 'release',
      method: 'attempts.releaseMany',
      kind: 'plain',
      first: { point: 'claims.settleAndClaim:after', action: 'error' },
      ...claimed,
      to: 'pendente',
    },
    {
      name: 'read the outcome',
      method: 'attempts.readOutcome',
      moments: answered,
      kind: 'transaction',
      first: { point: 'transaction.complete:after', action: 'error' },
      to: 'sucesso',
    },
    { name: 'find routes', method: 'attempts.routeHeads', moments: answered },
  ],
  [
    {
      name: 'look for holders that nobody knows',
      method: 'workers.unregisteredHolders',
      moments: answered,
      kind: 'plain',
      orphaned: true,
      to: 'processando',
    },
    {
      name: 'find the lost',
      method: 'liveness.findMissing',
      moments: answered,
      kind: 'plain',
      orphaned: true,
      to: 'processando',
    },
    {
      name: 'write down who is missing',
      method: 'workers.confirmLost',
      moments: answered,
      kind: 'plain',
      orphaned: true,
      to: 'processando',
    },
    {
      name: 'read what they hold',
      method: 'attempts.heldBy',
      moments: answered,
      kind: 'plain',
      orphaned: true,
      to: 'processando',
    },
    { name: 'recover', method: 'attempts.failMany', kind: 'plain', orphaned: true, ...claimed, to: 'falha' },
    {
      name: 'take over what another library left',
      method: 'interop.takeOver',
      kind: 'plain',
      interop: 'abandoned',
      ...claimed,
      to: 'processando',
    },
    {
      name: 'give back the locks of tasks',
      method: 'interop.keepTaskLocks',
      hit: 2,
      kind: 'plain',
      interop: 'beside',
      from: 'sucesso',
      to: 'sucesso',
    },
    {
      name: 'retire the lost',
      method: 'workers.retire',
      kind: 'plain',
      orphaned: true,
    },
    {
      name: 'find what is old',
      method: 'upkeep.findPurgeable',
      moments: answered,
      kind: 'plain',
      purges: true,
      to: 'sucesso',
    },
    { name: 'purge', method: 'upkeep.purge', kind: 'plain', purges: true, from: 'sucesso', to: 'gone' },
    {
      name: 'forget workers',
      method: 'workers.forget',
      kind: 'plain',
      purges: true,
      from: 'gone',
      to: 'gone',
    },
  ],
];

/** Methods with points that no transition goes through, and why they may be left out. */
export const withoutScenario: Readonly<Record<string, string>> = {
  'transactions.begin': 'makes an object',
  'transactions.beginGroup': 'makes an object: test/worker/grouped breaks it at each of its points',
  'transactions.endSession':
    'ends a statement of a thread or process that is gone: test/worker/children does it',
  'database.inTransaction': 'runs what others send: prepare has a scenario',
  'upkeep.prepareAhead': 'does nothing to a plain table: test/storage/partitions breaks it',
  'upkeep.purgeAtOnce': 'does nothing to a plain table: test/storage/partitions breaks it',
  'attempts.noteProgress': 'writes a message that nothing depends on',
  'attempts.snoozeMany':
    'one guarded statement: who dies before it leaves a running attempt, as before failMany',
  'attempts.handOver':
    'one guarded statement of a detached process, which is killed there in test/worker/children',
  'attempts.findUnfollowed': 'only reads, a moment after a failure',
  'attempts.insertNext':
    'one transaction for what must not be; who dies before it leaves it to `tarefa check`',
  'attempts.waitingRoutes': 'only reads, for the notify routine and a moment after a ring',
  'admin.ping': 'only reads, for an operator',
  'admin.counts': 'only reads, for an operator',
  'admin.oldestPending': 'only reads, for an operator',
  'admin.list': 'only reads, for an operator',
  'admin.notifyUsage': 'only reads, for an operator',
  'database.explainRefusal': 'only reads, once a command or an action was refused',
  'database.findHidden': 'only reads, each minute; what cannot be asked stays as it was',
  'admin.attemptsOf': 'only reads, for an operator',
  'admin.deadTasksOf': 'only reads, for an operator',
  'admin.retry': 'one statement of an operator, who hears whether it failed: test/admin',
  'admin.retryEdited': 'as admin.retry',
  'admin.runNow': 'as admin.retry',
  'admin.cancel': 'as admin.retry',
  'admin.bury': 'as admin.retry',
  'admin.delete': 'as admin.retry',
  'admin.countMeant': 'only reads, for an operator',
  'admin.runBlock': 'one transaction of an operator, repeatable: test/admin/bulk',
  'admin.pause': 'as admin.retry',
  'admin.resume': 'as admin.retry',
  'admin.paused': 'only reads, for an operator',
  'reports.status': 'only reads, for an operator',
  'reports.workers': 'only reads, for an operator',
  'reports.nextScheduled': 'only reads, for an operator',
  'reports.waitingRoutes': 'only reads, for an operator',
  'reports.search': 'only reads, for an operator',
  'reports.lastAttempts': 'only reads, for an operator',
  'reports.payload': 'only reads, for an operator',
  'reports.check': 'only reads, for an operator',
  'reports.history': 'only reads, for an operator',
  'reports.measure': 'only reads, for an operator',
  'reports.addHistory': 'what cannot be written is kept for the next time: test/observability/history',
  'reports.condenseHistory': 'charts only; done again in the next minute',
  'upkeep.describe': 'only reads, for an operator',
  'upkeep.families': 'only reads, after a refused purge',
  'workers.haltAll': 'one statement of an operator: test/worker/halt',
  'workers.detachedOn': 'only reads, every few seconds',
  'workers.revive': 'before the first claim, and after a lost session; a worker that dies is found anyway',
  'workers.renewLease': 'repeated by the thread: test/coordination/lease',
  'workers.findMissing': 'as liveness.findMissing, which calls it',
  'workers.runAlone': 'a lock of a transaction, which goes with it',
  'subscriptions.declare':
    'before the start: test/subscribers/registration lets several processes do it at once',
  'subscriptions.list': 'only reads, for an operator',
  'subscriptions.find': 'only reads, for an operator',
  'subscriptions.add': 'one statement of an operator, who hears whether it failed: test/admin/subscriptions',
  'subscriptions.change': 'as subscriptions.add',
  'subscriptions.remove': 'as subscriptions.add',
  'inserts.insert':
    'one statement of a producer: the workload of chaos inserts from processes that are killed',
  'inserts.insertMany': 'as inserts.insert',
  'inserts.into': 'keeps what the start has found, and sends nothing',
  'inserts.listEquivalent': 'only reads, for a producer',
  'endpoints.pausedRoutes':
    'only reads, before a claim; a turn to probe that is lost passes on after its time',
  'endpoints.haveUrls': 'only reads, when a route turns up',
  'endpoints.address': 'only reads, before a request',
  'endpoints.find': 'only reads, for an operator',
  'endpoints.list': 'only reads, for an operator',
  'endpoints.failing': 'only reads, for an operator',
  'endpoints.secrets': 'only reads, before a request',
  'endpoints.isSigned': 'only reads, for an operator',
  'endpoints.sealKeys': 'only reads, before a request',
  'endpoints.noteSuccess':
    'one statement after a request; the attempt ends the same without it: test/webhooks/circuit',
  'endpoints.noteFailure': 'as endpoints.noteSuccess',
  'endpoints.deactivate': 'as endpoints.noteSuccess',
  'endpoints.reactivate': 'one statement of an operator: test/webhooks/queue-webhooks',
  'endpoints.addSecret': 'as endpoints.reactivate',
  'endpoints.moveSecrets': 'one statement of an operator, repeatable: test/webhooks/moved-subscription',
  'endpoints.forget': 'as endpoints.reactivate',
  'schedules.due': 'only reads, when a schedule may be due',
  'schedules.compare': 'only reads',
  'schedules.declare': 'repeatable, at a start',
  'schedules.clock': 'only reads',
  'schedules.list': 'only reads',
  'schedules.find': 'only reads',
  'schedules.add': 'one statement of an operator: test/admin/schedules',
  'schedules.change': 'as schedules.add',
  'schedules.remove': 'as schedules.add',
  'schedules.pause': 'as schedules.add',
  'schedules.resume': 'as schedules.add',
  'attempts.nextDue': 'only reads, at a poll',
  'workers.withdraw': "nothing is claimed yet, and the id is another worker's: test/worker/emptied-tables",
  'workers.restore': 'one statement, made again at the next poll: test/worker/emptied-tables',
  'workers.isHalted': 'only reads, at a poll or when it is rung for',
  'attempts.pausedRoutes': 'only reads, before a claim',
  'attempts.standing': 'only reads, at a poll',
  'claims.wouldClaim': 'only reads, before a worker waits to run an attempt alone',
  'claims.claimUnattended':
    'claims by one statement, as settleAndClaim does: what it took is recovered in the same way',
  'claims.endUnreadable':
    'one guarded statement; what it did not end is met again: test/worker/unreadable-tasks',
  'database.claimsOf': 'makes an object',
  'claims.setApart': 'changes nothing that stays: test/worker/refused-rows',
  'claims.openAnother': 'opens a connection',
  'claims.heard': 'sends nothing',
  'claims.invalidate': 'sends nothing',
  'interop.findForeignLocks': 'only reads, with interop',
  'database.classify': 'sends nothing',
  'database.close': 'nothing runs any more',
  'transaction.client': 'opens the transaction as the first statement does',
  'transaction.destroy': 'for handlers that timed out; the process lives on',
  'liveness.hold': 'nothing is claimed yet; its worker is registered, as in the scenario of workers.register',
};
