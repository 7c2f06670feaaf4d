// Runs the tests of what the library does on MariaDB or MySQL: npm run test:databases -- --database mariadb|mysql
//   --closing FILE   writes the closing lines to a file as well
// The files that it runs stand in database-suites.json, with the reasons why the others are PostgreSQL's own. Files that fail, if
// they are few, run again, alone and once; what passed only then is named. A server that cannot be had is left out in one line.
// Exit code 1 unless everything passed, 2 when the command line is wrong.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { failuresOf, passedOf } from './test-report.mjs';
import { servers, unpackedServer } from './unpack-mysql.mjs';

const mostAgain = 3;
const root = dirname(import.meta.dirname);
const { files } = JSON.parse(readFileSync(join(import.meta.dirname, 'database-suites.json'), 'utf8'));

const { database = '', closing } = readArguments();
const { title } = servers[database];
const folder = mkdtempSync(join(tmpdir(), 'tarefa-databases-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

if (canBeHad()) runAll();
else close(`left out ${title}: \`node scripts/install-mysql.mjs ${database}\` has not unpacked it`);

function readArguments() {
  try {
    const { values } = parseArgs({ options: { database: { type: 'string' }, closing: { type: 'string' } } });
    if (Object.hasOwn(servers, values.database ?? '')) return values;
    const known = Object.keys(servers).join(' or ');
    throw new Error(
      `--database is ${known}${values.database === undefined ? '' : `, not "${values.database}"`}`,
    );
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    return process.exit(2);
  }
}

function canBeHad() {
  if (process.env[`${database.toUpperCase()}_URL`]) return true;
  const script = join(import.meta.dirname, 'install-mysql.mjs');
  spawnSync(process.execPath, [script, database, '--optional'], { stdio: 'inherit' });
  return unpackedServer(database) !== undefined;
}

function runAll() {
  const started = performance.now();
  const missing = files.filter((file) => !existsSync(join(root, file)));
  const first = runFiles(files, 'first');
  const failed = namesOf(first.results.filter(({ status }) => status === 'failed'));
  const isWorthIt = failed.length > 0 && failed.length <= mostAgain;
  if (isWorthIt) process.stdout.write(`\n== Again, alone: ${failed.join(', ')}\n`);
  const second = isWorthIt ? runFiles(failed, 'second') : { results: [] };
  const again = namesOf(second.results);
  const [kept, before] = [first.results.filter(isOf(again, false)), first.results.filter(isOf(again, true))];
  const results = [...kept, ...second.results];
  const mended = namesOf(second.results.filter(({ status }) => status === 'passed'));
  const failures = results.flatMap(failuresOf).map((line) => `${line} [${title}]`);
  const late = before
    .filter(isOf(mended, true))
    .flatMap(failuresOf)
    .map((line) => `${line.replace('FAIL', 'PASSED ONLY WHEN RUN AGAIN, ALONE:')} [${title}]`);
  const notRun = files.length - results.length;
  const isGreen = failures.length === 0 && notRun === 0 && missing.length === 0;
  if (!isGreen) process.exitCode = 1;
  const numbers = [
    `${results.reduce((sum, result) => sum + passedOf(result), 0)} passed`,
    `${failures.length} failed`,
    `${results.length} of ${files.length} files`,
  ];
  const seconds = Math.round((performance.now() - started) / 1_000);
  close(
    ...failures,
    ...late,
    ...missing.map((file) => `FAIL ${file}: there is no such file`),
    `${isGreen ? 'passed' : 'FAILED'} ${title} in ${seconds} s: ${numbers.join(', ')}`,
  );
}

function runFiles(paths, name) {
  const report = join(folder, `${name}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...paths, ...reporters];
  const env = { ...process.env, TAREFA_TEST_DATABASE: database };
  spawnSync(process.execPath, args, { cwd: root, env, stdio: 'inherit' });
  // Not there when the runner could not even begin.
  if (!existsSync(report)) return { results: [] };
  return { results: JSON.parse(readFileSync(report, 'utf8')).testResults };
}

function namesOf(results) {
  return results.map(({ name }) => relative(root, name));
}

function isOf(names, wanted) {
  return ({ name }) => names.includes(relative(root, name)) === wanted;
}

function close(...lines) {
  const text = `${lines.join('\n')}\n`;
  process.stdout.write(`\n${text}`);
  if (closing !== undefined) writeFileSync(closing, text);
}
