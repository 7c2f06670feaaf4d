// Runs the tests of what the library does on MariaDB or MySQL: npm run test:databases -- --database mariadb|mysql
//   --client-server  instead the files of simple tasks, publish/subscribe and webhooks, with every application woken through a server
//                    of nsj-queue-lib's client-server mode
//   --closing FILE   writes the closing lines to a file as well
// The files that it runs stand in database-suites.json, with the reasons why the others are PostgreSQL's own. Files that fail, if
// they are few, run again, each alone; what passed only then is named. A server that cannot be had is left out in one line.
// Exit code 1 unless everything passed, 2 when the command line is wrong.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { passedOf } from './test-report.mjs';
import { servers, unpackedServer } from './unpack-mysql.mjs';
import { runTests } from './vitest-twice.mjs';

const root = dirname(import.meta.dirname);
const suites = JSON.parse(readFileSync(join(import.meta.dirname, 'database-suites.json'), 'utf8'));

const { database = '', 'client-server': inMode, closing } = readArguments();
const files = inMode ? suites.clientServer : suites.files;
const title = `${servers[database].title}${inMode ? ' in client-server mode' : ''}`;

if (canBeHad()) await runAll();
else close(`left out ${title}: \`node scripts/install-mysql.mjs ${database}\` has not unpacked it`);

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        database: { type: 'string' },
        'client-server': { type: 'boolean' },
        closing: { type: 'string' },
      },
    });
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

async function runAll() {
  const missing = files.filter((file) => !existsSync(join(root, file)));
  const env = { TAREFA_TEST_DATABASE: database, ...(inMode && { TAREFA_TEST_MODE: 'client-server' }) };
  const { results, seconds, fault, ...lines } = await runTests(files, { env });
  const [failures, unstable] = [lines.failures, lines.unstable].map((list) => list.map(named));
  const isGreen = failures.length === 0 && fault === undefined && results.length === files.length;
  if (!isGreen) process.exitCode = 1;
  const numbers = [
    `${results.reduce((sum, result) => sum + passedOf(result), 0)} passed`,
    `${failures.length} failed`,
    `${results.length} of ${files.length} files`,
    ...(fault === undefined ? [] : [fault]),
  ];
  close(
    ...failures,
    ...unstable,
    ...missing.map((file) => `FAIL ${file}: there is no such file`),
    `${isGreen ? 'passed' : 'FAILED'} ${title} in ${seconds} s: ${numbers.join(', ')}`,
  );
}

function named(line) {
  return `${line} [${title}]`;
}

function close(...lines) {
  const text = `${lines.join('\n')}\n`;
  process.stdout.write(`\n${text}`);
  if (closing !== undefined) writeFileSync(closing, text);
}
