import { createHash } from 'node:crypto';
import { column, statusColumn, type Row } from '../columns.js';
import { defaultPriority, type NewTask } from '../inserts.js';
import { publicationRoute, subscriptionRoute, topicRoute } from '../route.js';
import type { DeclaredSubscription, SubscriptionRow } from '../subscriptions.js';
import type { Route } from '../attempt.js';

/** A row as the driver would read it: text by column. */
export type MemoryRow = Record<string, string | null>;

/** Columns that a next attempt and a dead chain copy. */
const copied = [
  'origem',
  'destino',
  'processo',
  'chave_externa',
  'tenant',
  'grupo_empresarial',
  'pub_sub',
  'publication_id',
  'subscriber_id',
  'prioridade',
  'metadados',
] as const;

/** A queue's rows and its clock. */
export class MemoryTable {
  readonly #now: () => number;
  #travelledMs = 0;
  #ids = 0;
  #rows: MemoryRow[] = [];
  /** By id, as rows of the subscriptions table. */
  readonly subscriptions = new Map<string, Readonly<Record<string, unknown>>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  get nowMs(): number {
    return this.#now() + this.#travelledMs;
  }

  travel(ms: number): void {
    this.#travelledMs += ms;
  }

  /** Adds a subscription, unless it is there; answers whether it was added. */
  subscribe(id: string, topic: string): boolean {
    const unset = { tenant: null, grupo_empresarial: null, url: null, http_method: null, headers: null };
    const row = { id, processo: topic, ...unset, ativo: true, created_at: instant(this.nowMs) };
    if (this.subscriptions.has(id)) return false;
    this.subscriptions.set(id, row);
    return true;
  }

  /** Adds the subscriptions that have a topic and are not there; answers those of all that are. */
  declare(declared: readonly DeclaredSubscription[]): readonly SubscriptionRow[] {
    return declared.flatMap(({ id, topic }) => {
      const made = topic !== undefined && this.subscribe(id, topic);
      const row = this.subscriptions.get(id);
      return row ? [{ id, topic: String(row['processo']), made }] : [];
    });
  }

  /** Oldest first. */
  get rows(): readonly MemoryRow[] {
    return this.#rows;
  }

  clear(): void {
    this.#rows = [];
  }

  row(id: string): MemoryRow | undefined {
    return this.#rows.find((row) => row[column.id] === id);
  }

  insert(task: NewTask): MemoryRow {
    const dueMs = task.dueAt === null ? this.nowMs + (task.delayMs ?? 0) : Date.parse(task.dueAt);
    return this.add({
      origem: task.origin,
      destino: task.destination,
      processo: task.topic,
      chave_externa: task.externalKey,
      payload: task.payload,
      tenant: task.tenant,
      grupo_empresarial: task.group,
      prioridade: String(task.priority ?? defaultPriority),
      pub_sub: String(task.publication),
      metadados: task.metadata && JSON.stringify(task.metadata),
      data_hora: instant(dueMs),
    });
  }

  /** Adds a row; what is left out has the table's defaults. */
  add(row: MemoryRow): MemoryRow {
    this.#ids += 1;
    const due = row['data_hora'] ?? instant(this.nowMs);
    const isLater = Date.parse(due) > this.nowMs;
    const added: MemoryRow = {
      tentativa: '1',
      reserva: '0',
      perdas: '0',
      dead: 'false',
      pub_sub: 'false',
      data_hora_inicial: due,
      status: isLater ? statusColumn.scheduled : statusColumn.pending,
      ...row,
      id: String(this.#ids),
      data_hora: due,
    };
    this.#rows.push(added);
    return added;
  }

  /** What a next attempt and a dead chain have from that row. */
  copyOf(row: MemoryRow): MemoryRow {
    return Object.fromEntries(copied.map((name) => [name, row[name] ?? null]));
  }

  /** Payload text, wherever in its chain it is stored. */
  payloadOf(row: MemoryRow): string | null {
    const first = row['id_inicial'];
    return row['payload'] ?? (first == null ? null : (this.row(first)?.['payload'] ?? null));
  }

  /** The row with its payload, as statements that read a whole attempt give it. */
  resolved(row: MemoryRow): Row {
    return { ...row, payload: this.payloadOf(row) };
  }

  routeOf(row: MemoryRow): Route {
    if (row['pub_sub'] === 'true' && row['dead'] !== 'true') return publicationRoute;
    const subscription = row['subscriber_id'];
    return subscription == null ? topicRoute(row['processo'] ?? null) : subscriptionRoute(subscription);
  }

  /** Pending and due, the best first. */
  due(): readonly MemoryRow[] {
    return this.#rows
      .filter(
        (row) => row['status'] === statusColumn.pending && Date.parse(row['data_hora'] ?? '') <= this.nowMs,
      )
      .sort(
        (a, b) =>
          Number(b['prioridade']) - Number(a['prioridade']) ||
          Date.parse(a['data_hora'] ?? '') - Date.parse(b['data_hora'] ?? '') ||
          Number(a['id']) - Number(b['id']),
      );
  }
}

/** A time as the table has it. */
export function instant(ms: number): string {
  return new Date(ms).toISOString();
}

/** Names a queue in the keys of its tasks. */
export function memoryIdentity(table: string): string {
  return createHash('sha256').update(`memory ${table}`).digest('hex').slice(0, 32);
}
