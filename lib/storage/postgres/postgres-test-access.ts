import type { TaskRecord } from '../../task.js';
import type { WorkerId } from '../attempt.js';
import { readTaskRecord, recordFields } from '../columns.js';
import type { SqlHandle } from '../sql-handle.js';
import type { DeliveryParts, TestAccess } from '../test-access.js';
import type { QueueTables } from './identifiers.js';
import { askBytes } from './readable-rows.js';
import { nextReservation } from './statement.js';
import { taskAttempts } from './statements/admin.js';

/** {@link TestAccess} to the tables of a queue. */
export class PostgresTestAccess implements TestAccess {
  readonly #handle: SqlHandle;
  readonly #tables: QueueTables;

  constructor(handle: SqlHandle, tables: QueueTables) {
    this.#handle = handle;
    this.#tables = tables;
  }

  async inserted(tx: SqlHandle | undefined): Promise<readonly TaskRecord[]> {
    const text = `-- name: inserted
select ${recordFields('f', 'f.payload')}
from ${this.#tables.queue} f
where f.id_inicial is null and not f.dead and f.subscriber_id is null
order by f.id`;
    const rows = await askBytes(tx ?? this.#handle, text);
    return rows.map(readTaskRecord);
  }

  async attempts(id: string): Promise<readonly TaskRecord[]> {
    const { rows } = await this.#handle.query(taskAttempts(this.#tables), [id]);
    return rows.map(readTaskRecord);
  }

  async hold(id: string, workerId: WorkerId, delivery?: DeliveryParts): Promise<void> {
    await this.#handle.query(
      `-- name: hold
update ${this.#tables.queue} f
set status = 'processando', executor = $2::text::bigint, reserva = ${nextReservation('f.')}, iniciada_em = clock_timestamp(),
  subscriber_id = coalesce($3::text, f.subscriber_id), payload = coalesce($4::text, f.payload)
where f.id = $1::text::bigint and f.status in ('pendente', 'agendada')`,
      [id, workerId, delivery?.subscriptionId ?? null, delivery?.envelope ?? null],
    );
  }

  async subscription(id: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const { subscriptions } = this.#tables;
    if (subscriptions === undefined) return undefined;
    const { rows } = await this.#handle.query(
      `-- name: subscription
select row_to_json(s)::text as text from ${subscriptions} s where s.id = $1::text`,
      [id],
    );
    return rows[0] && (JSON.parse(String(rows[0]['text'])) as Record<string, unknown>);
  }

  /** The database's clock cannot be moved, so everything becomes older. When a chain began stays: its key is made of it. */
  async travel(ms: number): Promise<void> {
    const moved = ['data_hora', 'proxima_tentativa', 'iniciada_em', 'finalizada_em']
      .map((name) => `${name} = f.${name} - $1::float8 * interval '1 millisecond'`)
      .join(', ');
    await this.#handle.query(`-- name: travel\nupdate ${this.#tables.queue} f set ${moved}`, [ms]);
  }

  async clear(): Promise<void> {
    await this.#handle.query(`-- name: clear\ndelete from ${this.#tables.queue}`);
  }
}
