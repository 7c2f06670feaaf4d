import type { TaskRecord } from '../../task.js';
import type { WorkerId } from '../attempt.js';
import { readTaskRecord } from '../columns.js';
import { askHandle, type SqlHandle } from '../sql-handle.js';
import type { DeliveryParts, TestAccess } from '../test-access.js';
import type { MysqlAccess } from './mysql-access.js';
import { recordFields } from './record-fields.js';
import { after } from './sql-time.js';
import { nextReservation } from './statement.js';
import { taskAttempts } from './statements/admin.js';
import { subscriptionJson } from './statements/fan-out.js';

/** {@link TestAccess} to the tables of a queue. */
export class MysqlTestAccess implements TestAccess {
  readonly #access: MysqlAccess;

  constructor(access: MysqlAccess) {
    this.#access = access;
  }

  async inserted(tx: SqlHandle | undefined): Promise<readonly TaskRecord[]> {
    const text = `-- name: inserted
select ${recordFields('f', 'f.payload')}
from ${this.#access.tables.queue} f
where f.id_inicial is null and not f.dead and f.subscriber_id is null
order by f.id`;
    const rows = tx ? await askHandle(tx, text, []) : (await this.#access.own.query(text)).rows;
    return rows.map(readTaskRecord);
  }

  async attempts(id: string): Promise<readonly TaskRecord[]> {
    const { rows } = await this.#access.own.query(taskAttempts(this.#access.tables), [id, id]);
    return rows.map(readTaskRecord);
  }

  async hold(id: string, workerId: WorkerId, delivery?: DeliveryParts): Promise<void> {
    await this.#access.own.query(
      `-- name: hold
update ${this.#access.tables.queue} f
set f.executor = ?, f.reserva = ${nextReservation('f.')}, f.iniciada_em = utc_timestamp(6),
  f.subscriber_id = coalesce(?, f.subscriber_id), f.payload = coalesce(?, f.payload), f.status = 'processando'
where f.id = ? and f.status in ('pendente', 'agendada')`,
      [workerId, delivery?.subscriptionId ?? null, delivery?.envelope ?? null, id],
    );
  }

  async subscription(id: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const { subscriptions } = this.#access.tables;
    if (subscriptions === undefined) return undefined;
    const { rows } = await this.#access.own.query(
      `-- name: subscription
select ${subscriptionJson('s')} as text from ${subscriptions} s where s.id = ?`,
      [id],
    );
    return rows[0] && (JSON.parse(String(rows[0]['text'])) as Record<string, unknown>);
  }

  /** The database's clock cannot be moved, so everything becomes older. When a chain began stays: its key is made of it. */
  async travel(ms: number): Promise<void> {
    const moved = ['data_hora', 'proxima_tentativa', 'iniciada_em', 'finalizada_em']
      .map((name) => `f.${name} = ${after('?', `f.${name}`)}`)
      .join(', ');
    await this.#access.own.query(
      `-- name: travel\nupdate ${this.#access.tables.queue} f set ${moved}`,
      Array.from({ length: 4 }, () => -ms),
    );
  }

  async clear(): Promise<void> {
    await this.#access.own.query(`-- name: clear\ndelete from ${this.#access.tables.queue}`);
  }
}
