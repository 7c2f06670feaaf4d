import type { WorkGround } from './clients.js';

/** What the workload does in the database of that address. */
export async function workOf(url: string): Promise<WorkGround> {
  if (url.startsWith('mysql:')) return (await import('./mysql-clients.js')).mysqlWork;
  return (await import('./postgres-clients.js')).postgresWork;
}
