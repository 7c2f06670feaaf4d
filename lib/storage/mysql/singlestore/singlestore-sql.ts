import type { Sent } from '../dialect.js';
import { sessions } from '../statement.js';
import { rowsOfJson } from './rows-of-json.js';

/**
 * Writes a text of the library's in SQL that the documentation of SingleStore has. What differs by a word is said in that word
 * here; what needs another way altogether is among the ways of the dialect.
 */
export function inSingleStore(text: string, values: readonly unknown[]): Sent {
  const said = inWords(text, otherWords);
  return withRows(said.startsWith('create table ') ? inWords(said, wordsOfTables) : said, values);
}

/** How long a statement of the library waits for rows that others have locked: transactions that wait for each other wait so long. */
export const lockWait = 'lock_wait_timeout = 5';

type Words = readonly (readonly [word: RegExp | string, other: string])[];

function inWords(text: string, words: Words): string {
  return words.reduce((whole, [word, other]) => whole.replaceAll(word, other), text);
}

const otherWords: Words = [
  // It waits for rows that others have locked, for as long as a session's lock_wait_timeout.
  [/\s+skip locked\b/g, ''],
  // Its optimizer chooses indexes and orders of joins by itself.
  [/ force index \(\w+\)/g, ''],
  [/\bstraight_join\b/g, 'join'],
  // Nobody holds a lock where there are none.
  [/\bis_used_lock\((concat\(\?, [\w.]+\))\)/g, 'if($1 is null, 1, null)'],
  [sessions, 'information_schema.processlist'],
  // What MySQL or MariaDB run of a comment.
  [/\s*\/\*M?![^*]*\*\//g, ''],
  ['lock_wait_timeout = default', lockWait],
  // Without savepoints all of a transaction is undone, with its locks: a row that is set apart for nothing only waits for a while.
  ['rollback to savepoint tarefa_attempt', 'rollback'],
  ['savepoint tarefa_attempt', 'start transaction'],
  [/\bjson_quote\(/g, 'to_json('],
  [/\bjson_object\(/g, 'json_build_object('],
  [/\bjson_valid\(([\w.]+)\)/g, '($1 is not null)'],
  [
    /\bjson_arrayagg\(json_array\((convert\([^()]*\)), ([\w.]+), ([\w.]+)\)\)/g,
    `concat('[', group_concat(concat('[', to_json($1), ',', coalesce($2, 'null'), ',', to_json($3), ']')), ']')`,
  ],
  [/^create or replace sql security invoker view (\S+) as/g, 'drop view if exists $1;\ncreate view $1 as'],
];

const wordsOfTables: Words = [
  // Rows are found one by one and change often.
  [/^create table /g, 'create rowstore table '],
  [/\) engine = InnoDB .*$/g, ')'],
  [/ check \([^()]*\)/g, ''],
  // Defaults are constants, or the time of the server, whose zone `inspectServer` looks at.
  [/default \(utc_timestamp\(6\)\)/g, 'default current_timestamp(6)'],
  [/^( {2}\w+) (\w+(?:\(\d+\))?) as \((.*)\) stored(,?)$/gm, '$1 as ($3) persisted $2$4'],
  // A unique key would have to contain the key that divides rows over partitions, which is their id: it would be worth nothing.
  [/^ {2}unique key /gm, '  key '],
  [
    /^ {2}id bigint not null auto_increment primary key,$/gm,
    '  id bigint not null auto_increment primary key,\n  shard key (id),',
  ],
];

/** What is no SQL, a parameter that is an array of JSON in the place of a table, or another parameter. */
const parameters =
  /'(?:[^'\\]|\\.|'')*'|`[^`]*`|--[^\n]*|json_table\(\?, '\$\[\*\]' columns \(((?:[^()']|'[^']*'|\(\d+\))+)\)\)|\?/g;

/** Puts rows in the places of arrays of JSON. */
function withRows(text: string, values: readonly unknown[]): Sent {
  const sent: unknown[] = [];
  let next = 0;
  const written = text.replace(parameters, (found: string, columns: string | undefined) => {
    if (columns !== undefined) {
      const rows = rowsOfJson(columns, String(values[next]));
      next += 1;
      sent.push(...rows.values);
      return rows.text;
    }
    if (found === '?') {
      sent.push(values[next]);
      next += 1;
    }
    return found;
  });
  return { text: written, values: sent };
}
