import type { ClaimDemand } from '../../../lib/storage/claims.js';
import type { QueueDatabase } from '../../../lib/storage/database.js';
import type { SuiteName } from './exercise.js';
import { replaced } from './mutant.js';

/** A database of which a method keeps less than its contract, whatever its statements. */
export interface MethodMutant {
  readonly name: string;
  readonly suite: SuiteName;
  readonly breaks: (database: QueueDatabase) => QueueDatabase;
}

/** Breaks methods of one part. */
function broken<Name extends 'admin' | 'reports' | 'subscriptions' | 'upkeep' | 'workers'>(
  name: Name,
  methods: (own: QueueDatabase[Name]) => Partial<QueueDatabase[Name]>,
): MethodMutant['breaks'] {
  return (database) => {
    const part: QueueDatabase[Name] = replaced(database[name], methods(database[name]));
    return replaced(database, { [name]: part });
  };
}

/** Claims that ask for something else than they were asked for. */
function claiming(change: (demand: ClaimDemand) => ClaimDemand): MethodMutant['breaks'] {
  return (database) =>
    replaced(database, {
      claimsOf: (...worker) => {
        const own = database.claimsOf(...worker);
        return replaced(own, {
          settleAndClaim: (completions, demand) => own.settleAndClaim(completions, demand && change(demand)),
        });
      },
    });
}

export const methodMutants: readonly MethodMutant[] = [
  {
    name: 'claims without limits of routes',
    suite: 'claims',
    breaks: claiming(({ routes, ...rest }) => ({
      ...rest,
      routes: routes.map((route) => ({ ...route, limit: 100 })),
    })),
  },
  {
    name: 'claims by age only',
    suite: 'claims',
    breaks: claiming((demand) => ({ ...demand, order: 'age' })),
  },
  {
    name: 'claims in the order of the list only',
    suite: 'claims',
    breaks: claiming((demand) => ({ ...demand, order: 'listed' })),
  },
  {
    name: 'declares over what is there',
    suite: 'subscriptions',
    breaks: broken('subscriptions', (own) => ({
      declare: async (declared) => {
        for (const { id } of declared) await own.remove(id);
        return own.declare(declared);
      },
    })),
  },
  {
    name: 'a list has no end',
    suite: 'admin',
    breaks: broken('admin', (own) => ({
      list: (selection, page) => own.list(selection, { ...page, limit: 1_000 }),
    })),
  },
  {
    name: 'a list begins at the newest',
    suite: 'admin',
    breaks: broken('admin', (own) => ({
      list: (selection, page) => own.list(selection, { ...page, greatest: 2n ** 62n }),
    })),
  },
  {
    name: 'a list means everything',
    suite: 'admin',
    breaks: broken('admin', (own) => ({ list: (_, page) => own.list({}, page) })),
  },
  {
    name: 'payloads are always read',
    suite: 'admin',
    breaks: broken('admin', (own) => ({ attemptsOf: (id) => own.attemptsOf(id, true) })),
  },
  {
    name: 'dead tasks are not found',
    suite: 'admin',
    breaks: broken('admin', () => ({ deadTasksOf: async () => [] })),
  },
  {
    name: 'nothing is retried',
    suite: 'admin',
    breaks: broken('admin', () => ({ retry: async () => undefined })),
  },
  {
    name: 'an edited retry keeps the payload',
    suite: 'admin',
    breaks: broken('admin', (own) => ({ retryEdited: (id) => own.retry(id) })),
  },
  {
    name: 'every task is run now',
    suite: 'admin',
    breaks: broken('admin', () => ({ runNow: async () => true })),
  },
  {
    name: 'every task is cancelled',
    suite: 'admin',
    breaks: broken('admin', () => ({
      cancel: async (target) =>
        ('ids' in target ? target.ids : ['1']).map((id) => ({
          id,
          firstAttemptId: id,
          attempt: 1,
          topic: 'a',
          subscriptionId: null,
          dead: false,
          runs: false,
        })),
    })),
  },
  {
    name: 'a burial leaves no dead task',
    suite: 'admin',
    breaks: broken('admin', (own) => ({
      bury: async (id, message) =>
        (await own.cancel({ ids: [id] }, { by: null, message })).length > 0 ? id : undefined,
    })),
  },
  {
    name: 'a pause does nothing',
    suite: 'admin',
    breaks: broken('admin', () => ({ pause: async () => undefined })),
  },
  {
    name: 'a pause does not end',
    suite: 'admin',
    breaks: broken('admin', () => ({ resume: async () => undefined })),
  },
  {
    name: 'a status always counts what has ended',
    suite: 'reports',
    breaks: broken('reports', (own) => ({ status: (request) => own.status({ ...request, ended: true }) })),
  },
  {
    name: 'a status always counts what can be purged',
    suite: 'reports',
    breaks: broken('reports', (own) => ({
      status: (request) => own.status({ ...request, purgeable: true }),
    })),
  },
  {
    name: 'workers that have stopped are listed',
    suite: 'reports',
    breaks: broken('workers', () => ({ retire: async () => undefined })),
  },
  {
    name: 'what comes next has no end',
    suite: 'reports',
    breaks: broken('reports', (own) => ({ nextScheduled: () => own.nextScheduled(99) })),
  },
  {
    name: 'a search accepts everything',
    suite: 'reports',
    breaks: broken('reports', (own) => ({
      search: (selection, page) => own.search(selection, { ...page, accept: undefined }),
    })),
  },
  {
    name: 'nothing is measured',
    suite: 'reports',
    breaks: broken('reports', () => ({ measure: async () => new Map() })),
  },
  {
    name: 'a check finds nothing',
    suite: 'checks',
    breaks: broken('reports', () => ({ check: async () => [] })),
  },
  {
    name: 'nothing is described',
    suite: 'reports',
    breaks: broken('upkeep', () => ({ describe: async () => [] })),
  },
];
