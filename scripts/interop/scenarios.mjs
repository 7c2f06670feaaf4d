// What has to hold beside the real nsj-queue-lib. Each answers figures, and what is wrong.
import { setTimeout as sleep } from 'node:timers/promises';

const say = (text) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);

/** Tasks of all kinds by producers of both kinds, workers of both kinds, and kills. */
export async function mixed({ pool, fleet, table, adopt, random, tasks = 5_000, kills = 40 }) {
  await pool.query(fleet.generateTable());
  adopt();
  await subscribe(pool, table);
  let workers = await Promise.all([
    ...Array.from({ length: 3 }, () => fleet.startPython()),
    ...Array.from({ length: 3 }, () => fleet.startNode()),
  ]);
  const producer = fleet.startProducer();
  const refused = [];
  let killed = 0;
  for (let n = 0; n < tasks; n += 1) {
    const task = kindOf(n, random);
    if (n % 2 === 0) {
      const answer = await producer.insert(task);
      if (answer !== 'ok') refused.push(answer);
    } else await insert(pool, table, task);
    if (killed < kills && n > ((killed + 1) * tasks) / (kills + 4)) {
      const victim = Math.floor(random() * workers.length);
      const [worker] = workers.splice(victim, 1);
      workers.push(await fleet.replace(worker));
      killed += 1;
    }
    if (n % 500 === 0) say(`${n} tasks inserted, ${killed} workers killed`);
  }
  producer.end();
  const stuck = await settle(pool, table, 420);
  return { ...(await judge(pool, table)), stuck, killed, refusedInserts: refused };
}

/** A flood of scheduled tasks, which both kinds promote. */
export async function scheduled({
  pool,
  fleet,
  table,
  adopt,
  tasks = 24_000,
  perSecond = 200,
  interop = 'nsj',
}) {
  await pool.query(fleet.generateTable());
  adopt();
  await fleet.startPython();
  await fleet.startPython();
  const options = { INTEROP: interop === 'nsj' ? 'on' : 'off', CONCURRENCY: '10' };
  await fleet.startNode(options);
  await fleet.startNode(options);
  await pool.query(
    `insert into ${table} (processo, payload, data_hora)
     select 'flood', '{}', clock_timestamp() + interval '10 seconds' + n * interval '1 second' / $2::float8
     from generate_series(1, $1::int) n`,
    [tasks, perSecond],
  );
  say(`${tasks} tasks are due at ${perSecond} a second`);
  const stuck = await settle(pool, table, 10 + tasks / perSecond + 420);
  return { ...(await judge(pool, table)), stuck };
}

/** A table is adopted while a Python producer inserts and a Python worker works. */
export async function adoption({ pool, fleet, table, adopt, tasks = 3_000 }) {
  await pool.query(fleet.generateTable());
  await fleet.startPython();
  const producer = fleet.startProducer();
  const refused = [];
  let slowestMs = 0;
  const produce = async (count) => {
    for (let n = 0; n < count; n += 1) {
      const from = performance.now();
      const answer = await producer.insert({ topic: 'quick', payload: {}, delay: n % 10 === 0 ? 20 : 0 });
      slowestMs = Math.max(slowestMs, performance.now() - from);
      if (answer !== 'ok') refused.push(answer);
    }
  };
  await produce(tasks / 3);
  const going = produce(tasks / 3);
  const report = await adopt.beside();
  await going;
  const node = await fleet.startNode();
  await produce(tasks / 3);
  producer.end();
  const stuck = await settle(pool, table, 240);
  node.child.kill();
  const { rows } = await pool.query(
    `select count(*)::int as n from ${table} where status = 'pendente' and data_hora > now()`,
  );
  return {
    ...(await judge(pool, table)),
    stuck,
    refusedInserts: refused,
    slowestInsertMs: Math.round(slowestMs),
    pendingForLater: rows[0].n,
    adoptedWith: report.findings.map(({ kind }) => kind),
  };
}

