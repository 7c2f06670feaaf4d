/** The rows of an answer: some libraries wrap them, others do not. */
export function rowsOf(answer: unknown): Record<string, unknown>[] {
  const rows = Array.isArray(answer) ? unpaired(answer) : (answer as { rows?: unknown } | undefined)?.rows;
  return Array.isArray(rows) ? (rows as Record<string, unknown>[]) : [];
}

/**
 * Drivers of MySQL answer rows and what is known of their columns, or what a statement has changed and nothing; TypeORM answers
 * rows and how many were changed.
 */
function unpaired(answer: readonly unknown[]): unknown {
  const [first, second] = answer;
  if (answer.length !== 2) return answer;
  if (Array.isArray(first)) return first;
  return second === undefined ? [] : answer;
}
