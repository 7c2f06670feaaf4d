/** True when a row was refused because its key is there already. */
export function isTaken(error: unknown): boolean {
  return (error as { readonly errno?: unknown } | null)?.errno === 1062;
}
