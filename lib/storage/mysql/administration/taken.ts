/** True when a row was refused because its primary key is there already, and not by a unique index of the user's. */
export function isTaken(error: unknown): boolean {
  const { errno, message } = (error ?? {}) as { readonly errno?: unknown; readonly message?: unknown };
  // Every language of the server's names the key last, in its own quotes, MySQL with its table.
  return errno === 1062 && /[^\p{L}\d_]PRIMARY[^\p{L}\d_][^'"`‘’“”„«»]*$/u.test(String(message));
}
