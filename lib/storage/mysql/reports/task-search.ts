import { TarefaError } from '../../../errors.js';
import type { TaskRecord } from '../../../task.js';
import { greatestId, idBelow, leastId } from '../../../values/attempt-id.js';
import { readTaskRecord } from '../../columns.js';
import type { SearchPage, SearchResult } from '../../reports.js';
import type { TaskSelection, TaskStateName } from '../../task-selection.js';
import { idsOf, rowsOf } from '../administration/answered.js';
import { jsonIds } from '../administration/id-list.js';
import type { TextRow } from '../connections/answers.js';
import type { OwnPool } from '../connections/own-pool.js';
import type { Run } from '../connections/transactions.js';
import type { QueueTables } from '../identifiers.js';
import * as sql from '../statements/search.js';
import { conditionsOf, type Conditions } from '../task-conditions.js';
import { limited } from './limited.js';

/** After this time a page is answered as it is. */
const budgetMs = 400;
/** How long one statement may take at the very most. */
const timeoutMs = 5_000;
/** Ids that the first statement of a page looks at, and any of them at most; between them what the last one took decides. */
const firstWidth = 10_000n;
/** Ids that the first statement of a page looks at where payloads are read, which may be large. */
const firstPayloadWidth = 500n;
const widest = 2_000_000n;
const quickMs = 60;
const slowMs = 200;

/** Prefix of where a search by key goes on: its index holds none of what has failed or runs. */
const withoutIndex = 'f';

/**
 * Lists attempts of a table of any size. What waits or runs is found by its indexes. What has ended is walked from the newest
 * to the oldest, and a page ends after a moment, whatever it has found: the caller goes on from there.
 *
 * @returns one page, the newest first
 * @throws {TarefaError} `INPUT_INVALID`
 */
export async function searchTasks(
  tables: QueueTables,
  own: Pick<OwnPool, 'use'>,
  selection: TaskSelection,
  page: SearchPage,
): Promise<SearchResult> {
  const place = readPlace(page.after);
  const filter = conditionsOf(selection, tables);
  // Where tasks are named there are few of them.
  const payloadPace = { first: selection.ids ? widest : firstPayloadWidth, withPayload: true };
  return limited(own, timeoutMs, async (run) => {
    const request = { tables, run, filter, limit: page.limit, ...place };
    // However few attempts an index finds, to read all of their payloads may take too long.
    if (selection.payload !== undefined) {
      return walk(request, { ...payloadPace, accept: page.accept });
    }
    if (selection.ids !== undefined) return wholePage(await byIndex('primary', request), page.limit);
    if (selection.publicationId !== undefined) {
      return wholePage(await byIndex('deliveries', request), page.limit);
    }
    const live = liveOnly(selection.states);
    if (live) {
      const ids = await liveIds(run, tables, live);
      if (ids) return among(ids, request);
    }
    if (selection.externalKey !== undefined && page.after === undefined) {
      const found = await byKey(request, selection.externalKey);
      if (found) return found;
    }
    return walk(request);
  });
}

/** Of each of these statuses all there are; undefined when they are too many. */
async function liveIds(
  run: Run,
  tables: QueueTables,
  statuses: readonly sql.LiveStatus[],
): Promise<readonly string[] | undefined> {
  const ids: string[] = [];
  for (const status of statuses) {
    const some = idsOf(await rowsOf(run, sql.liveIds(tables, status)));
    if (some.length > sql.liveLimit) return undefined;
    ids.push(...some);
  }
  return ids;
}

async function among(
  ids: readonly string[],
  { tables, run, filter, limit, upTo }: Walk,
): Promise<SearchResult> {
  const text = sql.searchIds(tables, filter);
  const values = [...filter.beginValues, jsonIds(ids), String(upTo), ...filter.values, limit + 1];
  return wholePage(await rowsOf(run, text, values), limit);
}

function byIndex(
  index: sql.NarrowIndex,
  { tables, run, filter, limit, upTo }: Walk,
): Promise<readonly TextRow[]> {
  const text = sql.searchIndexed(tables, index, filter);
  return rowsOf(run, text, [...filter.beginValues, String(upTo), ...filter.values, limit + 1]);
}

/** The first page of a search by key, unless its index has more of them; the next one walks through what has failed. */
async function byKey(request: Walk, key: string): Promise<SearchResult | undefined> {
  const filter = {
    ...request.filter,
    conditions: [...request.filter.conditions, sql.isKeyed],
    values: [...request.filter.values, key],
  };
  const rows = await byIndex('equivalent', { ...request, filter });
  if (rows.length > request.limit) return undefined;
  return { tasks: rows.map(readTaskRecord), next: `${withoutIndex}${greatestId + 1n}`, searched: 0 };
}

