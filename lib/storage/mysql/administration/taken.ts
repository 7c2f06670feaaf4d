/** True when a row was refused because its primary key is there already, and not by a unique index of the user's. */
export function isTaken(error: unknown): boolean {
  const { errno, message } = (error ?? {}) as { readonly errno?: unknown; readonly message?: unknown };
  // Every language of the server's names the key, MySQL with its table.
  return errno === 1062 && /['.]PRIMARY'/.test(String(message));
}
