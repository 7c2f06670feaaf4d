// Runs the tests of what meets Nest on other versions of it: npm run test:nest
//   --nest 11.0,12.0   on these; without, on all
//   --closing FILE     writes the closing lines to a file as well
// These are the oldest and the newest that the peer ranges of package.json allow, besides the one that the repository has itself
// (12.0.1 for 12.0: 12.0.0 asks for Nest 11). Their packages stand in test/versions/nest, with what depends on them; they are installed
// below node_modules when they are first needed. Ends with what passed on each version; exit code 1 unless everything passed, 2
// when the command line is wrong.
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { takeInstallLock } from './install-lock.mjs';
import { runProgram } from './run-program.mjs';
import { passedOf } from './test-report.mjs';
import { runTests, wasStopped } from './vitest-twice.mjs';

const root = dirname(import.meta.dirname);
const pinned = join(root, 'test/versions/nest');
// Below the repository's packages: what a version does not bring is found there.
const cache = join(root, 'node_modules/.cache/tarefa-nest');
/**
 * Handlers, modules, what Nest does at a signal, and the page on both of Nest's HTTP platforms: below and outside of a prefix, in an
 * application with much else.
 */
const tests = [
  ...['--project', 'queue', '--project', 'servers'],
  ...['test/subscribers/', 'test/coordination/signals.servers'],
  ...['serving.test', 'whole-application'].map((name) => `test/dashboard/${name}`),
  ...['lazy-modules', 'lifecycle', 'module-import', 'named-queues', 'schedule-module'].map(
    (name) => `test/options/${name}`,
  ),
];

/** Taken once, and kept until this process ends. */
let lock;

const { versions, closing } = readArguments();
const lines = [];
for (const version of versions) lines.push(...(await close(version)));
const text = `${lines.join('\n')}\n`;
process.stdout.write(`\n${text}`);
if (closing !== undefined) writeFileSync(closing, text);

function readArguments() {
  const known = readdirSync(pinned).sort();
  try {
    const { values } = parseArgs({ options: { nest: { type: 'string' }, closing: { type: 'string' } } });
    const chosen = values.nest?.split(',') ?? known;
    const unknown = chosen.find((one) => !known.includes(one));
    if (unknown !== undefined) throw new Error(`--nest knows ${known.join(', ')}, not "${unknown}"`);
    return { versions: chosen, closing: values.closing };
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    return process.exit(2);
  }
}

/** Runs the tests on one version; answers its closing lines. */
async function close(version) {
  const { dependencies } = JSON.parse(readFileSync(join(pinned, version, 'package.json'), 'utf8'));
  const name = `Nest ${dependencies['@nestjs/core']}`;
  const outcome = await runOn(version, name).catch((error) => ({ fault: error.message }));
  const { results = [], failures = [], unstable = [], seconds, fault } = outcome;
  const isGreen = failures.length === 0 && fault === undefined;
  if (!isGreen) process.exitCode = 1;
  const parts = [
    `${results.reduce((sum, result) => sum + passedOf(result), 0)} passed`,
    `${failures.length} failed`,
    ...(fault === undefined ? [] : [fault]),
  ];
  const took = seconds === undefined ? '' : ` in ${seconds} s`;
  return [
    ...[...failures, ...unstable].map((line) => `${line} [${name}]`),
    `${isGreen ? 'passed' : 'FAILED'} ${name}${took}: ${parts.join(', ')}`,
  ];
}

async function runOn(version, name) {
  if (wasStopped()) throw new Error('the run was stopped');
  const folder = await install(version);
  process.stdout.write(`\n== ${name}\n`);
  return runTests(tests, { env: { TAREFA_TEST_NEST: folder } });
}

/** Put in place by one rename, so that an interrupted installation leaves nothing that looks whole. */
async function install(version) {
  const packages = readFileSync(join(pinned, version, 'package-lock.json'));
  const place = join(cache, `${version}-${createHash('sha256').update(packages).digest('hex').slice(0, 16)}`);
  if (existsSync(place)) return place;
  mkdirSync(cache, { recursive: true });
  await (lock ??= takeLock());
  // Another run may have installed it while this one waited.
  if (existsSync(place)) return place;
  const stage = `${place}.stage`;
  rmSync(stage, { recursive: true, force: true });
  cpSync(join(pinned, version), stage, { recursive: true });
  const { fault } = await runProgram('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: stage,
  });
  if (fault !== undefined) throw new Error(`npm could not install what ${version} needs: ${fault}`);
  renameSync(stage, place);
  return place;
}

function takeLock() {
  return takeInstallLock(join(cache, 'lock'), () =>
    process.stderr.write('Waiting for another run that installs versions of Nest.\n'),
  );
}
