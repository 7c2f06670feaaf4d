// Runs the real nsj-queue-lib beside workers of this library, on a database of its own:
//
//   node scripts/interop.mjs <folder with nsj_queue_lib and what it needs> [mixed scheduled adoption replays produced served shared theirs]
//     --url postgres://…  a server where databases may be made; default: one that is started for this
//     --mariadb           the last four, on MariaDB, whose driver for Python (mysql.connector) is in the folder as well
//     --python <program>  default: python3      --seed <n>  default: 1
//     --tasks <n>         instead of each scenario's own number
//     --kills <n>         mixed, and the last four: the same
//     --without-interop   scheduled: what happens without the option
//     --compiled          as it was compiled last: for a run beside another one
//
// The real library is not part of this repository, and nothing of it may be.
import { spawn, spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import { Fleet } from './interop/fleet.mjs';
import { adoption, mixed, replays, scheduled } from './interop/scenarios.mjs';
import { produced, served, shared } from './interop/served.mjs';

const onBoth = {
  produced,
  served,
  shared: (parts) => shared(parts, 'ours'),
  theirs: (parts) => shared(parts, 'theirs'),
};
const scenarios = { mixed, scheduled, adoption, replays, ...onBoth };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    url: { type: 'string' },
    python: { type: 'string', default: 'python3' },
    seed: { type: 'string', default: '1' },
    tasks: { type: 'string' },
    kills: { type: 'string' },
    mariadb: { type: 'boolean' },
    'without-interop': { type: 'boolean' },
    compiled: { type: 'boolean' },
  },
});
const [folder, ...chosen] = positionals;
const unknown = chosen.filter((name) => !(name in scenarios) || (values.mariadb && !(name in onBoth)));
if (folder === undefined || unknown.length > 0) {
  process.stderr.write(
    `node scripts/interop.mjs <folder of the real library> [${Object.keys(scenarios).join(' ')}]\n`,
  );
  process.exit(1);
}

const output = 'dist/interop';
if (!values.compiled) compile();
const built = (path) => new URL(`../${output}/lib/${path}`, import.meta.url).href;

const server = values.url ? undefined : await startServer();
const base = values.url ?? server.url;
let isRight = true;
try {
  const all = Object.keys(values.mariadb ? onBoth : scenarios);
  for (const name of chosen.length > 0 ? chosen : all) isRight = (await run(name)) && isRight;
} finally {
  await server?.stop();
}
process.exit(isRight ? 0 : 1);

function compile() {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const { status } = spawnSync(
    process.execPath,
    [tsc, '-p', 'test/support/children/tsconfig.json', '--outDir', output, '--noCheck'],
    { stdio: 'inherit' },
  );
  if (status !== 0) process.exit(status ?? 1);
}

async function startServer() {
  if (values.mariadb) {
    const { startMysql } = await import(built('../test/support/mysql-server.js'));
    // Python workers ask for the time of their session.
    const started = await startMysql('mariadb', { more: ['default-time-zone=+00:00'] });
    // They take an empty password for none at all.
    const url = new URL(started.url);
    const pool = createPool({ uri: url.href });
    await pool.query("create user interop@'%' identified by 'interop'");
    await pool.query("grant all on *.* to interop@'%'");
    await pool.end();
    url.username = url.password = 'interop';
    return { url: url.href, stop: () => started.stop() };
  }
  const { startEmbeddedPostgres } = await import(built('embedded/embedded-postgres.js'));
  return startEmbeddedPostgres();
}

async function run(name) {
  const database = `interop_${name}_${process.pid}`;
  await onServer(`create database ${database}`);
  const url = new URL(base);
  url.pathname = `/${database}`;
  const table = 'fila';
  const pool = openPool(url.href);
  await pool.query('create table interop_effects (task text, kind text, worker text)');
  const fleet = new Fleet({
    url: url.href,
    table,
    folder,
    python: values.python,
    library: built('index.js'),
    cli: built('cli/main.js'),
  });
  const cli = [new URL(`../${output}/lib/cli/main.js`, import.meta.url).pathname];
  const adoptArgs = [...cli, 'adopt', `public.${table}`, '--url', url.href, '--json'];
  const result = await scenarios[name]({
    pool,
    query: (text, given) => pool.query(text, given),
    fleet,
    table,
    random: seeded(Number(values.seed)),
    ...(values.tasks && { tasks: Number(values.tasks) }),
    ...(values.kills && { kills: Number(values.kills) }),
    ...(values['without-interop'] && { interop: 'off' }),
    adopt: Object.assign(
      () => asJson(spawnSync(process.execPath, [...adoptArgs, '--yes'], { encoding: 'utf8' })),
      {
        beside: async () => asJson(await spawned([...adoptArgs, '--yes'])),
        look: () => asJson(spawnSync(process.execPath, adoptArgs, { encoding: 'utf8' })),
      },
    ),
    retry: (id) =>
      spawned([...cli, 'retry', id, '--table', `public.${table}`, '--queue', table, '--url', url.href]),
  }).finally(() => fleet.close());
  await pool.end();
  await onServer(`drop database ${database}${values.mariadb ? '' : ' with (force)'}`);
  const { lost = 0, doubled = 0, stuck = 0, undelivered = 0, refusedInserts = [], wrong = [] } = result;
  const isFine = lost + doubled + stuck + undelivered + refusedInserts.length + wrong.length === 0;
  process.stdout.write(
    `${JSON.stringify({ scenario: name, isFine, ...result, notifyJobs: fleet.notifyJobs, troubles: fleet.troubles.slice(0, 5) }, null, 2)}\n`,
  );
  return isFine;
}

function asJson({ status, stdout, stderr }) {
  if (status !== 0) throw new Error(`${stdout}${stderr}`);
  return JSON.parse(stdout);
}

async function spawned(args) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (part) => (stdout += part));
  child.stderr.on('data', (part) => (stderr += part));
  const status = await new Promise((resolve) => child.once('close', resolve));
  return { status, stdout, stderr };
}

/** Returns rows, on MariaDB as well. */
function openPool(address) {
  if (values.mariadb) {
    const pool = createPool({ uri: address });
    return {
      query: async (text, given) => ({ rows: (await pool.query(text.replace(/\$\d+/g, '?'), given))[0] }),
      end: () => pool.end(),
    };
  }
  const pool = new Pool({ connectionString: address });
  pool.on('error', () => undefined);
  return pool;
}

async function onServer(sql) {
  const pool = openPool(base);
  await pool.query(sql).finally(() => pool.end());
}

/** Mulberry32: the same kills for the same seed. */
function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
