import { createConnection, type Connection } from 'mysql2/promise';
import { expect, onTestFinished, test } from 'vitest';
import { fromMysql2 } from '../../../lib/client/adapters/mysql2.js';
import type { BulkKind } from '../../../lib/storage/admin.js';
import { greatestId } from '../../../lib/values/attempt-id.js';
import type { MysqlFlavour } from '../../support/mysql.js';
import { until } from '../../support/waiting.js';
import { ago, useMysqlQueue } from './mysql-queue.js';

/** What operators' changes promise that only shows on these servers: locks, hand-written rows, and what their types hold. */
export function exerciseMysqlAdmin(flavour: MysqlFlavour): void {
  const bench = useMysqlQueue(flavour);

  const failed = { processo: 'a', status: 'falha', data_hora: ago(60) };
  const place = {
    after: '0',
    lastId: String(greatestId),
    rows: 10,
    cancellation: { by: null, message: 'off' },
  };

  /** Another session has a transaction open that has done this. */
  async function meanwhile(sql: string, values: readonly unknown[] = []): Promise<Connection> {
    const other = await createConnection({ uri: bench.server.url, multipleStatements: true });
    onTestFinished(() => other.destroy());
    await other.query(`start transaction; ${sql}`, [...values]);
    return other;
  }

  test('of two who retry a task at the same time one wins', async () => {
    const [id = ''] = await bench.insert([failed]);
    const answers = await Promise.all(Array.from({ length: 6 }, () => bench.database.admin.retry(id)));
    expect(answers.filter((answer) => answer !== undefined)).toHaveLength(1);
    expect(await bench.statuses()).toEqual(['falha', 'pendente']);
    expect(bench.rung).toEqual(['due']);
  });

  test('a retry keeps payload, key, priority and round, and rounds beyond counting go on elsewhere', async () => {
    const [first = '', stray = ''] = await bench.insert([
      { ...failed, payload: 'kept', prioridade: 7, chave_fila: 'k', chave_unica: 'u:1' },
      failed,
    ]);
    await bench.ask('update tasks set perdas = 9 where id = ?', [first]);
    await bench.ask('update tasks set rodada = -5 where id = ?', [stray]);
    const [again, other] = [await bench.database.admin.retry(first), await bench.database.admin.retry(stray)];
    const rows = await bench.ask('select * from tasks where id in (?)', [[again, other]]);
    expect(rows[0]).toMatchObject({
      id_inicial: first,
      id_anterior: first,
      payload: null,
      prioridade: 7,
      chave_fila: 'k',
      chave_unica: 'u:1',
      rodada: 1,
      tentativa: 1,
      perdas: 4,
    });
    expect(rows[1]?.['rodada']).toBeGreaterThanOrEqual(100_000_000);
    expect(await bench.database.attempts.loadPayload(String(again))).toBe('kept');
  });

  test('a task whose unique key is taken, or that has an attempt after it, is not retried', async () => {
    const unique = { processo: 'a', chave_unica: 'u:1' };
    const [taken = '', , continued = ''] = await bench.insert([{ ...unique, ...failed }, unique, failed]);
    await bench.insert([{ id_inicial: continued, id_anterior: continued, rodada: 1, tentativa: 1 }]);
    expect(await bench.database.admin.retry(taken)).toBeUndefined();
    expect(await bench.database.admin.retry(continued)).toBeUndefined();
    expect(await bench.ask('select 1 from tasks where reenfileirado')).toEqual([]);
    expect(bench.rung).toEqual([]);
  });

  test.each(['null', '7', '"text"', '[1]', '{"tarefa:edits": 1, "a": "b"}', 'no json'])(
    'metadata %s is edited',
    async (metadados) => {
      const [id = ''] = await bench.insert([{ ...failed, metadados }]);
      const edited = { payload: `'"\\\u{1f600}`, hash: 'h', by: null, reason: 'why' };
      const again = (await bench.database.admin.retryEdited(id, edited)) ?? '';
      const [, attempt] = await bench.database.admin.attemptsOf(again, true);
      const edit = { by: null, reason: 'why', after: id, at: expect.any(String) as unknown };
      const kept = metadados.startsWith('{') ? { a: 'b' } : {};
      expect(attempt).toMatchObject({ payload: edited.payload });
      expect(attempt?.metadata).toEqual({ ...kept, 'tarefa:edits': [edit] });
    },
  );

  test('metadata keeps every digit when it is edited', async () => {
    const [id = ''] = await bench.insert([{ ...failed, metadados: '{"n": 1970670598291982290}' }]);
    const edited = { payload: 'x', hash: null, by: null, reason: null };
    const again = (await bench.database.admin.retryEdited(id, edited)) ?? '';
    const [row] = await bench.ask('select metadados from tasks where id = ?', [again]);
    expect(String(row?.['metadados'])).toContain('"n": 1970670598291982290,');
  });

  test('a delivery is not edited', async () => {
    const [id = ''] = await bench.insert([{ ...failed, subscriber_id: 's', publication_id: 1 }]);
    const edited = { payload: 'x', hash: null, by: null, reason: null };
    expect(await bench.database.admin.retryEdited(id, edited)).toBeUndefined();
    expect(await bench.database.admin.retry(id)).toBeDefined();
  });

  test('running a task now moves the time that the attempt before names', async () => {
    const later = { status: 'agendada', data_hora: ago(-3_600) };
    const [first] = await bench.insert([{ ...failed, reenfileirado: 1, proxima_tentativa: ago(-3_600) }]);
    const [id = ''] = await bench.insert([{ ...later, id_inicial: first, id_anterior: first, tentativa: 2 }]);
    expect(await bench.database.admin.runNow(String(first))).toBe(true);
    const [row] = await bench.ask(
      `select p.proxima_tentativa = f.data_hora as linked, f.data_hora <= utc_timestamp(6) as due, f.status
       from tasks f join tasks p on p.id = f.id_anterior where f.id = ?`,
      [id],
    );
    expect([row?.['linked'], row?.['due'], row?.['status']].map(String)).toEqual(['1', '1', 'pendente']);
    expect(bench.rung).toEqual(['due']);
    expect(await bench.database.admin.runNow(id)).toBe(false);
  });

  test('a buried task has the dead one that was there, or one with its payload', async () => {
    const [first = '', second = ''] = await bench.insert([
      { processo: 'a', payload: '   ' },
      { processo: 'a', payload: '' },
    ]);
    const [before] = await bench.insert([{ dead: 1, live_id: second, processo: 'a' }]);
    const dead = await bench.database.admin.bury(first, 'enough');
    expect(await bench.database.admin.bury(second, 'enough')).toBe(before);
    const [row] = await bench.ask(
      `select payload, payload_hash = sha2('   ', 256) as hashed, live_id, dead from tasks where id = ?`,
      [dead],
    );
    expect(row).toMatchObject({ payload: '   ', live_id: first, dead: 1 });
    expect(Number(row?.['hashed'])).toBe(1);
    expect(bench.rung).toEqual(['due', 'due']);
  });

  test('a buried task of a later round has the dead one that was there of that round', async () => {
    const [id = ''] = await bench.insert([{ processo: 'a', rodada: 1 }]);
    const [, ofRound] = await bench.insert([
      { dead: 1, live_id: id, processo: 'a' },
      { dead: 1, live_id: id, processo: 'a', rodada: 1 },
    ]);
    expect(await bench.database.admin.bury(id, 'enough')).toBe(ofRound);
  });

  test('deleting takes dead chains of dead chains, and nothing that only looks like them', async () => {
    const [root = '', other = ''] = await bench.insert([failed, failed]);
    const [dead = ''] = await bench.insert([{ ...failed, dead: 1, live_id: root }]);
    await bench.insert([
      { ...failed, dead: 1, live_id: dead },
      { ...failed, id_inicial: dead, id_anterior: dead, dead: 1, live_id: root, tentativa: 2 },
      { ...failed, id_inicial: root, id_anterior: root, tentativa: 2 },
      // A delivery of it is a task of its own.
      { ...failed, publication_id: root, subscriber_id: 's' },
    ]);
    expect(await bench.database.admin.delete(root)).toBe(5);
    const left = await bench.ask('select id, subscriber_id from tasks order by id');
    expect(left.map((row) => row['subscriber_id'] ?? String(row['id']))).toEqual([other, 's']);
  });

  test.each<[BulkKind, Record<string, unknown>]>([
    ['retry', failed],
    ['cancel', { processo: 'a' }],
    ['delete', failed],
  ])('work of many with %s leaves out what another session has locked', async (kind, row) => {
    const [one, locked] = await bench.insert([row, row]);
    const other = await meanwhile('select 1 from tasks where id = ? for update', [locked]);
    expect(await bench.database.admin.runBlock(kind, { topic: 'a' }, place)).toMatchObject({
      done: 1,
      after: null,
    });
    await other.query('rollback');
    const rows = await bench.ask('select id, status, reenfileirado from tasks where id in (?) order by id', [
      [one, locked],
    ]);
    expect(rows.at(-1)).toMatchObject({ id: locked, reenfileirado: 0 });
    expect((await bench.database.admin.runBlock(kind, { ids: [String(locked)] }, place)).done).toBe(1);
  });

  test('work of many goes on where it ended, and only up to where it was counted', async () => {
    const ids = await bench.insert([failed, failed, { ...failed, processo: 'b' }, failed, failed]);
    const selection = { topic: 'a' };
    const { counts, lastId } = await bench.database.admin.countMeant('retry', selection, 1_000);
    expect(counts).toMatchObject([{ topic: 'a', count: 4, oldest: expect.any(Date) as unknown }]);
    expect(lastId).toBe(ids[4]);
    await bench.insert([failed]);
    const first = await bench.database.admin.runBlock('retry', selection, { ...place, lastId, rows: 3 });
    expect(first).toEqual({ done: 3, after: ids[3] });
    const rest = { ...place, lastId, rows: 3, after: first.after ?? '' };
    expect(await bench.database.admin.runBlock('retry', selection, rest)).toEqual({ done: 1, after: null });
  });

  test('pauses are told once', async () => {
    const { admin } = bench.database;
    const route = `t:${'ä'.repeat(250)}`;
    await admin.pause(route);
    await admin.pause(route);
    await admin.resume(route);
    await admin.resume(route);
    expect(bench.rung).toEqual(['changed', 'changed']);
    await admin.pause('t:A');
    await admin.pause('t:a');
    await admin.pause('t:a ');
    expect(await admin.paused()).toMatchObject([{ topic: 'A' }, { topic: 'a' }, { topic: 'a ' }]);
  });

  test('a change waits for another session, and sees what that has done', async () => {
    const [id = ''] = await bench.insert([{ processo: 'a' }]);
    const other = await meanwhile(`update tasks set status = 'sucesso' where id = ?`, [id]);
    const cancelling = bench.database.admin.cancel({ ids: [id] }, { by: null, message: 'off' });
    await other.query('commit');
    expect(await cancelling).toEqual([]);
    expect(await bench.statuses()).toEqual(['sucesso']);
  });

  test('a task that has gone on since a caller took its snapshot is cancelled as it stands', async () => {
    const [id = ''] = await bench.insert([{ processo: 'a' }]);
    const caller = await meanwhile('select id from tasks');
    await bench.ask(`update tasks set status = 'falha', reenfileirado = 1 where id = ?`, [id]);
    const next = { processo: 'a', status: 'agendada', tentativa: 2, id_inicial: id, id_anterior: id };
    const [retry] = await bench.insert([next]);
    const off = { by: 'ann', message: 'off' };
    const cancelled = await bench.database.admin.cancel({ ids: [id] }, off, fromMysql2(caller));
    await caller.query('commit');
    expect(cancelled).toMatchObject([{ id: retry, firstAttemptId: id }]);
    expect(await bench.ask('select cancelada_por from tasks order by id')).toEqual([
      { cancelada_por: null },
      { cancelada_por: 'ann' },
    ]);
  });

  test('subscriptions are what was given, to the letter', async () => {
    const { subscriptions } = bench.database;
    const values = {
      tenant: String(greatestId),
      group: `'\\"`,
      url: null,
      httpMethod: null,
      headers: {},
      active: true,
    };
    for (const id of ['Ä', 'a', 'A']) await subscriptions.add({ ...values, id, topic: '\u{1f600}' });
    expect((await subscriptions.list('\u{1f600}')).map(({ id }) => id)).toEqual(['A', 'a', 'Ä']);
    expect(await subscriptions.find('A')).toMatchObject(values);
    const long = subscriptions.add({ ...values, id: 'x'.repeat(101), topic: 't' });
    await expect(long).rejects.toThrow(/too long/);
    await bench.ask(`update tasks_subscriber set headers = '[1]' where id = 'A'`);
    await bench.ask(`update tasks_subscriber set headers = '{"a": 1}' where id = 'a'`);
    expect((await subscriptions.find('A'))?.headers).toBeNull();
    expect((await subscriptions.find('a'))?.headers).toEqual({ a: '1' });
  });

  test('processes that declare the same subscriptions at the same time make each once', async () => {
    const declared = ['a', 'b', 'c'].map((id) => ({ id, topic: 't' }));
    const answers = await Promise.all(
      [declared, declared.toReversed(), declared].map((one) => bench.database.subscriptions.declare(one)),
    );
    const made = answers.flatMap((rows) => (rows ?? []).filter(({ made: isMade }) => isMade));
    expect(made.map(({ id }) => id).toSorted()).toEqual(['a', 'b', 'c']);
  });

  test('declared subscriptions appear together: a publication reaches all of them, or waits for them', async () => {
    const { subscriptions } = bench.database;
    const other = await meanwhile(`insert into tasks_subscriber (id, processo) values ('b', 't')`);
    const declared = subscriptions.declare(['a', 'b'].map((id) => ({ id, topic: 't' })));
    const onlooker = await meanwhile('rollback; set session transaction isolation level read uncommitted');
    const isThere = async (): Promise<boolean> => {
      const [rows] = await onlooker.query(`select id from tasks_subscriber where id = 'a'`);
      return (rows as unknown[]).length === 1;
    };
    await until(isThere, 'the first one is there, and the second one waits');
    expect(await subscriptions.list()).toEqual([]);
    await other.rollback();
    expect(await declared).toEqual(['a', 'b'].map((id) => ({ id, topic: 't', made: true })));
  });

  test('a user who may not add a declared subscription is told which right is missing', async () => {
    const { name } = bench.server;
    const user = `declarer_${process.pid}`;
    await bench.ask(
      `create user '${user}'@'%' identified by 'x'; grant select on ${name}.tasks to '${user}'@'%'`,
    );
    onTestFinished(() => bench.ask(`drop user '${user}'@'%'`).then(() => undefined));
    const address = new URL(bench.server.url);
    address.username = user;
    address.password = 'x';
    const { subscriptions } = await bench.openUnchecked(address.href);
    expect(await subscriptions.declare([{ id: 'a', topic: undefined }])).toBeUndefined();
    await expect(subscriptions.declare([{ id: 'a', topic: 't' }])).rejects.toMatchObject({
      code: 'RIGHTS_MISSING',
      message: expect.stringContaining(`grant select, insert on`) as unknown,
    });
  });

  test('secrets written by hand that are no list, or no times, do not sign', async () => {
    const { endpoints } = bench.database;
    const stored = [{ secret: 'over', until: 'soon' }, { secret: 'signs' }, { secret: 'x', until: 7 }, null];
    await bench.ask('insert into tasks_webhook set ?', [
      { subscriber_id: 's', secrets: JSON.stringify(stored) },
    ]);
    await bench.ask(
      `insert into tasks_webhook (subscriber_id, secrets) values ('t', '{"secret": 1}'), ('u', 'no json')`,
    );
    expect((await endpoints.secrets('s')).map(({ secret }) => secret)).toContain('signs');
    expect((await endpoints.secrets('s')).map(({ secret }) => secret)).not.toContain('over');
    expect([await endpoints.isSigned('t'), await endpoints.isSigned('u')]).toEqual([false, false]);
    await endpoints.addSecret('u', { secret: 'new', origin: null }, 0);
    expect(await endpoints.secrets('u')).toEqual([{ secret: 'new', origin: null }]);
  });

  test('of several who may probe one gets the turn, and what fails at the same time counts in full', async () => {
    const { endpoints } = bench.database;
    const rules = { failures: 6, restMs: 0, longestRestMs: 0 };
    await Promise.all(Array.from({ length: 6 }, () => endpoints.noteFailure('s', 0, rules)));
    const paused = await Promise.all(Array.from({ length: 4 }, () => endpoints.pausedRoutes(60_000, 60_000)));
    expect(paused.flat()).toHaveLength(3);
    const [health] = (await endpoints.list()) ?? [];
    expect(health).toMatchObject({ subscriptionId: 's', failures: 6 });
  });

  test('the key that seals is read in bytes', async () => {
    const keys = await bench.database.endpoints.sealKeys();
    const [row] = await bench.ask('select inner_key, outer_key from tasks_seal');
    expect(keys?.inner).toEqual(row?.['inner_key']);
    expect(keys?.outer).toEqual(row?.['outer_key']);
    expect(keys?.inner).toHaveLength(64);
  });
}
