import type { Command } from '../../lib/cli/command.js';
import { commands } from '../../lib/cli/commands.js';
import { commonOptions } from '../../lib/cli/common-options.js';
import { mysqlScript } from '../../lib/cli/schema/mysql-script.js';
import { commandParagraphs, optionTitle, usageLine } from '../../lib/cli/help.js';
import { errorTable } from '../../lib/index.js';
import { queueTables as mysqlTables } from '../../lib/storage/mysql/identifiers.js';
import { queueTables } from '../../lib/storage/postgres/identifiers.js';
import { schemaScript } from '../../lib/storage/postgres/schema/schema-statements.js';
import { adoptedSections } from './adopted-parts.js';
import { exportedNames } from './exported-names.js';
import { readInterface, readInterfaceOfFields, type Field } from './interfaces.js';

/** What is made from the sources and put between `<!-- name:start -->` and `<!-- name:end -->`. */
export const sections: Readonly<Record<string, () => string>> = {
  'options-first-day': () => fieldTable(optionsOf('first day')),
  'options-production': () => fieldTable(optionsOf('production')),
  'options-rarely': () => fieldTable(optionsOf('rarely')),
  events: eventTable,
  'event-task': () =>
    table(
      ['field of `task`', 'meaning'],
      readInterface('lib/events.ts', 'TaskReference').map(({ name, text }) => [`\`${name}\``, text]),
    ),
  'recovery-options': () => fieldTable(readInterface('lib/options/worker-options.ts', 'RecoveryOptions')),
  'webhook-options': () => fieldTable(readInterface('lib/options/webhook-options.ts', 'WebhookOptions')),
  'circuit-options': () => fieldTable(readInterface('lib/options/webhook-options.ts', 'CircuitOptions')),
  'tcp-bell-options': () => fieldTable(readInterface('lib/options/bell-options.ts', 'TcpBellOptions')),
  'redis-bell-options': () => fieldTable(readInterface('lib/options/bell-options.ts', 'RedisBellOptions')),
  'nats-bell-options': () => fieldTable(readInterface('lib/options/bell-options.ts', 'NatsBellOptions')),
  'server-options': () => fieldTable(readInterface('lib/options/server-options.ts', 'ServerOptions')),
  'isolation-options': () =>
    fieldTable(readInterface('lib/options/isolation-options.ts', 'IsolationOptions')),
  'loki-options': () => fieldTable(readInterface('lib/options/loki-options.ts', 'LokiOptions')),
  'tenant-options': () => fieldTable(readInterface('lib/options/tenant-options.ts', 'TenantDatabaseOptions')),
  'tenant-service-options': () =>
    fieldTable(readInterface('lib/options/tenant-options.ts', 'TenantServiceOptions')),
  'handler-options': () => fieldTable(readInterface('lib/subscribers/decorators.ts', 'HandlerOptions')),
  // A heading each: messages lead to it.
  errors: () =>
    Object.entries(errorTable)
      .map(([code, { when, todo }]) => `### ${code}\n\n${when}\n\n**What to do:** ${todo}`)
      .join('\n\n'),
  commands: () => commands.map(commandSection).join('\n\n'),
  'common-options': () => optionTable(commonOptions),
  api: () =>
    [...exportedNames()]
      .map(([group, names]) => {
        const rows = names.map(({ name, text }) => [`\`${name}\``, asMarkdown(text)]);
        return `## ${group}\n\n${table(['name', 'what it is'], rows)}`;
      })
      .join('\n\n'),
  ...adoptedSections,
  schema: () => `\`\`\`sql\n${shopScript()}\n\`\`\``,
  // No statements that a driver takes: some lines are for the client `mysql`.
  'mysql-schema': () => `\`\`\`text\n${mysqlShopScript()}\n\`\`\``,
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

/** When one meets an option; those that are not named here are met rarely. */
const optionGroups: Readonly<Record<string, 'first day' | 'production'>> = {
  ...groupOf('first day', [
    ...['connection', 'queue', 'worker', 'concurrency', 'maxAttempts', 'retryIntervalMinutes', 'schemas'],
    ...['webhooks', 'globalEnhancers', 'logDebug'],
  ]),
  ...groupOf('production', [
    ...[
      'sessionConnection',
      'connectRetryMs',
      'schema',
      'layout',
      'lanes',
      'poolSize',
      'purgeMinutes',
      'purgeMaxAgeDays',
    ],
    ...[
      'bell',
      'order',
      'unknownTasks',
      'transaction',
      'wrapHandler',
      'tenantDatabases',
      'isolation',
      'maxLoopDelayMs',
    ],
    ...['pauseWhileBlocked', 'maxPayloadBytes', 'errorProperties', 'shutdownTimeoutMs', 'loki'],
  ]),
};

function groupOf<Group extends string>(group: Group, names: readonly string[]): Record<string, Group> {
  return Object.fromEntries(names.map((name) => [name, group]));
}

function optionsOf(group: 'first day' | 'production' | 'rarely'): readonly Field[] {
  const all = readInterface('lib/options/queue-options.ts', 'QueueOptions');
  const unknown = Object.keys(optionGroups).filter((name) => !all.some((one) => one.name === name));
  if (unknown.length > 0) throw new Error(`no option is called ${unknown.join(', ')}`);
  return all.filter(({ name }) => (optionGroups[name] ?? 'rarely') === group);
}

/** A row for each event, and one for each of its fields; both have to say something. */
function eventTable(): string {
  const rows = readInterfaceOfFields('lib/events.ts', 'QueueEventMap').flatMap(({ name, text, fields }) => [
    [`\`${name}\``, '', text],
    ...fields.map((field) => ['', `\`${field.name}\``, field.text]),
  ]);
  const silent = rows.find(([, , meaning]) => meaning === '');
  if (silent) throw new Error(`lib/events.ts does not say what ${silent.join('')} is`);
  return table(['event', 'field', 'meaning'], rows);
}

/** What `--help` of a command says. */
function commandSection(command: Command): string {
  const { name, options = {}, examples = [] } = command;
  return [
    `### ${name}`,
    ...commandParagraphs(command).map(asMarkdown),
    textBlock([usageLine(command).replace(/^Usage: /, '')]),
    ...(Object.keys(options).length > 0 ? [optionTable(options)] : []),
    ...(examples.length > 0 ? ['For example:', textBlock(examples)] : []),
  ].join('\n\n');
}

function optionTable(options: NonNullable<Command['options']>): string {
  return table(
    ['option', 'meaning'],
    Object.entries(options).map(([name, option]) => [
      `\`${optionTitle(name, option)}\``,
      asMarkdown(
        option.multiple === true ? `${option.description} (may be given several times)` : option.description,
      ),
    ]),
  );
}

function textBlock(lines: readonly string[]): string {
  return ['```text', ...lines, '```'].join('\n');
}

/** What a terminal shows as it is, outside of backticks. */
function asMarkdown(text: string): string {
  return text
    .split('`')
    .map((part, index) => (index % 2 === 1 ? part : part.replace(/[<*]/g, '\\$&')))
    .join('`');
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
  'PostgresConnection | MysqlConnection': 'URL, configuration, or pool',
  'string | false': 'text, or `false`',
  'Some<RecoveryOptions> | false': 'object, or `false`',
  '(() => SqlHandle | undefined)': 'function',
  WrapHandler: 'function',
  Schema: 'schema',
  Form: "`'json'` or `'text'`",
  Transformed: 'true or false',
  '((attempt: number) => number)': 'function',
  'ByTopic<StandardSchema>': 'schemas by topic',
  'boolean | readonly EnhancerKind[]': 'true, false or a list',
  'boolean | WebhookOptions': 'true, false or an object',
  'boolean | ServerOptions': 'true, false or an object',
  QueueBell: '`tcp(…)`, `redis(…)` or `nats(…)`',
  object: 'object',
  'boolean | TenantDatabaseOptions': 'true, false or an object',
  TenantResolver: 'function',
  TenantServiceOptions: 'object',
  'boolean | ConnectionOptions': 'true, false or options of `node:tls`',
  IsolationOptions: 'object',
  'URL | string': '`file:` URL, or absolute path',
  'LokiOptions | false': 'object, or `false`',
  LokiBasicAuth: '`{ username, password }`',
  'Readonly<Record<string, string>>': 'texts by name',
  'readonly string[]': 'list of texts',
  'string | readonly string[]': 'text, or a list',
  'number | false': 'number, or `false`',
  'Some<CircuitOptions> | false': 'object, or `false`',
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
function shopScript(): string {
  const tables = queueTables('public', 'shop_queue', { schema: 'public', table: 'shop_queue_subscriber' });
  return schemaScript(tables, 'shop_queue', { webhooks: true }).trimEnd();
}

/** The same for MySQL and MariaDB, where the database is called `shop`. */
function mysqlShopScript(): string {
  const tables = mysqlTables('shop', 'shop_queue', { schema: 'shop', table: 'shop_queue_subscriber' });
  return mysqlScript(tables, true).trimEnd();
}
