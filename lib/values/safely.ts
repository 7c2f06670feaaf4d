/** What a handler throws may throw in turn when it is looked at: a getter, a proxy's trap. */
export function safely<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
