import type { TarefaErrorCode } from '../errors.js';

/** Why a database cannot be used, in words. */
export interface StartProblem {
  readonly code: Extract<TarefaErrorCode, 'DATABASE_UNREACHABLE' | 'DATABASE_REFUSED' | 'RIGHTS_MISSING'>;
  /** What happened, in one line. */
  readonly text: string;
  /** What to do about it. */
  readonly todo: string;
}

/** Where a start connects, and what its errors mean there. */
export interface StartPlace {
  /** `host db, port 5432, database "shop", role "ana"`. Holds no password. */
  readonly description: string;
  /** What went wrong with a connection or a statement; undefined when it was something else. */
  problemOf(error: unknown): StartProblem | undefined;
}
