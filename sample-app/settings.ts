import { randomBytes } from 'node:crypto';

/** What the environment says about this process, read once. */
export const settings = {
  /**
   * What this process is for. `all`: takes orders and does all the work. `producer`: takes orders. `worker`: does the work,
   * but for webhooks, which `tarefa worker --webhooks` delivers.
   */
  role: readRole(process.env['ROLE']),
  /** 0: any free port. */
  port: readPort(process.env['PORT']),
  /** Loopback only, unless told otherwise. */
  host: process.env['LISTEN_ADDRESS'] || '127.0.0.1',
  /** Where others reach the shop, the partner for one. Undefined: where it listens. */
  publicUrl: readUrl(process.env['PUBLIC_URL']),
  /** For the dashboard, with the name `staff`. Default: a new one at each start, which is printed. */
  staffPassword: process.env['STAFF_PASSWORD'] || randomBytes(6).toString('hex'),
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

function readRole(text: string | undefined): 'all' | 'producer' | 'worker' {
  if (text === undefined || text === '') return 'all';
  if (text === 'all' || text === 'producer' || text === 'worker') return text;
  throw new Error(`ROLE must be all, producer or worker, got "${text}"`);
}

function readUrl(text: string | undefined): URL | undefined {
  if (text === undefined || text === '') return undefined;
  if (/^https?:/.test(text) && URL.canParse(text)) return new URL(text);
  throw new Error(`PUBLIC_URL must be a URL such as http://shop.internal:3000, got "${text}"`);
}
