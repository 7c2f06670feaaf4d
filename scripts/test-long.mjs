// What a release needs beside `.ci/run`: npm run test:long. Takes hours. Ends with a line for each part; exit code 1 unless all passed.
import { spawnSync } from 'node:child_process';

const chaos = ['scripts/chaos.mjs', '--minutes', '10', '--seed'];
/** Arguments of Node.js by what they look at. */
const parts = {
  'the long tests': ['scripts/run-tests.mjs', 'long'],
  'nest add in new applications': ['scripts/nest-add-check.mjs'],
  'every version of PostgreSQL and Node.js': ['scripts/test-versions.mjs'],
  'the oldest and newest versions of Nest': ['scripts/test-nest.mjs'],
  MariaDB: ['scripts/test-databases.mjs', '--database', 'mariadb'],
  MySQL: ['scripts/test-databases.mjs', '--database', 'mysql'],
  'chaos, seed 1': [...chaos, '1'],
  'chaos, seed 2': [...chaos, '2'],
  'chaos, seed 3': [...chaos, '3'],
  'chaos on MariaDB, seed 1': [...chaos, '1', '--database', 'mariadb'],
};

const lines = Object.entries(parts).map(([name, args]) => {
  process.stdout.write(`\n== ${name}\n`);
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
  return `${status === 0 ? 'passed' : 'FAILED'} ${name}`;
});
process.stdout.write(`\n${lines.join('\n')}\n`);
