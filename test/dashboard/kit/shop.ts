import type { Pool } from 'pg';
import { subscribe } from '../../support/subscriptions.js';
import { seedHistory, seedTask, seedTasks, type SeedMinute, type SeedTask } from './seed.js';

/** Attempts of a day on a route: as many as shops have, most of them in the evening. */
function dayOf({
  perMinute,
  failing = 0,
  waitMs = 40,
  runMs = 60,
  at = 0,
}: {
  readonly perMinute: number;
  /** Part of them that fails. */
  readonly failing?: number;
  readonly waitMs?: number;
  readonly runMs?: number;
  readonly at?: number;
}): ReadonlyMap<number, SeedMinute> {
  const around = (middle: number, ago: number): readonly number[] =>
    [0.4, 0.7, 0.8, 1, 1, 1.1, 1.4, 2, 4].map((part) => middle * part * (1 + 0.4 * wave(ago / 7 + at)));
  return new Map(
    Array.from({ length: 1_440 }, (_, ago) => {
      const count =
        perMinute * (1 + 0.6 * wave(ago / 720) + 0.25 * wave(ago / 11 + at) + 0.1 * wave(ago * 1.7));
      const failed = Math.round(count * failing * (1 + wave(ago / 5 + at)));
      return [
        ago,
        {
          succeeded: Math.round(count) - failed,
          failed,
          buried: failed > 3 ? 1 : 0,
          waitsMs: around(waitMs, ago),
          runsMs: around(runMs, ago + 3),
        },
      ];
    }),
  );
}

/** -1 to 1, the same at each run. */
function wave(turn: number): number {
  return Math.sin(turn * 2 * Math.PI);
}

const order = {
  id: 80_412,
  total: 12_990,
  currency: 'BRL',
  customer: { name: 'Ana Souza', email: 'ana@example.com' },
};
const orderText = JSON.stringify({
  ...order,
  lines: [{ sku: 'TEA-GREEN-250', quantity: 2 }],
  cardToken: 'tok_1',
});

/** Ids that pictures lead to. */
export interface ShopIds {
  /** Failed three times, and was given up. */
  readonly failed: string;
}

/** The queue of a shop on an evening on which its partner's endpoint is down. */
export async function seedShop(pool: Pool): Promise<ShopIds> {
  await pool.query(`select setval('tasks_id_seq', 1204300)`);
  await subscribe({ pool }, [
    { id: 'receipt' },
    { id: 'search-index' },
    { id: 'stock' },
    {
      id: 'crm',
      url: 'https://crm.example.com/hooks/orders',
      http_method: 'POST',
      headers: { 'X-Shop': 'tea' },
    },
    { id: 'loyalty', url: 'https://loyalty.example.com/orders', http_method: 'POST' },
    { id: 'old-erp', url: 'https://erp.example.com/in', http_method: 'PUT', ativo: false },
  ]);
  await pool.query(
    `insert into tasks_webhook (subscriber_id, secrets, failures, failing_since, last_success_at, open_until, deactivated_at,
       deactivated_for)
     values ('crm', '[]', 7, now() - interval '14 minutes', now() - interval '15 minutes', now() + interval '6 minutes',
         null, null),
       ('loyalty', '[]', 0, null, now() - interval '20 seconds', null, null, null)`,
  );
  await pool.query(
    `insert into tasks_paused (route, paused_at) values ('t:send-survey', now() - interval '25 minutes')`,
  );
  const history = {
    's:receipt': dayOf({ perMinute: 34, failing: 0.01, runMs: 140 }),
    's:search-index': dayOf({ perMinute: 34, runMs: 18, at: 0.2 }),
    's:stock': dayOf({ perMinute: 34, failing: 0.02, runMs: 30, at: 0.4 }),
    's:loyalty': dayOf({ perMinute: 34, runMs: 210, at: 0.6 }),
    's:crm': dayOf({ perMinute: 8, failing: 0.6, runMs: 400, waitMs: 600 }),
    't:charge-card': dayOf({ perMinute: 31, failing: 0.015, runMs: 420, waitMs: 15, at: 0.3 }),
    't:resize-photo': dayOf({ perMinute: 12, runMs: 900, waitMs: 160, at: 0.8 }),
  };
  for (const [route, minutes] of Object.entries(history)) await seedHistory(pool, route, minutes);
  await seedHistory(
    pool,
    '',
    new Map(
      Array.from({ length: 1_440 }, (_, ago) => [
        ago,
        { lagMs: 400 + 350 * wave(ago / 47) + 300 * wave(ago / 6) },
      ]),
    ),
  );
  await seedEnded(pool);
  await seedTasks(pool, [
    ...Array.from({ length: 42 }, () => ({ topic: 'send-survey', due: -40 })),
    ...[130, 340, 900, 1_800, 3_600, 7_200, 86_400].map((due) => ({ topic: 'remind-of-cart', due })),
  ]);
  return { failed: await seedFailed(pool) };
}

/** What was done in the last minutes. */
async function seedEnded(pool: Pool): Promise<void> {
  const routes: readonly SeedTask[] = [
    { topic: 'charge-card' },
    { topic: 'order-placed', subscriptionId: 'receipt' },
    { topic: 'order-placed', subscriptionId: 'stock' },
    { topic: 'order-placed', subscriptionId: 'loyalty' },
    { topic: 'resize-photo' },
    {
      topic: 'order-placed',
      subscriptionId: 'crm',
      status: 'failed',
      message: 'HTTP 503 from crm.example.com',
    },
  ];
  await seedTasks(
    pool,
    Array.from({ length: 60 }, (_, n): SeedTask => {
      const due = -(60 - n) * 3;
      const started = due + 0.04;
      return {
        status: 'succeeded',
        ...routes[n % routes.length],
        due,
        started,
        finished: started + 0.02 + (n % 7) * 0.05,
        key: `order-${80_300 + n}`,
        tenant: (n % 3) + 1,
      };
    }),
  );
}

async function seedFailed(pool: Pool): Promise<string> {
  const own = {
    topic: 'charge-card',
    key: 'order-80412',
    tenant: 2,
    priority: 80,
    status: 'failed',
    payload: orderText,
  } as const;
  const at = (due: number, ranFor: number) => ({ due, started: due + 0.03, finished: due + 0.03 + ranFor });
  const firstId = await seedTask(pool, {
    ...own,
    ...at(-840, 10),
    retried: true,
    message: 'the bank did not answer within 10 s',
  });
  const previousId = await seedTask(pool, {
    ...own,
    ...at(-540, 10),
    attempt: 2,
    firstId,
    previousId: firstId,
    retried: true,
    message: 'the bank did not answer within 10 s',
  });
  const id = await seedTask(pool, {
    ...own,
    ...at(-240, 0.412),
    attempt: 3,
    firstId,
    previousId,
    exhausted: true,
    message: 'the bank refused the card: insufficient funds',
    error: 'BankError: the bank refused the card: insufficient funds\n    at charge (shop/cards.ts:41:11)',
  });
  await seedTask(pool, {
    ...own,
    ...at(-239, 0.08),
    status: 'succeeded',
    dead: true,
    liveId: firstId,
    result: '{"informed":"ana@example.com"}',
  });
  return id;
}
