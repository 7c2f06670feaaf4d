import { MemoryDatabase } from '../../../lib/storage/memory/memory-database.js';
import { MemoryTestAccess } from '../../../lib/storage/memory/memory-test-access.js';
import { failing, working, type OpenedDatabase } from './opened.js';

/** Makes a database in memory, whose stand-in counts what handlers do. */
export async function openMemory(
  make: (...parts: ConstructorParameters<typeof MemoryDatabase>) => MemoryDatabase = (parts) =>
    new MemoryDatabase(parts),
): Promise<OpenedDatabase> {
  let effects = 0;
  const db = {
    query: async (text: string) => {
      if (text === failing) throw new Error('there is no table nowhere');
      if (text === working) effects += 1;
      return { rows: [] };
    },
  };
  const database = make({ name: 'tasks', now: () => Date.now(), db });
  const { table } = database;
  return {
    database,
    access: new MemoryTestAccess(table),
    undoes: false,
    inTransaction: (work) => work(db),
    effects: async () => effects,
    pause: async (route) => void table.paused.set(route, table.nowMs),
    refuseInserts: undefined,
    erase: async (id) => table.remove([id]),
    halt: async () => {
      for (const worker of table.workers.values()) worker.halted = true;
    },
    setClockBack: async (ms) => table.travel(-ms),
  };
}