async function walk(
  { tables, run, filter, limit, upTo, isRest }: Walk,
  { first: narrowest, withPayload, accept = () => true }: Pace = plainPace,
): Promise<SearchResult> {
  const [bounds] = await rowsOf(run, sql.idBounds(tables));
  if (bounds?.['greatest'] == null) return { tasks: [], next: undefined, searched: 1 };
  const [first, last] = [BigInt(String(bounds['least'])), BigInt(bounds['greatest'])];
  const conditions = isRest ? [...filter.conditions, sql.unkeyedStatuses] : filter.conditions;
  const text = sql.searchRange(tables, { ...filter, conditions }, withPayload);
  const tasks: TaskRecord[] = [];
  const begun = performance.now();
  let width = narrowest;
  let at = await idUpTo(run, tables, upTo < last ? upTo : last);
  while (at !== undefined && performance.now() - begun < budgetMs) {
    const to = at - width >= first ? at - width + 1n : first;
    const asked = performance.now();
    const missing = limit - tasks.length;
    const rows = await rowsOf(run, text, [
      ...filter.beginValues,
      String(at),
      String(to),
      ...filter.values,
      missing + 1,
    ]);
    const found = rows.slice(0, missing).map(readTaskRecord);
    tasks.push(...found.filter(accept));
    const isFull = rows.length > missing;
    const behind = isFull ? BigInt(found.at(-1)?.id ?? at + 1n) : to;
    at = behind > first ? await idUpTo(run, tables, idBelow(behind)) : undefined;
    if (isFull && tasks.length >= limit) break;
    width = nextWidth(width, narrowest, performance.now() - asked);
  }
  return {
    tasks,
    next: at === undefined ? undefined : `${isRest ? withoutIndex : ''}${at + 1n}`,
    searched: at === undefined ? 1 : Number(last - at) / Number(last + 1n - first),
  };
}

/** Where the walk goes on: it does not step through gaps in the ids. */
async function idUpTo(run: Run, tables: QueueTables, id: bigint): Promise<bigint | undefined> {
  const [row] = await rowsOf(run, sql.idUpTo(tables), [String(id)]);
  return row?.['id'] == null ? undefined : BigInt(row['id']);
}

/** A page to be made, from an id down. */
interface Walk extends Place {
  readonly tables: QueueTables;
  readonly run: Run;
  readonly filter: Conditions;
  readonly limit: number;
}

/** How a walk goes on. */
interface Pace {
  /** Ids that are looked at first, and at least. */
  readonly first: bigint;
  readonly withPayload: boolean;
  readonly accept?: SearchPage['accept'];
}

const plainPace: Pace = { first: firstWidth, withPayload: false };

interface Place {
  /** The greatest id that is meant. */
  readonly upTo: bigint;
  /** True in the part of a search by key that its index cannot answer. */
  readonly isRest: boolean;
}

function readPlace(after: string | undefined): Place {
  if (after === undefined) return { upTo: greatestId, isRest: false };
  const isRest = after.startsWith(withoutIndex);
  const digits = isRest ? after.slice(withoutIndex.length) : after;
  const upTo = /^-?\d{1,19}$/.test(digits) ? BigInt(digits) - 1n : undefined;
  if (upTo !== undefined && upTo >= leastId && upTo <= greatestId) return { upTo, isRest };
  throw new TarefaError('INPUT_INVALID', `after must be \`next\` of a page, not ${JSON.stringify(after)}`);
}

/** The statuses in the table's words, when all of them are of what waits or runs. */
function liveOnly(states: readonly TaskStateName[] = []): readonly sql.LiveStatus[] | undefined {
  const live = states.map((one) => liveStatuses[one]).filter((one) => one !== undefined);
  if (live.length === 0 || live.length < states.length) return undefined;
  return [...new Set(live)];
}

const liveStatuses: Readonly<Partial<Record<TaskStateName, sql.LiveStatus>>> = {
  scheduled: 'agendada',
  retrying: 'agendada',
  pending: 'pendente',
  processing: 'processando',
};

function wholePage(rows: readonly TextRow[], limit: number): SearchResult {
  const tasks = rows.slice(0, limit).map(readTaskRecord);
  return { tasks, next: rows.length > limit ? tasks.at(-1)?.id : undefined, searched: 1 };
}

function nextWidth(width: bigint, narrowest: bigint, tookMs: number): bigint {
  if (tookMs > slowMs) return width > narrowest ? width / 2n : width;
  if (tookMs > quickMs) return width;
  return width * 4n < widest ? width * 4n : widest;
}
