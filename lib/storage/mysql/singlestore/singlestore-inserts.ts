import { ringFor } from '../../../coordination/ring.js';
import { TarefaError } from '../../../errors.js';
import type { TaskRecord, TaskStatus } from '../../../task.js';
import { defaultPriority, type NewTask, type TaskInserts } from '../../inserts.js';
import { askHandle, type SqlHandle } from '../../sql-handle.js';
import { translated } from '../dialect.js';
import {
  MysqlInserts,
  type InsertBell,
  type InsertConnections,
  type InsertTarget,
} from '../mysql-inserts.js';
import { now } from '../sql-time.js';
import { named } from '../statement.js';
import { columns, inUtc, valuesOf } from '../statements/insert.js';
import { singleStoreDialect } from './singlestore-dialect.js';

/**
 * {@link TaskInserts} by a statement for each task: values are constants there, and only a single row tells its id, because ids do
 * not rise by one.
 */
export class SingleStoreInserts implements TaskInserts {
  readonly #connections: InsertConnections;
  readonly #target: () => InsertTarget;
  readonly #bell: InsertBell | undefined;

  constructor(connections: InsertConnections, target: () => InsertTarget, bell?: InsertBell) {
    this.#connections = connections;
    this.#target = target;
    this.#bell = bell;
  }

  async insert(task: NewTask, tx?: SqlHandle): Promise<string> {
    const [id] = await this.insertMany([task], tx);
    if (id === undefined) throw new Error('the server returned no id');
    return id;
  }

  async insertMany(tasks: readonly NewTask[], tx?: SqlHandle): Promise<string[]> {
    refuseUnique(tasks);
    const { table } = this.#target();
    if (tx) return insertAll(tx, table, tasks);
    const sentAt = performance.now();
    const insert = (handle: SqlHandle): Promise<string[]> => insertAll(handle, table, tasks);
    const ids = await (tasks.length > 1
      ? this.#connections.transaction(insert)
      : this.#connections.use(insert));
    if (tasks.length > 0) this.#bell?.ring(ringFor(tasks, sentAt));
    return ids;
  }

  listEquivalent(task: NewTask, statuses: readonly TaskStatus[], tx?: SqlHandle): Promise<TaskRecord[]> {
    const inserts = new MysqlInserts(this.#connections, this.#target);
    return inserts.listEquivalent(task, statuses, tx && translated(tx, singleStoreDialect));
  }
}

/** A unique key would have to contain the key that divides rows over partitions, which is their id. */
function refuseUnique(tasks: readonly NewTask[]): void {
  if (tasks.every(({ unique }) => !unique)) return;
  throw new TarefaError(
    'INPUT_INVALID',
    'unique keys need a unique index, which a table of SingleStore cannot have beside its shard key: leave unique out; nothing was inserted',
  );
}

/** The server's time, as text whatever the driver makes of times. */
const insertTime = named('insert_time', `select cast(${now} as char) as time from dual`);

/** The id of the row that the last statement of a session has inserted. */
const insertedId = named('inserted_id', 'select cast(last_insert_id() as char) as id from dual');

/** Times and status are worked out here. */
const insertTask = (queue: string): string =>
  named(
    'insert_task',
    `insert into ${queue} (${columns}, status)\nvalues (${Array(14).fill('?').join(', ')})`,
  );

async function insertAll(handle: SqlHandle, queue: string, tasks: readonly NewTask[]): Promise<string[]> {
  if (tasks.length === 0) return [];
  const [clock] = await askHandle(handle, insertTime, []);
  const nowMicros = microsOf(String(clock?.['time']));
  const ids: string[] = [];
  for (const task of tasks) {
    await handle.query(insertTask(queue), valuesAt(task, nowMicros));
    const [row] = await askHandle(handle, insertedId, []);
    ids.push(String(row?.['id']));
  }
  return ids;
}

/** No trigger schedules what is not due yet. */
function valuesAt(task: NewTask, nowMicros: bigint): unknown[] {
  const dueAt = task.dueAt === null ? undefined : inUtc(task.dueAt);
  const dueMicros =
    dueAt === undefined ? nowMicros + BigInt(Math.round((task.delayMs ?? 0) * 1_000)) : microsOf(dueAt);
  const at = dueAt ?? textOf(dueMicros);
  const [, , , , ...others] = valuesOf({ ...task, priority: task.priority ?? defaultPriority });
  return [at, at, ...others, dueMicros > nowMicros ? 'agendada' : 'pendente'];
}

/** Microseconds since 1970 of a time as the server writes it. What is no time is refused by the server. */
function microsOf(time: string): bigint {
  const [, toSeconds = '', fraction = ''] = /^(.{19})(?:\.(\d+))?/.exec(time) ?? [];
  const seconds = Date.parse(`${toSeconds.replace(' ', 'T')}Z`) / 1_000;
  return Number.isNaN(seconds) ? 0n : BigInt(seconds) * 1_000_000n + BigInt(fraction.padEnd(6, '0'));
}

function textOf(micros: bigint): string {
  const iso = new Date(Number(micros / 1_000n)).toISOString();
  return `${iso.slice(0, -1).replace('T', ' ')}${String(micros % 1_000n).padStart(3, '0')}`;
}
