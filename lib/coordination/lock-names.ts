/** What the names of the locks begin with that the sessions of living workers hold; their ids follow. */
export function livenessPrefix(qualifiedTable: string): string {
  return `tarefa:worker:${qualifiedTable}:`;
}

/** Name of the lock that the worker holds which runs a routine. */
export function routineKey(qualifiedTable: string, routine: string): string {
  return `tarefa:routine:${qualifiedTable}:${routine}`;
}
