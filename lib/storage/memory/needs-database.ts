import { TarefaError } from '../../errors.js';

/** The error of everything that a queue without a database cannot show. */
export function needsDatabase(what: string): TarefaError {
  return new TarefaError(
    'DATABASE_NEEDED',
    `${what} needs a database, and this queue runs without one (withoutDatabase of nestjs-tarefa/testing): ` +
      `test this on a real PostgreSQL, startEmbeddedPostgres() brings one`,
  );
}

/** A handle that runs no statement. */
export const noDatabase = {
  query: (text: string): Promise<never> =>
    Promise.reject(needsDatabase(`the statement ${JSON.stringify(text.slice(0, 80))}`)),
};
