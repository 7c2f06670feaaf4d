import type { Completion, Failure, WorkerId } from '../attempt.js';
import { isBounded, type ClaimRequest, type Stretch } from '../claiming/claim-request.js';
import type { StorableTexts } from './storable-texts.js';
import type { ClaimForm } from './statements/settle-and-claim.js';

const leastOfAll = '-9223372036854775808';

/**
 * Values of `settle`, and the first ones of the statements that claim. The arrays are written here as PostgreSQL reads them: the driver
 * writes one character string after the other, which is a tenth of the work that this process has with a small task.
 */
export function settleValues(
  workerId: WorkerId,
  given: readonly Completion[],
  texts?: StorableTexts,
): readonly unknown[] {
  const completions = leastFirst(given).map((completion) => texts?.completion(completion) ?? completion);
  return [
    `{${completions.map(({ id }) => id).join()}}`,
    `{${completions.map(({ reservation }) => reservation).join()}}`,
    textArray(completions.map(({ message }) => message)),
    textArray(completions.map(({ result }) => result)),
    workerId,
  ];
}

/** An array of texts, of which any may be null. */
function textArray(values: readonly (string | null)[]): string {
  const elements = values.map((value) =>
    value === null ? 'NULL' : `"${/["\\]/.test(value) ? value.replace(/["\\]/g, '\\$&') : value}"`,
  );
  return `{${elements.join()}}`;
}

/** Puts the completion with the least id first. */
function leastFirst(all: readonly Completion[]): readonly Completion[] {
  const ids = all.map(({ id }) => BigInt(id));
  const place = ids.reduce((least, id, index) => (id < (ids[least] ?? id) ? index : least), 0);
  const [first, least] = [all[0], all[place]];
  return first && least && place > 0 ? all.with(0, least).with(place, first) : all;
}

/** Values of `snooze`. */
export function snoozeValues(snoozed: readonly Failure[]): readonly unknown[] {
  const [ids, reservations, workers, messages, , , delays, , times] = failureValues(snoozed);
  return [ids, reservations, workers, messages, delays, times];
}

/** Values of `fail`. */
export function failureValues(failures: readonly Failure[]): readonly unknown[] {
  return [
    failures.map(({ id }) => id),
    failures.map(({ reservation }) => reservation),
    failures.map(({ workerId }) => workerId),
    failures.map(({ message }) => message),
    failures.map(({ note }) => note),
    failures.map(({ error }) => error),
    failures.map(({ next }) => (next && 'delayMs' in next ? next.delayMs : null)),
    failures.map(({ next }) => next?.kind === 'after-failure'),
    failures.map(({ next }) => (next?.kind === 'at' ? next.date.toISOString() : null)),
    failures.map(({ nextLosses }) => nextLosses),
    failures.map(({ untouched }) => untouched ?? false),
  ];
}

/** The statement that a request needs. */
export function claimForm(request: ClaimRequest): ClaimForm {
  return { shape: request.shape, start: isBounded(request) ? 'positions' : 'front' };
}

/** Where the stretches of each route begin in their list: a route's stretches follow each other. */
function firstsOf(stretches: readonly Stretch[]): readonly number[] {
  return [...stretches.keys()].filter((index) => stretches[index]?.route !== stretches[index - 1]?.route);
}

/** The routes of stretches, each once: places that a claim answers are theirs. */
export function routesOf(stretches: readonly Stretch[]): readonly Stretch[] {
  return stretches.filter(({ route }, index) => route !== stretches[index - 1]?.route);
}

/**
 * Values of a statement that claims, after those of what it settles.
 *
 * @param leftOut ids to leave out
 * @param locksTasks true to lock tasks for workers of nsj-queue-lib
 */
export function claimValues(
  request: ClaimRequest,
  leftOut: readonly string[],
  locksTasks: boolean,
): readonly unknown[] {
  const { shape, stretches, total, depth } = request;
  const routes = routesOf(stretches);
  return [
    routes.map(({ route }) => route),
    routes.map(({ limit }) => limit),
    total,
    routes.map(isDeadOnly),
    ...(isBounded(request) ? boundValues(request) : []),
    leftOut,
    locksTasks,
    ...(shape === 'counted' ? [depth] : []),
  ];
}

function boundValues({ stretches, leastId }: ClaimRequest): readonly unknown[] {
  const firsts = firstsOf(stretches);
  const bounds = stretches.flatMap((stretch) => stretch.bounds ?? []);
  return [
    firsts.map((first) => first + 1),
    firsts.map((_, index) => firsts[index + 1] ?? stretches.length),
    bounds.map(({ highest }) => highest),
    bounds.map(({ lowest }) => lowest),
    bounds.map(({ since }) => since ?? '-infinity'),
    leastId?.toString() ?? leastOfAll,
  ];
}

/** As statements read it: null for all attempts of a route. */
export function isDeadOnly({ only }: Pick<Stretch, 'only'>): boolean | null {
  return only === undefined ? null : only === 'dead';
}
