/**
 * Of the envelope of a delivery: what was published. The subscription in it has headers, which are secret. An envelope that
 * cannot be read is shown as it is, like any text.
 */
export function publicationOf(stored: string): string | null {
  let envelope: unknown;
  try {
    envelope = JSON.parse(stored);
  } catch {
    return stored;
  }
  const { publication } = (envelope ?? {}) as { readonly publication?: unknown };
  return typeof publication === 'string' ? publication : null;
}
