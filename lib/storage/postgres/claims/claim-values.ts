import type { ClaimForm, ClaimLock } from '../statements/settle-and-claim.js';
import { isBounded, type ClaimRequest, type Stretch } from './claim-request.js';

/** The statement that a request needs. */
export function claimForm(request: ClaimRequest, lock: ClaimLock): ClaimForm {
  return { shape: request.shape, start: isBounded(request) ? 'positions' : 'front', lock };
}

/** Values of a statement that claims, after those of what it settles. */
export function claimValues({ stretches, total }: ClaimRequest): readonly unknown[] {
  const claiming = [
    stretches.map(({ route }) => route),
    stretches.map(({ limit }) => limit),
    total,
    stretches.map(isDeadOnly),
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

/** As statements read it: null for all attempts of a route. */
export function isDeadOnly({ only }: Pick<Stretch, 'only'>): boolean | null {
  return only === undefined ? null : only === 'dead';
}
