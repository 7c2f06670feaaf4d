import { QueueClient, type QueueClientOptions } from '../../client/queue-client.js';
import { TopicSchemas } from '../../client/topic-schemas.js';
import type { EncodedTask } from '../../client/task-input.js';
import type { TaskInserts } from '../../client/task-inserts.js';
import { readTaskRecord } from '../columns.js';
import type { WorkerId } from '../attempt.js';
import type { TaskRecord, TaskStatus } from '../../task.js';
import type { DeliveryParts, TesterStore } from '../../testing/tester-store.js';
import type { MemoryStorage } from './memory-storage.js';
import type { MemoryTable } from './memory-table.js';
import { noDatabase } from './needs-database.js';

/** {@link TesterStore} in memory. */
export class MemoryStore implements TesterStore {
  readonly client: QueueClient;
  readonly inserts: TaskInserts;
  readonly #table: MemoryTable;
  readonly #storage: MemoryStorage;

  constructor(table: MemoryTable, storage: MemoryStorage, options: QueueClientOptions) {
    this.#table = table;
    this.#storage = storage;
    this.inserts = new MemoryInserts(table);
    const runtime = { inserts: this.inserts, schemas: new TopicSchemas(), transaction: undefined };
    this.client = new QueueClient(noDatabase, options, runtime);
  }

  async inserted(): Promise<readonly TaskRecord[]> {
    return this.#read(
      (row) => row['id_inicial'] == null && row['dead'] !== 'true' && row['subscriber_id'] == null,
    );
  }

  async attempts(id: string): Promise<readonly TaskRecord[]> {
    const first = this.#table.row(id)?.['id_inicial'] ?? id;
    return this.#read((row) => row['id'] === first || row['id_inicial'] === first);
  }

  async hold(id: string, workerId: WorkerId, delivery?: DeliveryParts): Promise<void> {
    const row = this.#table.row(id);
    if (!row) return;
    if (delivery) {
      row['subscriber_id'] = delivery.subscriptionId;
      row['payload'] = delivery.envelope;
    }
    this.#storage.hold(row, workerId);
  }

  async subscription(id: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    return this.#table.subscriptions.get(id);
  }

  async subscribe(topic: string, id: string): Promise<void> {
    this.#table.subscribe(id, topic);
  }

  async travel(ms: number): Promise<void> {
    this.#table.travel(ms);
  }

  async clear(): Promise<void> {
    this.#table.clear();
  }

  #read(isAsked: (row: MemoryTable['rows'][number]) => boolean): readonly TaskRecord[] {
    return this.#table.rows.filter(isAsked).map((row) => readTaskRecord(this.#table.resolved(row)));
  }
}

/** A transaction that is given makes no difference: nothing is ever undone. */
class MemoryInserts implements TaskInserts {
  readonly #table: MemoryTable;

  constructor(table: MemoryTable) {
    this.#table = table;
  }

  async one(task: EncodedTask): Promise<string> {
    return String(this.#table.insert(task)['id']);
  }

  async many(tasks: readonly EncodedTask[]): Promise<string[]> {
    return tasks.map((task) => String(this.#table.insert(task)['id']));
  }

  async equivalent(task: EncodedTask, statuses: readonly TaskStatus[]): Promise<TaskRecord[]> {
    const same = ['chave_externa', 'origem', 'destino', 'processo', 'tenant', 'grupo_empresarial'] as const;
    return this.#table.rows
      .filter((row) => same.every((name) => (row[name] ?? null) === task[name]))
      .map((row) => readTaskRecord(this.#table.resolved(row)))
      .filter(({ status, payload }) => statuses.some((one) => one === status) && payload === task.payload);
  }
}
