import type { Pool } from 'pg';
import { histogramOf } from '../../../lib/values/histogram.js';
import type { TaskStatus } from '../../../lib/index.js';
import { statusColumn } from '../../../lib/storage/columns.js';

/** An attempt as it is put into the table. Times are seconds from now: below 0 in the past. */
export interface SeedTask {
  readonly topic?: string | null;
  /** Default `pending`. */
  readonly status?: TaskStatus;
  readonly due?: number;
  readonly started?: number;
  readonly finished?: number;
  readonly next?: number;
  readonly attempt?: number;
  readonly firstId?: string;
  /** The attempt that this one follows. */
  readonly previousId?: string;
  /** Who runs it: see {@link seedWorker}. */
  readonly workerId?: string;
  readonly retried?: boolean;
  readonly exhausted?: boolean;
  readonly message?: string;
  /** Of what is cancelled. */
  readonly cancelledBy?: string;
  readonly error?: string;
  readonly result?: string;
  /** Text as it stands in the table. */
  readonly payload?: string;
  readonly metadata?: object;
  readonly key?: string;
  readonly tenant?: number;
  readonly group?: string;
  readonly priority?: number;
  readonly origin?: string;
  readonly destination?: string;
  readonly dead?: boolean;
  readonly liveId?: string;
  readonly publication?: boolean;
  readonly publicationId?: string;
  readonly subscriptionId?: string;
}

/** Puts attempts into the table as they are, whatever state they are in; tells their ids. */
export async function seedTasks(pool: Pool, tasks: readonly SeedTask[]): Promise<readonly string[]> {
  const rows = tasks.map((task, place) => {
    const { status = 'pending', publication = false, dead = false, ...rest } = task;
    const [stored, cancelledBy] =
      status === 'cancelled' ? [statusColumn.failed, rest.cancelledBy ?? ''] : [statusColumn[status], null];
    return { ...rest, place, status: stored, cancelledBy, publication, dead };
  });
  const { rows: made } = await pool.query<{ id: string }>(
    `insert into tasks (processo, status, data_hora_inicial, data_hora, iniciada_em, finalizada_em, proxima_tentativa,
       tentativa, id_inicial, id_anterior, executor, reenfileirado, estouro_tentativas, cancelada_por, mensagem, erro, resultado, payload, metadados,
       chave_externa, tenant, grupo_empresarial, prioridade, origem, destino, dead, live_id, pub_sub, publication_id,
       subscriber_id)
     select t.topic, t.status, at(t.due), at(t.due), at(t.started), at(t.finished), at(t.next),
       coalesce(t.attempt, 1), t."firstId", t."previousId", t."workerId", coalesce(t.retried, false), coalesce(t.exhausted, false), t."cancelledBy", t.message, t.error,
       t.result, t.payload, t.metadata, t.key, t.tenant, t."group", coalesce(t.priority, 50), t.origin, t.destination,
       t.dead, t."liveId", t.publication, t."publicationId", t."subscriptionId"
     from json_to_recordset($1) t (place int, topic text, status text, due float8, started float8, finished float8,
       next float8, attempt int, "firstId" bigint, "previousId" bigint, "workerId" bigint, retried boolean, exhausted boolean, "cancelledBy" text, message text, error text,
       result text, payload text, metadata jsonb, key text, tenant bigint, "group" text, priority int, origin text,
       destination text, dead boolean, "liveId" bigint, publication boolean, "publicationId" bigint,
       "subscriptionId" text)
     order by t.place
     returning id::text as id`.replace(/\bat\((t\.\w+)\)/g, (_, column: string) =>
      column === 't.due'
        ? `clock_timestamp() + coalesce(${column}, 0) * interval '1 second'`
        : `clock_timestamp() + ${column} * interval '1 second'`,
    ),
    [JSON.stringify(rows)],
  );
  return made.map(({ id }) => id);
}

/** Puts one attempt into the table; tells its id. */
export async function seedTask(pool: Pool, task: SeedTask): Promise<string> {
  const [id] = await seedTasks(pool, [task]);
  if (id === undefined) throw new Error('no row was made');
  return id;
}

/** A worker that was killed a moment ago; tells its id. */
export async function seedWorker(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    `insert into tasks_worker (host, pid, version, concurrency, routes) values ('shop-2', 812, '1.0.0', 10, '{}')
     returning id::text as id`,
  );
  return rows[0]?.id ?? '';
}

/** What ended on a route in a minute. */
export interface SeedMinute {
  readonly succeeded?: number;
  readonly failed?: number;
  readonly buried?: number;
  readonly delivered?: number;
  readonly unhandled?: number;
  readonly waitsMs?: readonly number[];
  readonly runsMs?: readonly number[];
  readonly lagMs?: number;
}

/** Writes the history of a route (`t:…`, `s:…`, or none for the whole queue), by minutes before this one. */
export async function seedHistory(
  pool: Pool,
  route: string,
  minutes: ReadonlyMap<number, SeedMinute>,
): Promise<void> {
  const rows = [...minutes].map(([ago, { waitsMs = [], runsMs = [], lagMs, ...counts }]) => ({
    ...{ succeeded: 0, failed: 0, buried: 0, delivered: 0, unhandled: 0, ...counts },
    ago,
    route,
    waits: histogramOf(waitsMs, 1),
    runs: histogramOf(runsMs, 1),
    lag_ms: lagMs === undefined ? null : Math.round(lagMs),
  }));
  await pool.query(
    `insert into tasks_history (at, route, succeeded, failed, buried, delivered, unhandled, waits, runs, lag_ms)
     select date_trunc('minute', clock_timestamp()) - h.ago * interval '1 minute', h.route, h.succeeded, h.failed,
       h.buried, h.delivered, h.unhandled, h.waits, h.runs, h.lag_ms
     from json_to_recordset($1) h (ago int, route text, succeeded bigint, failed bigint, buried bigint,
       delivered bigint, unhandled bigint, waits real[], runs real[], lag_ms bigint)
     on conflict (at, route) do nothing`,
    [JSON.stringify(rows)],
  );
}
