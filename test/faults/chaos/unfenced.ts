import { Client } from 'pg';

/**
 * Takes the fence out of the completion in a task's transaction: it no longer asks whose attempt it is. What the
 * library would be without it, to show that the judges see the difference.
 */
export function removeFence(): void {
  const prototype = Client.prototype as unknown as { query: (...args: unknown[]) => unknown };
  const { query } = prototype;
  prototype.query = function withoutFence(this: unknown, ...args: unknown[]): unknown {
    const [statement, ...rest] = args;
    if (!isCompletion(statement)) return query.apply(this, args);
    const text = statement.text.replace(
      /where f\.id = \$1::bigint and .*/,
      'where f.id = $1::bigint and $2::bigint is not null and $3::int is not null',
    );
    if (text === statement.text) throw new Error(`the fence was not found in:\n${text}`);
    return query.call(this, { ...statement, text }, ...rest);
  };
}

function isCompletion(statement: unknown): statement is { readonly name: string; readonly text: string } {
  return (statement as { name?: unknown } | null)?.name === 'tarefa_complete';
}
