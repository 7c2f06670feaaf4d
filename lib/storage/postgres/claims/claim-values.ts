import type { ClaimForm, ClaimLock, ClaimStart } from '../statements/settle-and-claim.js';
import { isBounded, type ClaimRequest, type Stretch } from '../../claiming/claim-request.js';

const leastOfAll = '-9223372036854775808';

/** The statement that a request needs. */
export function claimForm(request: ClaimRequest, lock: ClaimLock): ClaimForm {
  return { shape: request.shape, start: claimStart(request), lock };
}

/** Limits that are shared by stretches matter only where they are below the limit of all. */
function claimStart(request: ClaimRequest): ClaimStart {
  if (!isBounded(request)) return 'front';
  const limited = request.stretches.filter(({ limit }) => limit < request.total);
  const isShared = new Set(limited.map(({ route }) => route)).size < limited.length;
  return isShared ? 'stretches' : 'positions';
}

/**
 * Values of a statement that claims, after those of what it settles.
 *
 * @param leftOut with interop, ids to leave out
 */
export function claimValues(
  { shape, stretches, total, depth, leastId }: ClaimRequest,
  leftOut: readonly string[] | undefined,
): readonly unknown[] {
  const claiming = [
    stretches.map(({ route }) => route),
    stretches.map(({ limit }) => limit),
    total,
    stretches.map(isDeadOnly),
  ];
  const bounds = stretches.flatMap((stretch) => stretch.bounds ?? []);
  const bounded = [
    bounds.map(({ highest }) => highest),
    bounds.map(({ lowest }) => lowest),
    bounds.map(({ since }) => since ?? '-infinity'),
    leastId?.toString() ?? leastOfAll,
  ];
  return [
    ...claiming,
    ...(bounds.length === 0 ? [] : bounded),
    ...(leftOut ? [leftOut] : []),
    ...(shape === 'counted' ? [depth] : []),
  ];
}

/** As statements read it: null for all attempts of a route. */
export function isDeadOnly({ only }: Pick<Stretch, 'only'>): boolean | null {
  return only === undefined ? null : only === 'dead';
}
