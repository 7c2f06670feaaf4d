/** Wrong password, unknown role, no entry in pg_hba, or no such database: credentials may have changed. */
const refusedLogins = new Set(['28P01', '28000', '3D000']);

/** True when PostgreSQL did not let us in with these credentials. */
export function isRefusedLogin(error: unknown): boolean {
  return refusedLogins.has((error as { code?: string } | null | undefined)?.code ?? '');
}
