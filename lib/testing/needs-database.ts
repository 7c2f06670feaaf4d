import { TarefaError } from '../errors.js';

/** The error of everything that a queue without a database cannot do. */
export function needsDatabase(what: string): TarefaError {
  return new TarefaError(
    'DATABASE_NEEDED',
    `${what} requires a database, but withoutDatabase() has none: it records inserts and runs one handler at a time. Test this ` +
      `with a QueueTester and connection: 'embedded'`,
  );
}

/** A part of a queue of which only these members work: every other method rejects with {@link needsDatabase}. */
export function refusing<Part extends object>(what: string, working: Partial<Part> = {}): Part {
  const refuse = (): Promise<never> => Promise.reject(needsDatabase(what));
  return new Proxy(working, { get: (part, name) => (Reflect.get(part, name) as unknown) ?? refuse }) as Part;
}
