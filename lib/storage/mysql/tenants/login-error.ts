/** Wrong password, unknown user or host, no right to the database, or no such database: credentials may have changed. */
const refusedLogins = new Set<unknown>([1044, 1045, 1049, 1130, 1698]);

/** True when the server did not let us in with these credentials. */
export function isRefusedLogin(error: unknown): boolean {
  return refusedLogins.has((error as { readonly errno?: unknown } | null | undefined)?.errno);
}
