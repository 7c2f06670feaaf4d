import { expect, test } from 'vitest';
import { isTaken } from '../../../lib/storage/mysql/administration/taken.js';
import { explainFanOut, isGone } from '../../../lib/storage/mysql/transaction-errors.js';
import { useOpenedMysql } from './mysql-opened.js';

// The server words its errors in the language of a session, so their text tells nothing but names apart.

const open = useOpenedMysql('mariadb');

const languages = [
  ...['bg_BG', 'cs_CZ', 'da_DK', 'de_DE', 'el_GR', 'en_US', 'es_ES', 'et_EE', 'fr_FR', 'hi_IN', 'hu_HU'],
  ...['it_IT', 'ja_JP', 'ka_GE', 'ko_KR', 'nl_NL', 'no_NO', 'pl_PL', 'pt_BR', 'ro_RO', 'ru_RU', 'sk_SK'],
  ...['sr_RS', 'sv_SE', 'uk_UA', 'zh_CN'],
];

test('a taken id, an ended savepoint and a missing subscriptions table are told in every language', async () => {
  const { queue, openSession } = await open();
  const session = await openSession();
  const refusal = (text: string): Promise<unknown> => session.query(text).catch((error: unknown) => error);
  const messages = new Set<string>();
  await session.query('create temporary table named (id int primary key, name varchar(20) unique)');
  await session.query(`insert into named values (1, 'PRIMARY'), (2, 'a')`);
  for (const language of languages) {
    await session.query(`set lc_messages = ?`, [language]);
    const taken = await refusal('insert into named (id) values (1)');
    const other = await refusal(`insert into named values (3, 'PRIMARY')`);
    const gone = await refusal('rollback to savepoint handler');
    const missing = await refusal('select 1 from tasks_subscriber_gone');
    messages.add((taken as Error).message);
    const said = {
      taken: [isTaken(taken), isTaken(other)],
      gone: [isGone(gone, 'handler'), isGone(gone, 'another')],
      missing: [
        explainFanOut(missing, queue.tables.queue.replace('`tasks`', '`tasks_subscriber_gone`')) === missing,
        explainFanOut(missing, '`shop`.`elsewhere`') === missing,
      ],
    };
    expect({ language, ...said }).toEqual({
      language,
      taken: [true, false],
      gone: [true, false],
      missing: [false, true],
    });
  }
  // The server has its messages: they were not all English.
  expect(messages.size).toBeGreaterThan(15);
});
