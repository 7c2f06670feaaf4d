/** What the environment says about this process, read once. */
export const settings = {
  /** 0: any free port. */
  port: readPort(process.env['PORT']),
  /** Loopback only, unless told otherwise. */
  host: process.env['LISTEN_ADDRESS'] || '127.0.0.1',
  /** Undefined: the shop starts a PostgreSQL of its own. */
  databaseUrl: process.env['DATABASE_URL'] || undefined,
  /** Where that PostgreSQL keeps its data. */
  embeddedDataDir: process.env['TAREFA_DIR'] || '.tarefa',
} as const;

function readPort(text: string | undefined): number {
  if (text === undefined || text === '') return 3000;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new Error(
    `PORT must be a number from 0 to 65535, got "${text}": set another one, 0 for any free port`,
  );
}
