/** Numbers of the errors that say that a user may not do something. */
const refusals = new Set([1044, 1142, 1143, 1227, 1370, 1419]);

/** True for an error that says that the user lacks a right. */
export function isRefusal(error: unknown): boolean {
  const { errno } = (error ?? {}) as { readonly errno?: unknown };
  return typeof errno === 'number' && refusals.has(errno);
}
