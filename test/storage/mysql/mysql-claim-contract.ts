import { expect, onTestFinished, test } from 'vitest';
import type { MysqlAccess } from '../../../lib/storage/mysql/mysql-access.js';
import { claimFrom, done, keysOf, useMysqlClaims } from './mysql-claiming.js';
import type { MysqlFlavour } from '../../support/mysql.js';

/** What `Claims` promise that only shows on one of these servers. */
export function exerciseMysqlClaims(flavour: MysqlFlavour): void {
  const bench = useMysqlClaims(flavour);

  /** Inserts a task that was due so many seconds ago. */
  const insert = (key: string, secondsAgo = 0, { priority = 50, topic = 'a' } = {}): Promise<unknown> =>
    bench.ask(
      `insert into tasks (processo, chave_externa, prioridade, data_hora)
       values (?, ?, ?, utc_timestamp(6) - interval ? second)`,
      [topic, key, priority, secondsAgo],
    );

  /** Another session locks an attempt; returns what ends that. */
  async function lock(id: string): Promise<() => Promise<void>> {
    const user = await bench.server.pool.getConnection();
    onTestFinished(() => user.destroy());
    await user.query('start transaction; select 1 from tasks where id = ? for update', [id]);
    return async () => void (await user.query('rollback'));
  }

  test('every column of a task comes as it was inserted', async () => {
    const text = `'";\\ \u{1f600} ?\n\t`;
    const columns = {
      origem: text,
      destino: text,
      processo: text,
      chave_externa: text,
      payload: JSON.stringify({ text }),
      tenant: '9223372036854775807',
      grupo_empresarial: text,
      prioridade: -7,
      metadados: JSON.stringify({ text }),
    };
    await bench.ask('insert into tasks set ?', [columns]);
    const [claimed] = await claimFrom(bench.claimsOf('7'), 1, [{ route: `t:${text}`, limit: 1 }]);
    expect(claimed).toMatchObject({
      payload: columns.payload,
      payloadBytes: null,
      task: {
        origin: text,
        destination: text,
        topic: text,
        externalKey: text,
        tenant: columns.tenant,
        group: text,
        priority: -7,
        metadata: { text },
      },
    });
    const [row] = await bench.ask('select data_hora, data_hora_inicial, executor, reserva from tasks');
    expect(row).toMatchObject({ executor: '7', reserva: claimed?.reservation });
    const due = new Date(`${String(row?.['data_hora']).replace(' ', 'T')}Z`);
    expect([claimed?.task.dueAt, claimed?.task.firstDueAt]).toEqual([due, due]);
  });

  test('a plain task and one of which more was set have the same key for the same first attempt', async () => {
    await insert('plain');
    const [plain] = await claimFrom(bench.claimsOf('7'), 1);
    await bench.ask(`update tasks set status = 'pendente', metadados = '{}'`);
    const [more] = await claimFrom(bench.claimsOf('8'), 1);
    expect(more?.task.key).toBe(plain?.task.key);
    expect([more?.reservation, plain?.reservation]).toEqual([2, 1]);
  });

  test('a payload comes along up to 64 KiB, counted in bytes', async () => {
    const [most, more] = ['é'.repeat(32_768), `${'é'.repeat(32_768)}x`];
    await bench.ask(`insert into tasks (processo, payload) values ('a', ?), ('a', ?), ('a', '')`, [
      most,
      more,
    ]);
    const claimed = await claimFrom(bench.claimsOf('7'), 3);
    expect(claimed.map(({ payload, payloadBytes }) => [payload, payloadBytes])).toEqual([
      [most, null],
      [undefined, 65_537],
      ['', null],
    ]);
  });

  test('topics that collations take for one another are routes of their own', async () => {
    for (const topic of ['a', 'A', 'á', 'a ']) await insert(topic, 0, { topic });
    expect(keysOf(await claimFrom(bench.claimsOf('7'), 9))).toEqual(['a']);
    expect(keysOf(await claimFrom(bench.claimsOf('7'), 9, [{ route: 't:a ', limit: 9 }]))).toEqual(['a ']);
  });

  test('the next claim goes on where the last one ended, whatever priorities appear', async () => {
    const claims = bench.claimsOf('7');
    for (const [index, key] of ['1', '2', '3', '4'].entries()) await insert(key, 40 - index);
    expect(keysOf(await claimFrom(claims, 2))).toEqual(['1', '2']);
    for (const priority of [100, 51, 49, -5]) await insert(String(priority), 3_600, { priority });
    expect(keysOf(await claimFrom(claims, 2))).toEqual(['100', '51']);
    expect(keysOf(await claimFrom(claims, 9))).toEqual(['3', '4', '49', '-5']);
  });

  test('what a ring is for is locked without a look at it before', async () => {
    const { claims: of, access } = await bench.openAnother();
    const claims = of('7');
    const texts = countTexts(access);
    await insert('1');
    expect([keysOf(await claimFrom(claims, 9)), texts.sent]).toEqual([['1'], 3]);
    expect([keysOf(await claimFrom(claims, 9)), texts.sent]).toEqual([[], 5]);
    await insert('2');
    claims.heard(Date.now() - 60_000, 50);
    expect([keysOf(await claimFrom(claims, 9)), texts.sent]).toEqual([['2'], 7]);
  });

  test('a ring locks nothing on routes that gave nothing last: such a walk goes on behind their ends', async () => {
    const { claims: of, access } = await bench.openAnother();
    const claims = of('7');
    const routes = ['t:a', 't:b'].map((route) => ({ route, limit: 9 }));
    await insert('1', 0, { topic: 'b' });
    expect(keysOf(await claimFrom(claims, 9, routes))).toEqual(['1']);
    expect(keysOf(await claimFrom(claims, 9, routes))).toEqual([]);
    claims.heard('lately', Infinity);
    const texts = countTexts(access);
    expect(keysOf(await claimFrom(claims, 9, routes))).toEqual([]);
    const [, locking] = /-- name: lock_best([^;]*);/.exec(texts.text) ?? [];
    expect([texts.text.match(/-- name: lock_best/g), locking?.match(/rota_pronta/g)]).toMatchObject([
      { length: 1 },
      { length: 1 },
    ]);
  });

  test('listed routes give their best in their order, though some are only looked at', async () => {
    const claims = bench.claimsOf('7');
    for (const key of ['1', '2', '3', '4']) await insert(`a${key}`);
    const routes = ['t:b', 't:a'].map((route) => ({ route, limit: 2 }));
    const claim = async (total: number) =>
      keysOf((await claims.settleAndClaim([], { routes, total, order: 'listed' })).claimed);
    expect(await claim(2)).toEqual(['a1', 'a2']);
    await insert('b1', 0, { topic: 'b', priority: 20 });
    await insert('b2', 0, { topic: 'b', priority: 90 });
    expect(await claim(3)).toEqual(['b2', 'b1', 'a3']);
    expect(await claim(3)).toEqual(['a4']);
    expect(await claim(3)).toEqual([]);
  });

  test('of many routes the best are taken, each up to its limit, and it is told which have more', async () => {
    const claims = bench.claimsOf('7');
    const routes = Array.from({ length: 40 }, (_, index) => ({ route: `t:topic${index}`, limit: 3 }));
    for (let index = 0; index < 40; index += 1) {
      for (let nth = 0; nth < 4; nth += 1) {
        await insert(`${index} ${nth}`, 1_000 - 10 * index - nth, { topic: `topic${index}` });
      }
    }
    const demand = { routes, total: 10, order: 'age' } as const;
    const expected = ['0 0', '0 1', '0 2', '1 0', '1 1', '1 2', '2 0', '2 1', '2 2', '3 0'];
    expect(keysOf((await claims.settleAndClaim([], demand)).claimed)).toEqual(expected);
    // That one has met work on several routes: from now on they are looked at before they are locked.
    claims.invalidate();
    const { claimed, moreRoutes } = await claims.settleAndClaim([], demand);
    expect(keysOf(claimed)).toEqual(['0 3', '1 3', '2 3', '3 1', '3 2', '3 3', '4 0', '4 1', '4 2', '5 0']);
    expect(moreRoutes).toEqual(routes.slice(5).map(({ route }) => route));
    // From where these ended.
    const third = await claims.settleAndClaim([], demand);
    expect(keysOf(third.claimed)).toEqual([
      '4 3',
      '5 1',
      '5 2',
      '5 3',
      '6 0',
      '6 1',
      '6 2',
      '7 0',
      '7 1',
      '7 2',
    ]);
  });

  test('routes that another session has locked are told, and claimed again', async () => {
    const claims = bench.claimsOf('7');
    const demand = {
      routes: ['t:a', 't:b'].map((route) => ({ route, limit: 2 })),
      total: 2,
      order: 'age',
    } as const;
    for (const topic of ['a', 'b', 'a', 'b']) await insert(topic, 0, { topic });
    expect(keysOf((await claims.settleAndClaim([], demand)).claimed)).toEqual(['a', 'b']);
    const [first] = await bench.ask(`select id from tasks where processo = 'a' and status = 'pendente'`);
    const unlock = await lock(String(first?.['id']));
    claims.invalidate();
    const { claimed, blockedRoutes, claimAgain, lookAgainInMs } = await claims.settleAndClaim([], demand);
    expect([keysOf(claimed), blockedRoutes, claimAgain]).toEqual([['b'], ['t:a'], true]);
    expect(lookAgainInMs).toBeGreaterThan(0);
    await unlock();
    expect(keysOf((await claims.settleAndClaim([], demand)).claimed)).toEqual(['a']);
  });

  test('a row that another session has locked holds up neither the other outcomes nor the claim', async () => {
    const claims = bench.claimsOf('7');
    for (const key of ['1', '2', '3', '4', '5']) await insert(key);
    const [locked, ...others] = (await claimFrom(claims, 3)).map(done);
    if (!locked) throw new Error('nothing was claimed');
    const unlock = await lock(locked.id);
    const one = { routes: [{ route: 't:a', limit: 1 }], total: 1, order: 'age' } as const;
    const first = await claims.settleAndClaim([locked, ...others], one);
    expect(first.settledOnly?.toSorted()).toEqual(others.map(({ id }) => id).toSorted());
    expect(keysOf(first.claimed)).toEqual(['4']);
    expect(await claims.settleAndClaim([locked])).toMatchObject({ settledOnly: [] });
    await unlock();
    expect(await claims.settleAndClaim([locked], one)).toMatchObject({ settledOnly: undefined });
    expect(await bench.statuses()).toEqual([...Array(3).fill('sucesso'), 'processando', 'processando']);
  });

  test('each attempt gets its own outcome, whatever their reservations', async () => {
    const claims = bench.claimsOf('7');
    for (const key of ['1', '2', '3']) await insert(key);
    await bench.ask(`update tasks set reserva = 6 where chave_externa = '3'`);
    const completions = (await claimFrom(claims, 3)).map(done).map((one, index) => ({
      ...one,
      message: `done '${index}'`,
      result: index === 1 ? null : `{"at":${index}}`,
    }));
    expect(completions.map(({ reservation }) => reservation)).toEqual([1, 1, 7]);
    expect(await claims.settleAndClaim(completions)).toMatchObject({ settledOnly: undefined });
    expect(await bench.ask('select mensagem, resultado, reserva from tasks order by id')).toEqual([
      { mensagem: `done '0'`, resultado: '{"at":0}', reserva: 1 },
      { mensagem: `done '1'`, resultado: null, reserva: 1 },
      { mensagem: `done '2'`, resultado: '{"at":2}', reserva: 7 },
    ]);
  });

  test('a first attempt that another session has locked holds up no claim of the next one', async () => {
    const claims = bench.claimsOf('7');
    await bench.ask(`insert into tasks (processo, status, payload) values ('a', 'falha', 'of the first')`);
    const [first] = await bench.ask('select id from tasks');
    await bench.ask(
      `insert into tasks (processo, tentativa, id_inicial, id_anterior) values ('a', 2, ?, ?)`,
      [first?.['id'], first?.['id']],
    );
    await lock(String(first?.['id']));
    const [claimed] = await claimFrom(claims, 1);
    expect(claimed).toMatchObject({ payload: 'of the first', task: { attempt: 2 } });
  });

  test('an outcome that was written before is not written again, nor told as if it was', async () => {
    const claims = bench.claimsOf('7');
    for (const key of ['1', '2']) await insert(key);
    const [one, other] = (await claimFrom(claims, 2)).map(done);
    if (!one || !other) throw new Error('nothing was claimed');
    await claims.settleAndClaim([one]);
    expect(await claims.settleAndClaim([one, other])).toMatchObject({ settledOnly: [other.id] });
  });

  test('a column that cannot take an outcome undoes its claim as well', async () => {
    const claims = bench.claimsOf('7');
    for (const key of ['1', '2']) await insert(key);
    const [one] = (await claimFrom(claims, 1)).map(done);
    if (!one) throw new Error('nothing was claimed');
    const demand = { routes: [{ route: 't:a', limit: 1 }], total: 1, order: 'age' } as const;
    const tooLong = { ...one, message: 'x'.repeat(501) };
    await expect(claims.settleAndClaim([tooLong], demand)).rejects.toThrow(/mensagem/);
    expect(await bench.statuses()).toEqual(['processando', 'pendente']);
    expect(await claims.settleAndClaim([one], demand)).toMatchObject({
      settledOnly: undefined,
      claimed: [{}],
    });
  });

  test('a transaction that loses to another one is made again, as a whole', async () => {
    const claims = bench.claimsOf('7');
    for (const key of ['1', '2']) await insert(key);
    const [one] = (await claimFrom(claims, 1)).map(done);
    if (!one) throw new Error('nothing was claimed');
    // Once in each session.
    await bench.ask(`create trigger losing before update on tasks for each row
      if @lost is null and new.status = 'processando' then
        set @lost = 1;
        signal sqlstate '40001' set mysql_errno = 1213, message_text = 'lost';
      end if`);
    onTestFinished(async () => void (await bench.ask('drop trigger losing')));
    const lost = countRollbacks(bench.access);
    const demand = { routes: [{ route: 't:a', limit: 1 }], total: 1, order: 'age' } as const;
    expect(await claims.settleAndClaim([one], demand)).toMatchObject({
      settledOnly: undefined,
      claimed: [{}],
    });
    expect([lost.times, await bench.statuses()]).toEqual([1, ['sucesso', 'processando']]);
  });

  test('claimers beside producers take each task once, and none loses a transaction to another', async () => {
    const tasks = 2_000;
    const claimed = new Map<string, number>();
    let produced = 0;
    const produce = async (): Promise<void> => {
      while (produced < tasks) {
        produced += 10;
        await bench.ask(`insert into tasks (processo) values ${Array(5).fill(`('a'), ('b')`).join()}`);
      }
    };
    const claim = async (workerId: string): Promise<void> => {
      const { claims: of, access } = await bench.openAnother();
      const claims = of(workerId);
      const lost = countRollbacks(access);
      let held: ReturnType<typeof done>[] = [];
      while (claimed.size < tasks || held.length > 0) {
        const routes = ['t:a', 't:b'].map((route) => ({ route, limit: 20 }));
        const answer = await claims.settleAndClaim(held, { routes, total: 20, order: 'age' });
        expect(answer.settledOnly).toBeUndefined();
        for (const { id } of answer.claimed) claimed.set(id, (claimed.get(id) ?? 0) + 1);
        held = answer.claimed.map(done);
        if (held.length === 0) claims.invalidate();
      }
      expect(lost.times).toBe(0);
    };
    await Promise.all([produce(), produce(), ...['1', '2', '3', '4'].map(claim)]);
    expect(Math.max(...claimed.values())).toBe(1);
    expect(new Set(await bench.statuses())).toEqual(new Set(['sucesso']));
  });
}

/** The texts that transactions send from now on, and how many they are. */
function countTexts(access: MysqlAccess): { sent: number; text: string } {
  const counter = { sent: 0, text: '' };
  const transaction = access.transaction.bind(access);
  access.transaction = (work, name) =>
    transaction((run) => {
      const counted: typeof run = (...text) => {
        counter.sent += 1;
        counter.text += `${text[0]};`;
        return run(...text);
      };
      return work(counted);
    }, name);
  return counter;
}

/** How often transactions from now on are begun without coming to an end. */
function countRollbacks(access: MysqlAccess): { times: number } {
  const counter = { times: 0 };
  const transaction = access.transaction.bind(access);
  access.transaction = (work, name) =>
    transaction(async (run) => {
      counter.times += 1;
      const result = await work(run);
      counter.times -= 1;
      return result;
    }, name);
  return counter;
}
