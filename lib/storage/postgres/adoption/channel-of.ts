const text = `'((?:[^']|'')*)'`;
const name = String.raw`[a-z_][\w$]*(?:\[\d+\])?`;

/** The parts of a trigger's call that may hold its channel. */
export interface TriggerCall {
  readonly args: readonly string[];
  readonly table: string;
}

/**
 * The channel that a trigger's function notifies, where its text shows it: a literal, an argument of the trigger, the
 * table's name, or a variable that is assigned one of these once, as in nsj-queue-lib's. Undefined elsewhere.
 */
export function channelOf(source: string, call: TriggerCall): string | undefined {
  const body = withoutComments(source);
  const [, literal, expression] =
    new RegExp(String.raw`\bpg_notify\s*\(\s*(?:${text}|(${name}))\s*,`, 'i').exec(body) ?? [];
  if (literal !== undefined) return unquote(literal);
  if (expression !== undefined) return valueOf(expression, body, call);
  const [, quoted, plain] = /\bnotify\s+(?:"([^"]+)"|([a-z_]\w*))/i.exec(body) ?? [];
  // As SQL reads names without quotes.
  return quoted ?? plain?.toLowerCase();
}

function valueOf(expression: string, body: string, { args, table }: TriggerCall): string | undefined {
  const [, argument] = /^tg_argv\[(\d+)\]$/i.exec(expression) ?? [];
  if (argument !== undefined) return args[Number(argument)];
  if (/^tg_(table_name|relname)$/i.test(expression)) return table;
  return variableValue(expression, body, { args, table });
}

/** Declared with its value, or set by its only assignment. */
function variableValue(variable: string, body: string, call: TriggerCall): string | undefined {
  const given = new RegExp(
    String.raw`\b${variable.replaceAll('$', String.raw`\$`)}\b(?:\s+(?:constant\s+)?(?:text|name|varchar|character\s+varying)\s*(?:\(\s*\d+\s*\))?)?(?:\s+not\s+null)?\s*(?::=|=|\bdefault\b)\s*(?:${text}(?:\s*::\s*\w+)?|(${name}))?\s*(;)?`,
    'gi',
  );
  const [only, ...others] = body.matchAll(given);
  // The value must end there: nothing is concatenated to it.
  if (!only || others.length > 0 || only[3] === undefined) return undefined;
  const [, literal, expression] = only;
  if (literal !== undefined) return unquote(literal);
  const isOther = expression !== undefined && expression.toLowerCase() !== variable.toLowerCase();
  return isOther && /^tg_/i.test(expression) ? valueOf(expression, body, call) : undefined;
}

function unquote(literal: string): string {
  return literal.replaceAll("''", "'");
}

/** Literals stay as they are. */
function withoutComments(body: string): string {
  return body.replaceAll(/('(?:[^']|'')*')|--[^\n]*|\/\*[\s\S]*?\*\//g, (_, kept?: string) => kept ?? ' ');
}
