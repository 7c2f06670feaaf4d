import { errorTable } from '../../lib/index.js';
import { quoteLiteral, queueTables } from '../../lib/storage/postgres/identifiers.js';
import { schemaStatements, schemaVersion } from '../../lib/storage/postgres/schema.js';
import { readInterface, type Field } from './interfaces.js';

/** What is made from the sources and put between `<!-- name:start -->` and `<!-- name:end -->`. */
export const sections: Readonly<Record<string, () => string>> = {
  options: () => fieldTable(readInterface('lib/queue.options.ts', 'QueueOptions')),
  'recovery-options': () => fieldTable(readInterface('lib/worker/worker-options.ts', 'RecoveryOptions')),
  'webhook-options': () => fieldTable(readInterface('lib/webhooks/webhook-options.ts', 'WebhookOptions')),
  'circuit-options': () => fieldTable(readInterface('lib/webhooks/webhook-options.ts', 'CircuitOptions')),
  'handler-options': () => fieldTable(readInterface('lib/subscribers/decorators.ts', 'HandlerOptions')),
  errors: () =>
    table(
      ['code', 'when', 'what to do'],
      Object.entries(errorTable).map(([code, { when, todo }]) => [`\`${code}\``, when, todo]),
    ),
  schema: () => `\`\`\`sql\n${schemaScript()}\n\`\`\``,
};

/** A document with its generated sections as they are now. */
export function withSections(text: string): string {
  return Object.entries(sections).reduce((document, [name, render]) => {
    const [start, end] = [`<!-- ${name}:start -->`, `<!-- ${name}:end -->`];
    const [from, to] = [document.indexOf(start), document.indexOf(end)];
    if (from === -1 || to === -1) return document;
    return `${document.slice(0, from)}${start}\n\n${render()}\n\n${document.slice(to)}`;
  }, text);
}

function fieldTable(fields: readonly Field[]): string {
  const hasVariables = fields.some(({ variables }) => variables.length > 0);
  const hasDefaults = fields.some(({ fallback }) => fallback !== undefined);
  const header = [
    'option',
    'value',
    ...(hasDefaults ? ['default'] : []),
    ...(hasVariables ? ['variable'] : []),
    'meaning',
  ];
  return table(
    header,
    fields.map((field) => [
      `\`${field.name}\``,
      valueOf(field),
      ...(hasDefaults ? [field.fallback ?? ''] : []),
      ...(hasVariables ? [field.variables.map((name) => `\`${name}\``).join(', ')] : []),
      field.text,
    ]),
  );
}

const plainTypes: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: 'true or false',
  'readonly number[] | string': 'minutes of the hour',
  PostgresConnection: 'URL, `pg` configuration, or pool',
  'string | false': 'text, or `false`',
  'Partial<RecoveryOptions> | false': 'object, or `false`',
  '(() => SqlHandle | undefined)': 'function',
  WrapHandler: 'function',
  StandardSchema: 'schema',
  'Readonly<Record<string, StandardSchema>>': 'schemas by topic',
  'boolean | readonly EnhancerKind[]': 'true, false or a list',
  'boolean | WebhookOptions': 'true, false or an object',
  'readonly string[]': 'list of texts',
  'string | readonly string[]': 'text, or a list',
  'number | false': 'number, or `false`',
  'Partial<CircuitOptions> | false': 'object, or `false`',
};

/** Numbers say their unit, which is in their name. */
function valueOf({ name, type }: Field): string {
  if (type === 'number')
    return /Ms$|Seconds$|Minutes$|Days$|Bytes$/.exec(name)?.[0].toLowerCase() ?? 'number';
  const plain = plainTypes[type];
  if (plain !== undefined) return plain;
  return type
    .split(' | ')
    .map((one) => `\`${one}\``)
    .join(' or ');
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The whole script for `public.shop_queue`; every statement may be run again. */
function schemaScript(): string {
  const tables = queueTables('public', 'shop_queue', { schema: 'public', table: 'shop_queue_subscriber' });
  const statements = schemaStatements(tables, 'shop_queue', { rings: true, webhooks: true }).flatMap(
    (statement) =>
      statement.startsWith('create trigger "shop_queue_ring"')
        ? [`drop trigger if exists "shop_queue_ring" on ${tables.queue}`, statement]
        : [statement],
  );
  const migration =
    `insert into ${tables.migrations} (table_name, version) values (${quoteLiteral('shop_queue')}, ${schemaVersion})\n` +
    'on conflict (table_name) do nothing';
  return [...statements, migration].map((statement) => `${statement};`).join('\n\n');
}
