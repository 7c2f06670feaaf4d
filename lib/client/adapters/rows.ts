/** The rows of an answer: some libraries wrap them, others do not. */
export function rowsOf(answer: unknown): Record<string, unknown>[] {
  const rows = Array.isArray(answer) ? answer : (answer as { rows?: unknown } | undefined)?.rows;
  return Array.isArray(rows) ? (rows as Record<string, unknown>[]) : [];
}
