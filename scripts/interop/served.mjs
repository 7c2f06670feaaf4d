// The real nsj-queue-lib in client-server mode, with `tarefa server` or its own as its server, and as a producer: on PostgreSQL or
// MariaDB.
import { setTimeout as sleep } from 'node:timers/promises';

const say = (text) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
const workers = 4;

/** Tasks of all kinds, and workers killed while they run them; then a worker of this library beside them, and after that none. */
export async function served({ query, fleet, table, random, tasks = 5_000, kills = 40 }) {
  const env = await fleet.startServer();
  await subscribe(query, table);
  const pythons = await Promise.all(Array.from({ length: workers }, () => fleet.startPython(env)));
  const put = (task) => insert(query, table, task);
  const killed = await insertAndKill({ fleet, random, tasks, kills, put }, pythons);
  const stuck = await settle(query, table);
  const judged = judge(await rowsOf(query, table), tasks);

  const turn = async (topic) => {
    for (let n = 0; n < 50; n += 1) await insert(query, table, { topic, payload: {} });
    const left = await settle(query, table);
    const { rows } = await query(
      `select i.worker as worker, count(*) as n from interop_effects i join ${table} t on cast(t.id as char(20)) = i.task
       where t.processo = '${topic}' and i.kind = 'task' group by i.worker`,
    );
    return `${left} left, ${rows.map(({ worker, n }) => `${n} by ${worker}`).join(', ')}`;
  };
  const node = await fleet.startNode({ INTEROP: 'off' });
  const beside = await turn('beside');
  await fleet.end(node);
  const after = await turn('after');
  const turns = [
    ...(beside === '0 left, 50 by node' ? [] : [`beside a worker of this library: ${beside}`]),
    ...(after === '0 left, 50 by python' ? [] : [`after it: ${after}`]),
  ];
  return { ...judged, stuck, killed, wrong: [...judged.wrong, ...turns] };
}

/** Workers of both kinds in one server at once, ours or theirs: tasks of all kinds, and workers of both kinds killed. */
export async function shared({ query, fleet, table, random, tasks = 5_000, kills = 40 }, whose) {
  fleet.migrate();
  const server = await (whose === 'ours' ? fleet.startServer() : fleet.startTheirServer());
  const env = { ...server, QUEUE_MAX_RETRY: '6' };
  await subscribe(query, table);
  const started = Array.from({ length: workers }, (_, n) =>
    n % 2 === 0 ? fleet.startPython(env) : fleet.startNode({ ...env, CONCURRENCY: '2' }),
  );
  const put = (task) => insert(query, table, task);
  const killed = await insertAndKill({ fleet, random, tasks, kills, put }, await Promise.all(started));
  const stuck = await settle(query, table);
  const judged = judge(await rowsOf(query, table), tasks);
  if (whose === 'ours' || fleet.isMariadb) return { ...judged, stuck, killed };
  const outside = await fleet.startNode().then(
    () => 'it starts',
    (error) => error.message,
  );
  const wrong = outside.includes('client-server mode')
    ? judged.wrong
    : [...judged.wrong, `a worker with interop that does not share the server: ${outside}`];
  return { ...judged, stuck, killed, wrong };
}

/** Its producer inserts for workers of this library, some of which are killed. */
export async function produced({ query, fleet, table, random, tasks = 5_000, kills = 40 }) {
  fleet.migrate();
  await subscribe(query, table);
  const env = { INTEROP: 'off' };
  const nodes = await Promise.all([fleet.startNode(env), fleet.startNode(env)]);
  const producer = fleet.startProducer();
  const refusedInserts = [];
  const put = async (task) => {
    const answer = await producer.insert(task);
    if (answer !== 'ok') refusedInserts.push(answer);
  };
  const killed = await insertAndKill({ fleet, random, tasks, kills, put }, nodes);
  producer.end();
  const stuck = await settle(query, table);
  return { ...judge(await rowsOf(query, table), tasks), stuck, killed, refusedInserts };
}

/** Inserts all tasks, and now and then replaces one of the workers; answers how many were killed. */
async function insertAndKill({ fleet, random, tasks, kills, put }, fleetWorkers) {
  let killed = 0;
  for (let n = 0; n < tasks; n += 1) {
    await put(kindOf(n, random));
    if (killed < kills && n > ((killed + 1) * tasks) / (kills + 1)) {
      const victim = Math.floor(random() * fleetWorkers.length);
      fleetWorkers[victim] = await fleet.replace(fleetWorkers[victim]);
      killed += 1;
    }
    if (n % 500 === 0) say(`${n} tasks inserted, ${killed} workers killed`);
  }
  return killed;
}

async function subscribe(query, table) {
  await query(
    `insert into ${table}_subscriber (id, processo) values ('stock', 'published'), ('mail', 'published')`,
  );
}

