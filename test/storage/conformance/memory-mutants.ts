import type { MemoryDatabase } from '../../../lib/storage/memory/memory-database.js';
import type { MemoryTable } from '../../../lib/storage/memory/memory-table.js';
import type { ClaimDemand, Claims } from '../../../lib/storage/claims.js';
import type { SuiteName } from './exercise.js';

/** A database in memory without one of its guards. */
export interface MemoryMutant {
  readonly name: string;
  readonly suite: SuiteName;
  readonly breaks: (database: MemoryDatabase) => void;
}

/** Replaces methods of a part. */
export function replace<Part extends object>(
  part: Part,
  methods: Partial<Record<keyof Part, unknown>>,
): void {
  for (const [name, method] of Object.entries(methods)) {
    Object.defineProperty(part, name, { value: method, configurable: true });
  }
}

/** A fence that asks for less. */
function fence(
  isHeld: (row: NonNullable<ReturnType<MemoryTable['row']>>, ...held: HeldArguments) => boolean,
) {
  return ({ table }: MemoryDatabase): void =>
    replace(table, {
      held: (...held: HeldArguments) => {
        const row = table.row(held[1].id);
        return row && isHeld(row, ...held) ? row : undefined;
      },
    });
}

type HeldArguments = Parameters<MemoryTable['held']>;

const withoutWorker = fence(
  (row, _, claim) => row['status'] === 'processando' && row['reserva'] === String(claim.reservation),
);
const withoutReservation = fence(
  (row, workerId) => row['status'] === 'processando' && row['executor'] === workerId,
);
const withoutStatus = fence(
  (row, workerId, claim) => row['executor'] === workerId && row['reserva'] === String(claim.reservation),
);

const fenced: readonly SuiteName[] = ['claims', 'attempts', 'fan-out', 'transactions'];

/** Claims that ask for something else than they were asked for. */
function claiming(change: (demand: ClaimDemand) => ClaimDemand) {
  return (database: MemoryDatabase): void => {
    const claimsOf = database.claimsOf.bind(database);
    replace(database, {
      claimsOf: (workerId: string) => {
        const claims: Claims = claimsOf(workerId);
        const settleAndClaim = claims.settleAndClaim.bind(claims);
        replace(claims, {
          settleAndClaim: (...[completions, demand]: Parameters<typeof settleAndClaim>) =>
            settleAndClaim(completions, demand && change(demand)),
        });
        return claims;
      },
    });
  };
}

export const memoryMutants: readonly MemoryMutant[] = [
  ...fenced.flatMap((suite) => [
    { name: `${suite} without executor`, suite, breaks: withoutWorker },
    { name: `${suite} without reserva`, suite, breaks: withoutReservation },
    { name: `${suite} without status`, suite, breaks: withoutStatus },
  ]),
  {
    name: 'claims without a new reserva',
    suite: 'claims',
    breaks: ({ table }) =>
      replace(table, {
        hold: (row: Record<string, string>, workerId: string) =>
          Object.assign(row, { status: 'processando', executor: workerId, reserva: '1' }),
      }),
  },
  {
    name: 'claims without a total',
    suite: 'claims',
    breaks: claiming((demand) => ({ ...demand, total: 100 })),
  },
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
    name: 'claims live and dead alike',
    suite: 'claims',
    breaks: claiming(({ routes, ...rest }) => ({
      ...rest,
      routes: routes.map(({ route, limit }) => ({ route, limit })),
    })),
  },
  {
    name: 'pauses nothing',
    suite: 'claims',
    breaks: ({ table }) => replace(table.paused, { has: () => false }),
  },
  {
    name: 'later attempts without the payload of the first',
    suite: 'attempts',
    breaks: ({ table }) =>
      replace(table, { payloadOf: (row: Record<string, string>) => row['payload'] ?? null }),
  },
  {
    name: 'promotes without a limit',
    suite: 'attempts',
    breaks: ({ attempts }) => {
      const promote = attempts.promote.bind(attempts);
      replace(attempts, { promote: () => promote(100) });
    },
  },
  {
    name: 'held by a worker that is back',
    suite: 'holders',
    breaks: ({ attempts }) => {
      const heldBy = attempts.heldBy.bind(attempts);
      replace(attempts, { heldBy: (workerId: string, limit: number) => heldBy(workerId, limit) });
    },
  },
  {
    name: 'groups complete what they can',
    suite: 'groups',
    breaks: ({ table }) => {
      const held = table.held.bind(table);
      // Enough of a row to be written to.
      replace(table, { held: (...asked: HeldArguments) => held(...asked) ?? {} });
    },
  },
  {
    name: 'retires a worker that holds attempts',
    suite: 'workers',
    breaks: ({ workers, table }) =>
      replace(workers, {
        retire: async (id: string) => {
          const worker = table.workers.get(id);
          if (worker) worker.stoppedAt = table.nowMs;
        },
      }),
  },
  {
    name: 'lost at the first look',
    suite: 'workers',
    breaks: ({ workers }) => replace(workers, { confirmLost: async (missing: readonly string[]) => missing }),
  },
  {
    name: 'lost however briefly',
    suite: 'workers',
    breaks: ({ workers }) => {
      const confirmLost = workers.confirmLost.bind(workers);
      replace(workers, { confirmLost: (missing: readonly string[]) => confirmLost(missing, 0) });
    },
  },
  {
    name: 'forgets whoever is there',
    suite: 'workers',
    breaks: ({ workers, table }) => replace(workers, { forget: async () => table.workers.clear() }),
  },
  {
    name: 'purges whatever it is given',
    suite: 'upkeep',
    breaks: ({ upkeep, table }) =>
      replace(upkeep, {
        purge: async (ids: readonly string[]) => {
          table.remove(ids);
          return ids.length;
        },
      }),
  },
  {
    name: 'declares over what is there',
    suite: 'subscriptions',
    breaks: ({ subscriptions, table }) => {
      const declare = subscriptions.declare.bind(subscriptions);
      replace(subscriptions, {
        declare: (...asked: Parameters<typeof declare>) => {
          table.subscriptions.clear();
          return declare(...asked);
        },
      });
    },
  },
  {
    name: 'old secrets sign for ever',
    suite: 'endpoints',
    breaks: ({ endpoints }) => {
      const addSecret = endpoints.addSecret.bind(endpoints);
      replace(endpoints, {
        addSecret: (...[id, secret]: Parameters<typeof addSecret>) => addSecret(id, secret, Infinity),
      });
    },
  },
];
