import type { SqlHandle } from '../client/sql-handle.js';
import { TarefaError } from '../queue.errors.js';
import { readTaskRecord, statusColumn } from '../storage/columns.js';
import type { QueueTables } from '../storage/postgres/identifiers.js';
import { readIds } from '../storage/postgres/read-rows.js';
import * as sql from '../storage/postgres/statements/search.js';
import type { TaskRecord, TaskStatus } from '../task.js';
import { filterSql, type FilterSql, type TaskFilter } from './task-filter.js';

/** What a {@link TaskSearch} works with. */
export interface TaskSearchParts {
  readonly tables: QueueTables;
  /** Runs its argument inside one transaction. */
  readonly transaction: <T>(work: (tx: SqlHandle) => Promise<T>) => Promise<T>;
}

/** Which page. */
export interface SearchPage {
  readonly limit: number;
  /** `next` of the page before. */
  readonly after?: string | undefined;
}

/** What was found so far: it may be less than asked for though there is more. */
export interface SearchResult {
  /** Without payload, result, error and metadata. */
  readonly tasks: readonly TaskRecord[];
  /** Ask on with it as `after`; undefined at the end. */
  readonly next: string | undefined;
  /** Which part of the table was looked at, counted in ids: 0 to 1. */
  readonly searched: number;
}

/** After so many ms a page is answered as it is. */
const budgetMs = 400;
/** How long one statement may take at the very most. */
const timeoutMs = 5_000;
/** Ids that the first statement of a page looks at, and any of them at most; between them what the last one took decides. */
const firstWidth = 10_000n;
const widest = 2_000_000n;
const quickMs = 60;
const slowMs = 200;

const beyondAllIds = 2n ** 63n - 1n;

/** Prefix of where a search by key goes on: its index holds none of what has failed or runs. */
const withoutIndex = 'f';

/**
 * Lists attempts of a table of any size. What waits or runs is found by its indexes. What has ended is walked from the newest
 * to the oldest, and a page ends after a moment, whatever it has found: whoever asks goes on from there.
 */
export class TaskSearch {
  readonly #parts: TaskSearchParts;

  constructor(parts: TaskSearchParts) {
    this.#parts = parts;
  }

