// What handlers say that lasts longer than their transaction, told by its words. What a function or trigger does is not seen.

/** Where a statement of a text begins. */
const start = String.raw`(?:^|;)(?:\s|(?:--|#)[^\n]*(?:\n|$)|/\*(?:[^*]|\*(?!/))*\*/)*`;

function anyOf(...parts: readonly string[]): RegExp {
  return new RegExp(parts.join('|'), 'i');
}

const postgres = anyOf(
  String.raw`${start}(?:set\s+(?!(?:local|transaction|constraints)\b)(?:session\s+)?[\w."]+|(?:reset|listen|deallocate|discard|load)\b|prepare\s+(?!transaction\b))`,
  // Its last argument says whether it lasts.
  String.raw`\bset_config\s*\((?!(?:[^()]|\([^()]*\))*\btrue\s*\))`,
  String.raw`\bpg_(?:try_)?advisory_lock(?:_shared)?\s*\(`,
  String.raw`\b(?:create|into)\s+(?:or\s+replace\s+|local\s+|global\s+)*temp(?:orary)?\s(?![^;]*\bon\s+commit\s+drop\b)`,
  String.raw`\bpg_temp"?\s*\.`,
  String.raw`\bwith\s+hold\b`,
);

/** There `set local` is the same as `set session`. `\x60` is the quote of its names. */
const mysql = anyOf(
  String.raw`${start}(?:set\s+(?!transaction\b)(?:session\s+|local\s+)?[\w.@\x60"]+|(?:use|prepare|reset|changeUser)\b)`,
  String.raw`@[\w.$\x60'"]+\s*:=`,
  String.raw`\binto\s+@`,
  String.raw`\bcreate\s+temporary\b`,
  String.raw`\bget_lock\s*\(`,
);

/**
 * The words of a text after which a session is not as it was; undefined when there are none.
 *
 * @param text statements, or the name of a call of the driver's
 */
export function traceOf(text: string, database: 'postgres' | 'mysql'): string | undefined {
  const [words] = (database === 'postgres' ? postgres : mysql).exec(text) ?? [];
  // They may stand behind a comment.
  return words
    ?.trimEnd()
    .split('\n')
    .at(-1)
    ?.replace(/^[;\s]+/, '');
}

/** What is told of a handler of which something is left, once. */
export const traceText = (words: string): string =>
  `a handler left something in the session of its connection ("${words}"), which is therefore closed after each such task: ` +
  'make it end with the transaction (SET LOCAL, set_config(…, true), pg_advisory_xact_lock, ON COMMIT DROP)';
