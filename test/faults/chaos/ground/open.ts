import type { Ground, GroundName } from './ground.js';

/** Starts a database for a run. */
export async function openGround(name: GroundName): Promise<Ground> {
  if (name === 'mariadb') return (await import('./mariadb.js')).openMariadb();
  return (await import('./postgres.js')).openPostgres();
}
