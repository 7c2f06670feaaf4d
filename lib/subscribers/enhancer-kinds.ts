/** What Nest can run around a method. */
export const enhancerKinds = ['guards', 'interceptors', 'pipes', 'filters'] as const;

export type EnhancerKind = (typeof enhancerKinds)[number];
