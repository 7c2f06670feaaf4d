import type { OptionCheck } from './option-check.js';

/** What Nest can run around a method. */
export const enhancerKinds = ['guards', 'interceptors', 'pipes', 'filters'] as const;

/** A kind of what Nest can run around a method. */
export type EnhancerKind = (typeof enhancerKinds)[number];

/** Reads the option `globalEnhancers`, the mistakes of which `check` collects. */
export function resolveEnhancers(
  given: boolean | readonly EnhancerKind[] | undefined,
  check: OptionCheck,
): readonly EnhancerKind[] {
  if (given === undefined || typeof given === 'boolean') return given === true ? enhancerKinds : [];
  const kinds: readonly EnhancerKind[] = Array.isArray(given) ? given : [];
  if (!Array.isArray(given) || !kinds.every((kind) => enhancerKinds.includes(kind))) {
    check.mistake(`globalEnhancers must be true, false or a list of ${enhancerKinds.join(', ')}`);
  }
  return Object.freeze([...kinds]);
}
