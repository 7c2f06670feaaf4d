import type { ForeignLocks } from '../../interop.js';
import type { TextRow } from '../connections/control-connection.js';

/**
 * Reads the signs of nsj-queue-lib's client-server mode. A worker that ends its task between two of the views which are
 * asked looks like one, so that sign has to be seen twice.
 */
export async function findForeignLocks(ask: () => Promise<TextRow | undefined>): Promise<ForeignLocks> {
  const signs = readSigns(await ask());
  const isDoubtful = signs.server === undefined && signs.workers.length > 0;
  const again = isDoubtful ? readSigns(await ask()) : signs;
  const worker = signs.workers.find((one) => again.workers.includes(one));
  return { evidence: describe(again.server, worker), hiddenSessions: again.hidden };
}

interface Signs {
  readonly server: string | undefined;
  /** Session and task of each, with a blank between. */
  readonly workers: readonly string[];
  readonly hidden: number;
}

function readSigns(row: TextRow | undefined): Signs {
  return {
    server: row?.['server'] ?? undefined,
    workers: row?.['workers']?.match(/\b\d{1,20} \d{1,20}\b/g) ?? [],
    hidden: Number(row?.['hidden'] ?? 0),
  };
}

function describe(server: string | undefined, worker: string | undefined): string | undefined {
  if (server !== undefined) return `session ${server} counts due tasks as its server does`;
  if (worker === undefined) return undefined;
  const [pid, id] = worker.split(' ');
  return `session ${pid} runs task ${id} without its lock`;
}