/** Dead tasks that fail under a Python worker alone, `adopt` at such a history, and then a replay that dies there. */
export async function replays({ pool, fleet, table, adopt, retry }) {
  await pool.query(fleet.generateTable());
  await subscribe(pool, table);
  await fleet.startPython({ QUEUE_MAX_RETRY: '2', DEAD_FAILS: '1' });
  await insert(pool, table, { topic: 'failing', payload: { fail: 99 } });
  await insert(pool, table, { topic: 'published', payload: { fail: 99 }, publish: true });
  const dead = async (count) => {
    for (let seconds = 0; seconds < 240; seconds += 1) {
      const { rows } = await pool.query(
        `select min(n)::int as least, count(*)::int as kinds from (
           select count(*) as n from ${table} where dead and id_anterior is null group by coalesce(subscriber_id, '')
         ) d`,
      );
      if (rows[0].kinds === 3 && rows[0].least >= count) return true;
      await sleep(1_000);
    }
    return false;
  };
  const first = await dead(3);
  const copies = adopt.look().findings.filter(({ kind }) => kind.startsWith('duplicate'));
  adopt();
  await retry('1');
  const { rows: before } = await pool.query(`select max(rodada) as round from ${table} where id_inicial = 1`);
  let replayed = false;
  for (let seconds = 0; seconds < 180 && !replayed; seconds += 1) {
    await sleep(1_000);
    const { rows } = await pool.query(
      `select count(*)::int as n from ${table} where dead and id_anterior is null and live_id = 1`,
    );
    replayed = rows[0].n === 2;
  }
  const further = await dead(5);
  return {
    deadChainsBeforeAdoption: first,
    deadChainsGoOn: further,
    replayRound: before[0].round,
    replayDiedByPython: replayed,
    wrong: [
      ...copies.map(({ what }) => `adopt says: ${what}`),
      ...(first && further ? [] : ['dead tasks that failed did not start further ones']),
      ...(replayed ? [] : ['a replay did not end']),
      ...fleet.troubles.filter((line) => /duplicate key|UniqueViolation/.test(line)),
    ],
  };
}

function kindOf(n, random) {
  const ms = Math.floor(random() * 20);
  if (n % 50 === 7) return { topic: 'dead', payload: { ms, fail: 99 } };
  if (n % 10 === 3) return { topic: 'again', payload: { ms, fail: 1 } };
  if (n % 20 === 5) return { topic: 'published', payload: { ms }, publish: true };
  if (n % 10 === 8) return { topic: 'later', payload: { ms }, delay: 1 + Math.floor(random() * 20) };
  return { topic: 'quick', payload: { ms } };
}

async function insert(pool, table, { topic, payload, publish = false, delay = 0 }) {
  await pool.query(
    `insert into ${table} (processo, payload, pub_sub, data_hora)
     values ($1, $2, $3, clock_timestamp() + $4::float8 * interval '1 second')`,
    [topic, JSON.stringify(payload), publish, delay],
  );
}

async function subscribe(pool, table) {
  await pool.query(
    `insert into ${table}_subscriber (id, processo) values ('stock', 'published'), ('mail', 'published')`,
  );
}

/** Waits until nothing is unfinished, or until nothing changes any more; answers what is left. */
async function settle(pool, table, mostSeconds) {
  const open = `select count(*)::int as n from ${table} where status in ('pendente', 'agendada', 'processando')`;
  let left = Infinity;
  for (let seconds = 0; seconds < mostSeconds && left > 0; seconds += 2) {
    await sleep(2_000);
    left = (await pool.query(open)).rows[0].n;
    if (seconds % 20 === 0) say(`${left} attempts unfinished`);
  }
  return left;
}

/** Every live task and delivery has one effect, and every dead one, too. */
async function judge(pool, table) {
  const { rows } = await pool.query(`
    with expected as (
      select case when t.publication_id is null then t.id::text else t.publication_id || ' ' || t.subscriber_id end as task,
        case when t.publication_id is null then 'task' else 'delivery' end as kind,
        exists (select from ${table} f where (f.id = t.id or f.id_inicial = t.id) and f.status = 'sucesso') as succeeded
      from ${table} t where t.id_inicial is null and not t.dead and not t.pub_sub
    ), ended as (
      select e.task, e.kind, e.succeeded, count(i.task) as effects
      from expected e left join interop_effects i on i.task = e.task and i.kind = e.kind group by 1, 2, 3
    ), buried as (
      select t.live_id::text as task, count(i.task) as effects
      from ${table} t left join interop_effects i on i.task = t.live_id::text and i.kind = 'dead'
      where t.dead and t.id_inicial is null group by 1
    )
    select (select count(*) from ended)::int as tasks,
      (select count(*) from ended where succeeded)::int as succeeded,
      (select count(*) from ended where succeeded and effects = 0)::int
        + (select count(*) from ended e where not succeeded and not exists (select from buried b where b.task = e.task)
            and e.kind = 'task')::int as lost,
      (select count(*) from ended where effects > 1)::int + (select count(*) from buried where effects > 1)::int as doubled,
      (select count(*) from buried)::int as dead,
      (select count(*) from ${table} where pub_sub and status = 'sucesso' and not exists (
        select from ${table} d where d.publication_id in (${table}.id, ${table}.id_inicial)))::int as undelivered,
      (select json_object_agg(worker, n) from (select worker, count(*) as n from interop_effects group by 1) w) as effects`);
  return rows[0];
}
