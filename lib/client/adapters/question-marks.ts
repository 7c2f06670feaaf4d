/** A statement whose placeholders are counted instead of named. */
export interface Positional {
  readonly text: string;
  readonly bindings: unknown[];
}

/** For libraries that write `?` for a parameter: a parameter that is used twice is passed twice. */
export function withQuestionMarks(text: string, values: readonly unknown[]): Positional {
  const bindings: unknown[] = [];
  const positional = text.replaceAll('?', '\\?').replace(/\$(\d+)/g, (_, index: string) => {
    bindings.push(values[Number(index) - 1] ?? null);
    return '?';
  });
  return { text: positional, bindings };
}
