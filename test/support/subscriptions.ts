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
  const complete = rows.map((row) => ({ processo: 'order-placed', ativo: true, ...row }));
  await pool.query(
    `insert into tasks_subscriber (id, processo, tenant, grupo_empresarial, ativo, url, http_method, headers)
     select id, processo, tenant, grupo_empresarial, ativo, url, http_method, headers
     from json_populate_recordset(null::tasks_subscriber, $1)`,
    [JSON.stringify(complete)],
  );
}
