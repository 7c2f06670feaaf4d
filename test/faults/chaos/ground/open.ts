import type { Ground, GroundName } from './ground.js';

/**
 * Starts a database for a run.
 *
 * @param wants whether there will be faults of that kind, for those that a server has to be started with
 */
export async function openGround(name: GroundName, wants: (kind: string) => boolean): Promise<Ground> {
  if (name === 'mariadb') return (await import('./mariadb.js')).openMariadb(wants);
  return (await import('./postgres.js')).openPostgres(wants);
}
