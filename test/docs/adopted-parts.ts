import { queueTables } from '../../lib/storage/postgres/identifiers.js';
import { ownColumns } from '../../lib/storage/postgres/schema/schema.js';
import { schemaScript } from '../../lib/storage/postgres/schema/schema-statements.js';

/** What `tarefa adopt` adds to a table of nsj-queue-lib of version 1.0 or later, by name. */
export interface AdoptedParts {
  readonly columns: readonly string[];
  readonly indexes: readonly string[];
  readonly triggers: readonly string[];
  readonly functions: readonly string[];
  readonly tables: readonly string[];
  readonly views: readonly string[];
}

/** Read from the script that makes a whole queue: what its first version had is not added. */
export function adoptedParts(table: string): AdoptedParts {
  const subscriptions = { schema: 'public', table: `${table}_subscriber` };
  const script = schemaScript(queueTables('public', table, subscriptions), table, { webhooks: false });
  const made = (what: string): readonly string[] => {
    const name = new RegExp(`create ${what} (?:if not exists )?(?:"public"\\.)?"([^"]+)"`, 'g');
    return [...new Set([...script.matchAll(name)].map(([, found = '']) => found))];
  };
  const theirs = [table, subscriptions.table];
  return {
    columns: ownColumns.map(({ name }) => name),
    // Those of the subscriptions table are nsj-queue-lib's as well, and the schedules' come with their table.
    indexes: made('(?:unique )?index').filter((name) => !/_(sub_.*|schedule_next)$/.test(name)),
    triggers: made('trigger'),
    functions: made('or replace function'),
    tables: made('table').filter((name) => !theirs.includes(name)),
    views: made('or replace view'),
  };
}

/** The same as a list for readers: a line for each part, with its names in place of `…`. */
function listOf(table: string, words: Readonly<Record<keyof AdoptedParts, string>>): string {
  const parts = adoptedParts(table);
  const named = (part: keyof AdoptedParts): string => parts[part].map((name) => `\`${name}\``).join(', ');
  return Object.entries(words)
    .map(([part, text]) => `- ${text.replace('…', named(part as keyof AdoptedParts))}`)
    .join('\n');
}

export const adoptedSections: Readonly<Record<string, () => string>> = {
  adopted: () =>
    listOf('<table>', {
      columns:
        'columns: …, all nullable or with constant defaults, so that no row is rewritten; and `prioridade` where it is missing (before 1.0);',
      indexes: 'indexes: …;',
      triggers: 'triggers: …, in place of the old notify trigger and on the same channel;',
      functions: 'functions: …;',
      tables: 'tables: …;',
      views: 'the view ….',
    }),
  'adopted-pt': () =>
    listOf('<tabela>', {
      columns:
        'colunas: …, todas anuláveis ou com padrão constante, de modo que nenhuma linha é regravada; e `prioridade`, onde faltar (antes da 1.0);',
      indexes: 'índices: …;',
      triggers: 'gatilhos: …, no lugar do que avisava e no mesmo canal;',
      functions: 'funções: …;',
      tables: 'tabelas: …;',
      views: 'a visão ….',
    }),
};
