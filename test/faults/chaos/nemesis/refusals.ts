import type { Random } from '../prng.js';
import type { Action } from './action.js';
import { comes } from './action.js';

/** How a database is made to refuse a row. */
export interface Refusing {
  readonly name: string;
  /** Statements by which rows are refused, each counted, for which a condition holds; `column()` names one of the new row. */
  readonly refuse: (condition: (column: (name: string) => string) => string) => Promise<void>;
  readonly accept: () => Promise<void>;
  /** Refused so far, by all that were made. */
  readonly count: () => Promise<number>;
}

interface Refused {
  /** The task whose rows are refused, and what it does. */
  readonly kind: string;
  readonly payload: object;
  readonly what: string;
  readonly condition: (column: (name: string) => string) => string;
}

const failing = { failures: 1 };
const steps: readonly Refused[] = [
  ...[
    { what: 'claim', status: 'processando', kind: 'plain', payload: {} },
    { what: 'success', status: 'sucesso', kind: 'transaction', payload: {} },
    { what: 'success of a plain task', status: 'sucesso', kind: 'plain', payload: {} },
    { what: 'failure', status: 'falha', kind: 'flaky transaction', payload: failing },
  ].map(({ status, ...rest }) => ({
    ...rest,
    condition: (column: (name: string) => string) => `${column('status')} = '${status}'`,
  })),
  {
    what: 'next attempt',
    kind: 'flaky plain',
    payload: failing,
    condition: (column) => `${column('tentativa')} > 1`,
  },
];

/** When the task is due: the refusal is in force before. */
const delayMs = 1_500;

/** Something of the user's refuses one row of a task, for a while; all others go on. */
export function refuseOne({ name, refuse, accept, count }: Refusing): Action {
  return {
    name,
    group: name,
    do: async ({ producer }, random: Random) => {
      const { kind, payload, what, condition } = random.pick(steps);
      const before = await count();
      const key = await producer.insert(kind, payload, delayMs);
      await refuse((column) => `${column('origem')} = '${key}' and ${condition(column)}`);
      const isMet = await comes(async () => (await count()) > before, delayMs + 3_000);
      return isMet ? `${what} of ${key} refused` : undefined;
    },
    undo: accept,
  };
}
