import type { TestDatabase } from './database.js';

/** A row of the subscriptions table. */
export interface SubscriptionRow {
  readonly id: string;
  readonly processo?: string;
  readonly tenant?: number | null;
  readonly grupo_empresarial?: string | null;
  readonly ativo?: boolean;
  readonly url?: string | null;
  readonly http_method?: string | null;
  readonly headers?: Readonly<Record<string, string>> | null;
}

/** Subscribes to the topic `order-placed` of the queue `tasks`, where nothing else is said. */
export async function subscribe(
  { pool }: Pick<TestDatabase, 'pool'>,
  rows: readonly SubscriptionRow[],
): Promise<void> {
  const columns = [
    'id',
    'processo',
    'tenant',
    'grupo_empresarial',
    'ativo',
    'url',
    'http_method',
    'headers',
  ] as const;
  const values = rows.flatMap((row) => {
    const complete: SubscriptionRow = { processo: 'order-placed', ativo: true, ...row };
    return columns.map((column) => complete[column] ?? null);
  });
  const places = rows.map(
    (_, n) => `(${columns.map((__, m) => `$${n * columns.length + m + 1}`).join(', ')})`,
  );
  await pool.query(
    `insert into tasks_subscriber (${columns.join(', ')}) values ${places.join(', ')}`,
    values,
  );
}
