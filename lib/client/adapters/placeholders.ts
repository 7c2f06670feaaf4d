/** A statement whose placeholders are counted instead of numbered. */
export interface Positional {
  readonly text: string;
  readonly bindings: unknown[];
}

/** A part of a statement: text, or the value of a parameter. */
export type StatementPart = { readonly text: string } | { readonly value: unknown };

/** True for a statement for PostgreSQL, which numbers its parameters. */
export const isNumbered = (text: string): boolean => /\$\d/.test(text);

/** Statements for PostgreSQL number their parameters (`$1`), those for MySQL and MariaDB write `?` in their order. */
export function partsOf(text: string, values: readonly unknown[]): readonly StatementPart[] {
  if (isNumbered(text) || values.length === 0) {
    // Every other part is the number of a parameter.
    return text
      .split(/\$(\d+)/)
      .map((part, index) => (index % 2 === 0 ? { text: part } : { value: values[Number(part) - 1] ?? null }));
  }
  return text
    .split('?')
    .flatMap((part, index) =>
      index === 0 ? [{ text: part }] : [{ value: values[index - 1] ?? null }, { text: part }],
    );
}

/** For libraries that write `?` for a parameter on every database: one that is used twice is passed twice. */
export function withQuestionMarks(text: string, values: readonly unknown[]): Positional {
  const bindings: unknown[] = [];
  const positional = partsOf(text, values).map((part) => {
    if ('text' in part) return part.text.replaceAll('?', '\\?');
    bindings.push(part.value);
    return '?';
  });
  return { text: positional.join(''), bindings };
}