  /**
   * One page, the newest first.
   *
   * @throws {TarefaError} `INPUT_INVALID`
   */
  async list(filter: TaskFilter, page: SearchPage): Promise<SearchResult> {
    const place = readPlace(page.after);
    return this.#parts.transaction(async (tx) => {
      await tx.query(sql.searchSettings(timeoutMs));
      const request = { tx, filter: filterSql(filter, 4), limit: page.limit, ...place };
      if (filter.publicationId !== undefined) return this.#byIndex(tx, filter, page.limit, place.before);
      const live = liveOnly(filter.status);
      if (live) {
        const ids = await this.#liveIds(tx, live);
        if (ids) return this.#among(ids, request);
      }
      if (filter.externalKey !== undefined && page.after === undefined) {
        const found = await this.#byKey(tx, filter, page.limit);
        if (found) return found;
      }
      return this.#walk(request);
    });
  }

  /** Of each of these statuses all there are; undefined when they are too many. */
  async #liveIds(tx: SqlHandle, statuses: readonly sql.LiveStatus[]): Promise<readonly string[] | undefined> {
    const ids: string[] = [];
    for (const status of statuses) {
      const [row] = (await tx.query(sql.liveIds(this.#parts.tables, status))).rows;
      const some = readList(row?.['ids']);
      if (some.length > sql.liveLimit) return undefined;
      ids.push(...some);
    }
    return ids;
  }

  async #among(ids: readonly string[], { tx, filter, limit, before }: Walk): Promise<SearchResult> {
    const text = sql.searchIds(this.#parts.tables, filter.conditions);
    const { rows } = await tx.query(text, [ids, String(before), limit + 1, ...filter.values]);
    return wholePage(rows, limit);
  }

  async #byIndex(tx: SqlHandle, filter: TaskFilter, limit: number, before: bigint): Promise<SearchResult> {
    const { conditions, values } = filterSql(filter, 3);
    const text = sql.searchIndexed(this.#parts.tables, conditions);
    return wholePage((await tx.query(text, [String(before), limit + 1, ...values])).rows, limit);
  }

  /** The first page of a search by key, unless its index has more of them; the next one walks through what has failed. */
  async #byKey(tx: SqlHandle, filter: TaskFilter, limit: number): Promise<SearchResult | undefined> {
    const { conditions, values } = filterSql(filter, 3);
    const text = sql.searchIndexed(this.#parts.tables, [...conditions, sql.keyedStatuses]);
    const { rows } = await tx.query(text, [String(beyondAllIds), limit + 1, ...values]);
    if (rows.length > limit) return undefined;
    return { tasks: rows.map(readTaskRecord), next: `${withoutIndex}${beyondAllIds}`, searched: 0 };
  }

  async #walk({ tx, filter, limit, before, isRest }: Walk): Promise<SearchResult> {
    const { tables } = this.#parts;
    const [bounds] = (await tx.query(sql.idBounds(tables))).rows;
    if (typeof bounds?.['last'] !== 'string') return { tasks: [], next: undefined, searched: 1 };
    const [first, last] = [BigInt(String(bounds['first'])), BigInt(bounds['last'])];
    const conditions = isRest ? [...filter.conditions, sql.unkeyedStatuses] : filter.conditions;
    const text = sql.searchRange(tables, conditions);
    await tx.query(sql.walkBackwards);
    const tasks: TaskRecord[] = [];
    const begun = performance.now();
    let from = before > last ? last + 1n : before;
    let width = firstWidth;
    while (from > first && performance.now() - begun < budgetMs) {
      const to = from - width > first ? from - width : first;
      const asked = performance.now();
      const missing = limit - tasks.length;
      const { rows } = await tx.query(text, [String(from), String(to), missing + 1, ...filter.values]);
      tasks.push(...rows.slice(0, missing).map(readTaskRecord));
      from = rows.length > missing ? BigInt(tasks.at(-1)?.id ?? to) : to;
      if (rows.length > missing) break;
      width = nextWidth(width, performance.now() - asked);
    }
    const isOver = from <= first;
    return {
      tasks,
      next: isOver ? undefined : `${isRest ? withoutIndex : ''}${from}`,
      searched: isOver ? 1 : Number(last + 1n - from) / Number(last + 1n - first),
    };
  }
}

/** A page to be made, from an id down. */
interface Walk extends Place {
  readonly tx: SqlHandle;
  readonly filter: FilterSql;
  readonly limit: number;
}

interface Place {
  readonly before: bigint;
  /** True in the part of a search by key that its index cannot answer. */
  readonly isRest: boolean;
}

function readPlace(after: string | undefined): Place {
  if (after === undefined) return { before: beyondAllIds, isRest: false };
  const isRest = after.startsWith(withoutIndex);
  const digits = isRest ? after.slice(withoutIndex.length) : after;
  if (/^\d{1,19}$/.test(digits)) return { before: BigInt(digits), isRest };
  throw new TarefaError('INPUT_INVALID', `after must be \`next\` of a page, not ${JSON.stringify(after)}`);
}

/** The statuses in the table's words, when all of them are of what waits or runs. */
function liveOnly(status: TaskFilter['status']): readonly sql.LiveStatus[] | undefined {
  const statuses: readonly TaskStatus[] = status === undefined ? [] : [status].flat();
  const live = statuses.map((one) => statusColumn[one]).filter((one) => one in liveStatuses);
  if (live.length === 0 || live.length < statuses.length) return undefined;
  return live as readonly sql.LiveStatus[];
}

const liveStatuses: Readonly<Record<sql.LiveStatus, true>> = {
  pendente: true,
  agendada: true,
  processando: true,
};

function readList(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.map(String);
  return typeof value === 'string' ? (readIds(value) ?? []) : [];
}

function wholePage(rows: readonly Readonly<Record<string, unknown>>[], limit: number): SearchResult {
  const tasks = rows.slice(0, limit).map(readTaskRecord);
  return { tasks, next: rows.length > limit ? tasks.at(-1)?.id : undefined, searched: 1 };
}

function nextWidth(width: bigint, tookMs: number): bigint {
  if (tookMs > slowMs) return width > firstWidth ? width / 2n : width;
  if (tookMs > quickMs) return width;
  return width * 4n < widest ? width * 4n : widest;
}
