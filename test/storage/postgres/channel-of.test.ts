import { expect, test } from 'vitest';
import { channelOf } from '../../../lib/storage/postgres/adoption/channel-of.js';

const call = { table: 'fila', args: ['sino'] };

const inBlock = (declared: string, done: string): string =>
  `\nDECLARE\n    ${declared}\nBEGIN\n    ${done}\n    RETURN NULL;\nEND;\n`;

test.each([
  ['a text', `begin perform pg_notify('sino', ''); return new; end`, 'sino'],
  ['a text with a quote', `begin perform pg_notify('o''sino', new.id::text); end`, `o'sino`],
  ['an argument of the trigger', 'begin perform pg_notify(tg_argv[0], null); end', 'sino'],
  ["the table's name", `begin perform pg_notify(TG_TABLE_NAME, ''); end`, 'fila'],
  ['the statement NOTIFY', 'begin notify Sino; end', 'sino'],
  [
    'a variable, as nsj-queue-lib writes it',
    inBlock(`channel_name text := 'Sino';`, `PERFORM pg_notify(channel_name, '');`),
    'Sino',
  ],
  ['a constant', inBlock(`c constant varchar(63) default 'sino';`, `perform pg_notify(c, '');`), 'sino'],
  ['a variable assigned later', inBlock('c text;', `C := 'sino'; perform pg_notify(c, '');`), 'sino'],
  ['a variable of the trigger', inBlock('c text := tg_argv[0];', `perform pg_notify(c, '');`), 'sino'],
  [
    'a variable with a comment',
    inBlock(`c text := 'sino'; -- c := 'old';`, `/* c := 'older' */ perform pg_notify(c, '--');`),
    'sino',
  ],
])('a channel that is %s is understood', (_, body, channel) => {
  expect(channelOf(body, call)).toBe(channel);
});

test.each([
  ['put together', inBlock(`c text := 'sino_' || tg_table_name;`, `perform pg_notify(c, '');`)],
  ['put together where it is used', `begin perform pg_notify('sino' || new.id, ''); end`],
  ['assigned twice', inBlock(`c text := 'a';`, `c := 'b'; perform pg_notify(c, '');`)],
  ['read from a row', inBlock('c text := new.processo;', `perform pg_notify(c, '');`)],
  ['a variable that is nowhere', `begin perform pg_notify(c, ''); end`],
])('a channel that is %s is not guessed', (_, body) => {
  expect(channelOf(body, call)).toBeUndefined();
});
