// Compiles the library with its benchmark and runs it: npm run bench -- --quick --scenario drain
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const steps = [
  [tsc, '-p', 'bench/tsconfig.json'],
  ['dist/bench/main.js', ...process.argv.slice(2)],
];
for (const args of steps) {
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