function kindOf(n, random) {
  const ms = Math.floor(random() * 20);
  if (n % 100 === 7) return { topic: 'dead', payload: { ms, fail: 99 } };
  if (n % 10 === 3) return { topic: 'again', payload: { ms, fail: 1 } };
  if (n % 10 === 5) return { topic: 'published', payload: { ms }, publish: true };
  // Long enough for most kills to meet one.
  if (n % 20 === 8) return { topic: 'slow', payload: { ms: 300 } };
  if (n % 20 === 18) return { topic: 'later', payload: { ms }, delay: 1 + Math.floor(random() * 5) };
  return { topic: 'quick', payload: { ms } };
}

async function insert(query, table, { topic, payload, publish = false, delay = 0 }) {
  const [column, place, due] =
    delay > 0 ? [', data_hora', ', $4', [new Date(Date.now() + delay * 1_000)]] : ['', '', []];
  await query(`insert into ${table} (processo, payload, pub_sub${column}) values ($1, $2, $3${place})`, [
    topic,
    JSON.stringify(payload),
    publish,
    ...due,
  ]);
}

/** Waits until nothing is unfinished; answers what is left when that takes too long. */
async function settle(query, table, mostSeconds = 420) {
  for (let seconds = 0; ; seconds += 1) {
    const { rows } = await query(
      `select count(*) as n from ${table} where status in ('pendente', 'agendada', 'processando')`,
    );
    const left = Number(rows[0].n);
    if (left === 0 || seconds === mostSeconds) return left;
    if (seconds % 20 === 0) say(`${left} attempts unfinished`);
    await sleep(1_000);
  }
}

async function rowsOf(query, table) {
  const { rows: attempts } = await query(
    `select id, id_inicial, status, dead, pub_sub, publication_id, subscriber_id, live_id from ${table}`,
  );
  const { rows: effects } = await query('select task, kind, worker from interop_effects');
  return { attempts, effects };
}

/**
 * Each task and delivery that succeeded has one effect, each other one a dead task that has. What Python workers alone have done twice
 * is counted apart: they have no fence.
 */
function judge({ attempts, effects }, inserted) {
  const doneBy = new Map();
  for (const { task, kind, worker } of effects) {
    const name = `${kind} ${task}`;
    doneBy.set(name, [...(doneBy.get(name) ?? []), worker]);
  }
  const rootOf = ({ id, id_inicial }) => String(id_inicial ?? id);
  const succeeded = new Set(attempts.filter(({ status }) => status === 'sucesso').map(rootOf));
  const roots = attempts.filter(
    ({ id, id_inicial }) => id_inicial === null || String(id_inicial) === String(id),
  );
  const buried = new Set(roots.filter(({ dead }) => Boolean(dead)).map(({ live_id }) => String(live_id)));
  const deliveries = new Map();
  const found = { lost: 0, doubled: 0, doubledByTheirs: 0, dead: 0, undelivered: 0 };
  const expectOne = (name) => {
    const by = doneBy.get(name) ?? [];
    if (by.length === 0) found.lost += 1;
    else if (by.length > 1) found[by.includes('node') ? 'doubled' : 'doubledByTheirs'] += 1;
  };
  for (const root of roots) {
    const id = String(root.id);
    if (root.dead) {
      found.dead += 1;
      if (succeeded.has(id)) expectOne(`dead ${root.live_id}`);
    } else if (!succeeded.has(id)) {
      if (!buried.has(id)) found.lost += 1;
    } else if (root.publication_id !== null) {
      const copies = deliveries.get(String(root.publication_id)) ?? [];
      deliveries.set(String(root.publication_id), [...copies, root.subscriber_id]);
      expectOne(`delivery ${root.publication_id} ${root.subscriber_id}`);
    } else if (!root.pub_sub) expectOne(`task ${id}`);
  }
  for (const attempt of attempts) {
    if (!attempt.pub_sub || attempt.status !== 'sucesso') continue;
    // A publication that was retried: theirs names the attempt, this library the first one.
    const names = new Set([String(attempt.id), rootOf(attempt)]);
    const copies = [...names].flatMap((id) => deliveries.get(id) ?? []);
    if (copies.length !== 2 || !copies.includes('mail') || !copies.includes('stock')) found.undelivered += 1;
  }
  const kept = roots.filter(({ dead, publication_id }) => !dead && publication_id === null).length;
  return {
    tasks: kept,
    attempts: attempts.length,
    crashed: attempts.filter(({ status }) => status === 'falha_processando').length,
    byNode: effects.filter(({ worker }) => worker === 'node').length,
    byPython: effects.filter(({ worker }) => worker === 'python').length,
    ...found,
    wrong: kept === inserted ? [] : [`${kept} of ${inserted} tasks are in the table`],
  };
}
