import type { ClaimRequest } from '../claims.js';
import type { Completion, Failure, WorkerId } from '../attempt.js';
import type { ClaimForm } from './statements/settle-and-claim.js';

/** Values of `settle`, and the first ones of `settle_and_claim`. */
export function settleValues(workerId: WorkerId, completions: readonly Completion[]): readonly unknown[] {
  return [
    completions.map(({ id }) => id),
    completions.map(({ reservation }) => reservation),
    completions.map(({ message }) => message),
    completions.map(({ result }) => result),
    workerId,
  ];
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
export function claimForm(request: ClaimRequest, interop: boolean): ClaimForm {
  const bounded = request.stretches.some(({ bounds }) => bounds !== undefined);
  return { shape: request.shape, bounded, capped: bounded && sharesLimits(request), interop };
}

/** Values of `settle_and_claim` after those of {@link settleValues}. */
export function claimValues({ stretches, total, dead }: ClaimRequest): readonly unknown[] {
  const claiming = [
    stretches.map(({ route }) => route),
    stretches.map(({ limit }) => limit),
    total,
    stretches.map(({ route }) => dead?.(route) ?? null),
  ];
  const bounds = stretches.flatMap((stretch) => stretch.bounds ?? []);
  if (bounds.length === 0) return claiming;
  return [
    ...claiming,
    bounds.map(({ highest }) => highest),
    bounds.map(({ lowest }) => lowest),
    bounds.map(({ since }) => since),
  ];
}

/** True when a route has several stretches and a limit of its own, which they must not exceed together. */
function sharesLimits({ shape, stretches, total }: ClaimRequest): boolean {
  return shape === 'shared' || stretches.some(({ limit }) => limit < total);
}
